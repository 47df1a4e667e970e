"""What is known: XLA flags by release, presets, notes, translations and hazards, read from ``data/``."""
