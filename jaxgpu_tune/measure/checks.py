"""The arguments of the measuring functions, checked alike: all problems of a call are told at once."""

from __future__ import annotations

from typing import Any

from ..errors import BadSetting
from ..planning.settings.from_arguments import bad

__all__ = ["STEP", "check_arguments", "lasting", "seconds_of"]

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
STEP = "a function, such as jax.jit(train_step)"
"""What is allowed as the function to measure."""


def check_arguments(*arguments: tuple[str, Any, bool, str]) -> None:
    """Raises BadSetting with all that is wrong. Of each argument: its name, its value, whether it is valid, what is allowed."""
    wrong = [bad(name, value, allowed) for name, value, valid, allowed in arguments if not valid]
    if wrong:
        raise BadSetting.of(wrong)


def seconds_of(text: str) -> float:
    """Seconds for "90", "90s", "5m" or "1.5h". Raises ValueError for what is no number."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    return float(number) * UNITS[unit]


def lasting(given: Any) -> float:
    """The seconds of what is given as a number or a text; NaN for what is no duration."""
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        return float("nan")
    try:
        return seconds_of(given) if isinstance(given, str) else float(given)
    except ValueError:
        return float("nan")
