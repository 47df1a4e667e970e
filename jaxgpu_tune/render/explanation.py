"""What is known of one name, as text: a line a fact, those that there are."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model import Explanation


__all__ = ["explanation_text"]

PLACE = re.compile(r", (?:where|anywhere)\b")
"""Where the words begin that say of a preset's setting where it holds."""


def explanation_text(told: Explanation) -> str:
    """The name, then what is known of it."""
    lives = ", ".join(f"{first} to {last}" if last else f"{first} on" for first, last in told.life)
    rows = (
        ("use it when", told.use_when),
        ("does", told.does),
        ("trap", told.traps),
        ("here", told.here),
        ("in jaxlib", lives if told.kind == "xla_flag" else ""),
        ("type", told.type),
        ("values", ", ".join(told.values)),
        ("presets", "; ".join(told.presets)),
        ("elsewhere", "; ".join(told.translations)),
        ("hazards", " ".join(told.hazards)),
        *(("memory", one) for one in told.memory),
        *(("sets", one) for one in _by_place(told.sets)),
        *(("advice", one) for one in told.advice),
        *(("evidence", one) for one in told.evidence),
        ("source", told.source),
    )
    return "\n".join([told.name, *(f"  {key}: {text}" for key, text in rows if text)])


def _by_place(sets: Iterable[str]) -> Iterator[str]:
    """Settings that hold in the same place as one line, so that the place is said once."""
    places: dict[str, list[str]] = {}
    for one in sets:
        found = PLACE.search(one)
        begin = found.start() if found else 0
        places.setdefault(one[begin:], []).append(one[:begin])
    yield from (", ".join(settings) + place for place, settings in places.items())
