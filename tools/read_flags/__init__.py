"""Read every flag of every release off the wheels and regenerate ``jaxgpu_tune/knowledge/data/flags.tsv``.

    python -m tools.read_flags --all          # every release, resumable; about an hour from nothing
    python -m tools.read_flags 0.10.2 0.12.0.1

Needs Linux on x86-64 and pip, nothing else: no GPU, no driver, no jax.
"""
