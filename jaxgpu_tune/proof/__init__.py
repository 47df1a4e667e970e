"""What took effect, and what a flag changes."""
