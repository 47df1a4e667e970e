"""What is set beside XLA's flags: arguments of a call, variables, memory and platforms."""
