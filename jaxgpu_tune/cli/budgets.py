"""Spans of time on a command line."""

from __future__ import annotations

import re

from .options import wrong_use

__all__ = ["seconds_of"]

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(option: str, text: str) -> float:
    """Seconds of a text such as 90, 90s, 20m or 1.5h. Raises BadSetting for anything else, and for nothing at all."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h|)\s*", text)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise wrong_use(f"{option} {text!r} is not valid; allowed: a time such as 90s, 20m or 1.5h.")
    return seconds
