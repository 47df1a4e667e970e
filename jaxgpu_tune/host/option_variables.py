"""What options of jax.config became by variables that this library had set before jax was imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..knowledge import options
from ..planning.settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA

__all__ = ["options_of_variables"]

PREFIX = "JAX_"


def options_of_variables(
    touched: Mapping[str, tuple[str | None, str | None]], release: str
) -> dict[str, tuple[Any, Any]]:
    """Option -> (what it would be without us, what we made it). ``touched``: (former, our) text of each variable."""
    found: dict[str, tuple[Any, Any]] = {}
    for variable, (was, ours) in touched.items():
        spec = options.option(variable.lower(), release) if variable.startswith(PREFIX) else None
        if spec is not None and spec.env:
            found |= {name: (_read(spec, was), _read(spec, ours)) for name in _named(spec.name)}
    return {name: pair for name, pair in found.items() if pair[0] != pair[1]}


def _named(option: str) -> Iterator[str]:
    """The umbrella of the transfer guards sets the three below it."""
    yield option
    if option == GUARD_UMBRELLA:
        yield from GUARD_OPTIONS


def _read(spec: options.OptionSpec, text: str | None) -> Any:
    try:
        return options.parse(spec, text) if text else spec.default
    except ValueError:
        return spec.default
