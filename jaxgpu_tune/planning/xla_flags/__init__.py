"""The text of XLA_FLAGS: its grammar, how people write it, and what a damaged one was meant to say."""
