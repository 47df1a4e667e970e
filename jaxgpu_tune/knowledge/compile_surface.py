"""Where ``jit(compiler_options=)`` differs from XLA_FLAGS in a way that no registry tells (``data/compile_options.toml``).

Which flag has a field of its own, and thus is a compile option by name, is in ``flags.tsv``.
"""

from __future__ import annotations

from .tables import read_table

__all__ = ["ENUM_FIELDS", "JAXLIB_SETS", "JAX_SETS", "OTHER_NAMES", "PROCESS_WIDE"]

_TABLE = read_table("compile_options")

PROCESS_WIDE = frozenset(_TABLE["process_wide"])
"""Flags that the plugin reads once for the process: ``compiler_options`` takes their names, and nothing comes of it."""

JAXLIB_SETS = frozenset(_TABLE["jaxlib_sets"])
"""Flags that jaxlib itself sets to false in every new CompileOptions."""

JAX_SETS: dict[str, str] = _TABLE["jax_sets"]
"""Flags whose value jax replaces in every compile, and the option (or else) by which it does."""

OTHER_NAMES: dict[str, str] = _TABLE["other_names"]
"""Flags whose field has another name, which is no flag's, and takes the same value."""

ENUM_FIELDS: dict[str, tuple[str, dict[bool, str]]] = {
    name: (one["field"], {True: one["true"], False: one["false"]}) for name, one in _TABLE["enum_fields"].items()
}
"""Boolean flags that write an enum's field which has no flag of its own: that field, and its member for each value."""
