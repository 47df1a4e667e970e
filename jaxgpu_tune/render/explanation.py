"""What is known of one name, as text: a line a fact, those that there are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Explanation


__all__ = ["explanation_text"]


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
        *(("sets", one) for one in told.sets),
        *(("advice", one) for one in told.advice),
        *(("evidence", one) for one in told.evidence),
        ("source", told.source),
    )
    return "\n".join([told.name, *(f"  {key}: {text}" for key, text in rows if text)])
