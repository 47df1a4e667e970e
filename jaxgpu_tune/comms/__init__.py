"""Low-latency collectives for decode. The one part of the library that imports jax; it stands alone."""

from .all_reduce import AllReduce

__all__ = ["AllReduce"]
