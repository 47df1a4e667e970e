"""Settings of a search, written as a person types them."""

from __future__ import annotations

from jaxgpu_tune.measure.search.trials import Atom


def atom(text: str, kind: str = "xla_flag") -> Atom:
    """The setting that ``name=value`` means."""
    name, _, value = text.removeprefix("--").partition("=")
    return Atom(kind, name, value)
