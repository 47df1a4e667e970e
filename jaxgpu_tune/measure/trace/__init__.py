"""What the GPUs did, from JAX's profiler: reading a trace, and reducing it to what a step's time went to."""
