"""What is set already and what is wished meet: one decision for each setting."""
