"""What files of people set: XLA_FLAGS is found and restated, other variables are found; nothing else is touched."""
