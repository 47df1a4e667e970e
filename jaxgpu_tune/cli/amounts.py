"""Durations, shares and regular expressions on the command lines of what measures."""

from __future__ import annotations

import re

from ..measure.checks import is_above_zero, seconds_of
from .options import wrong_use

__all__ = ["check_regex", "duration", "regex_problem", "share"]


def duration(text: str | None, option: str) -> float | None:
    """Seconds for "90", "90s", "5m" or "1.5h". Raises BadSetting for anything else."""
    if text is None:
        return None
    try:
        found = seconds_of(text)
    except ValueError:
        found = -1.0
    if not is_above_zero(found):
        raise wrong_use(f"{option} {text!r} is no duration.", "Allowed: a number of seconds, or 90s, 20m, 1.5h.")
    return found


def share(text: str) -> float:
    """0.05 for "5%" or "0.05"; NaN, which no bound admits, for what is no number."""
    try:
        return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return float("nan")


def regex_problem(option: str, text: str | None) -> str:
    """What is wrong with a regular expression; empty where it can be used."""
    try:
        re.compile(text or "")
    except re.error as error:
        return f"{option} {text!r} is not a regular expression: {error}."
    return ""


def check_regex(option: str, text: str | None) -> None:
    """Raises BadSetting for what is no regular expression."""
    if problem := regex_problem(option, text):
        raise wrong_use(problem)
