"""Read every flag of a release off its wheels and merge it into ``jaxgpu_tune/knowledge/data``: flags.tsv, flag_help.json, builds.json.

    python -m tools.read_flags 0.10.2 0.12.0.1
    python -m tools.read_flags --all          # every release, resumable; about an hour from nothing

What is said of every other release stays. The difference is shown before it is written.

Needs Linux on x86-64 and pip, nothing else: no GPU, no driver, no jax.
"""
