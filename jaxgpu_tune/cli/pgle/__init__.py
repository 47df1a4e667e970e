"""Profile-guided latency estimation: record what a program's instructions take, and have XLA schedule by it.

XLA overlaps communication with computation by what it believes each takes. A profile tells it what they took.
docs/pgle.md says when that pays. Two ways: `record -- CMD` lets JAX profile and keeps the optimized executables, `use
-- CMD` runs with them; `record --to FILE -- CMD` writes a profile, `use FILE -- CMD` compiles with it.
"""

__all__ = ["COMMANDS"]

COMMANDS = ("record", "use", "check", "convert", "inspect", "diff")
"""In the order of the help; each is the module of its name."""
