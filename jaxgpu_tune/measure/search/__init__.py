"""Which settings to try next, and which are guilty: pure state machines, driven by results."""
