"""What is said in one way everywhere: values as text, text as values, the order of findings, the name that was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import BadSetting
from .model import Finding

__all__ = [
    "FOR_THE_JOB",
    "SEVERITIES",
    "by_severity",
    "capital",
    "count_of",
    "counted",
    "did_you_mean",
    "is_above_zero",
    "is_true",
    "likeness",
    "nearest",
    "number_of",
    "rough_time",
    "setting_text",
    "size_text",
    "told_once",
    "took",
    "typed_name",
    "written",
]

MIB, GIB = 1 << 20, 1 << 30
SEVERITIES = ("error", "warning", "note")
FOR_THE_JOB = (
    "For the job's machine run `jaxgpu-tune detect --json > node.json` there, and add --machine node.json here."
)
PLACE = re.compile(r"[^:]+:(\d+| cell \d+, line \d+): ")
"""A file and its line, as a finding about it begins."""


def bad_argument(message: str, hint: str = "") -> BadSetting:
    """The error of one argument, or of one option of a command line, that is wrong."""
    return BadSetting.of([Finding("bad-argument", "error", message, hint)])


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings and notes; each kind in its own order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """For people, errors first: what holds for several things alike is told of the first, which names the others."""
    others: dict[Finding, list[str]] = {}
    for finding in by_severity(findings):
        for first, names in others.items():
            if name := _same_of(first, finding):
                names.append(name)
                break
        else:
            others[finding] = []
    return [_with_others(finding, names) for finding, names in others.items()]


def _same_of(first: Finding, second: Finding) -> str:
    """Of what the second says the same: one word differs, and the place in a file; empty where it says something else."""
    if (first.code, first.severity) != (second.code, second.severity):
        return ""
    (at, *words), (other_at, *others) = _place_and_words(first.message), _place_and_words(second.message)
    things = [n for n, (word, other) in enumerate(zip(words, others, strict=False)) if word != other]
    hint = first.hint
    for n in things:
        hint = hint.replace(words[n].rstrip(".:,"), others[n].rstrip(".:,"))
    if len(words) != len(others) or len(things) > 1 or hint != second.hint:
        return ""
    named = [n - 1 for n in things if n and others[n].isdigit()]  # GPU 1
    place = "" if at == other_at else other_at
    return (place + " ".join(others[n] for n in (*named, *things))).rstrip(".:, ")


def _place_and_words(message: str) -> list[str]:
    found = PLACE.match(message)
    end = found.end() if found else 0
    return [message[:end], *message[end:].split(" ")]


def _with_others(finding: Finding, names: list[str]) -> Finding:
    if not names:
        return finding
    *most, last = dict.fromkeys(names)
    listed = f"{', '.join(most)} and {last}" if most else last
    return finding._replace(message=f"{finding.message} The same holds for {listed}.")


def capital(text: str) -> str:
    """With a capital letter, as a sentence begins; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def counted(number: int, one: str, more: str = "") -> str:
    """``1 run``, ``2 runs``; ``more``: the plural where it is not made by an s."""
    return f"{number} {one if number == 1 else more or f'{one}s'}"


def setting_text(value: Any) -> str:
    """The text that XLA_FLAGS or an environment variable takes for a value; a list becomes comma-separated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(setting_text, value))
    return str(value)


def size_text(size: float | None) -> str:
    """A size in memory: ``1.5 GiB``, to four digits; below one GiB in whole MiB, below one MiB in KiB; None: ``unknown size``."""
    if size is None:
        return "unknown size"
    if size < GIB:
        return f"{size / MIB:.0f} MiB" if size >= MIB else f"{size / 1024:.0f} KiB"
    return f"{size / GIB:.4g} GiB" if size < 1000 * GIB else f"{size / GIB:.0f} GiB"


def typed_name(kind: str, name: str) -> str:
    """The name of a setting as a person types it: a flag's with its dashes."""
    return f"--{name}" if kind == "xla_flag" else name


def written(kind: str, name: str, value: object) -> str:
    """A setting as a person types it."""
    return f"{typed_name(kind, name)}={value}"


def is_true(text: str | None) -> bool:
    """Whether a flag's or a variable's text means true to XLA; none does not."""
    return (text or "").lower() in ("1", "true")


def number_of(text: str) -> float | None:
    """The number that a text is; None for any other text."""
    try:
        return float(text)
    except ValueError:
        return None


def is_above_zero(value: object) -> bool:
    """Whether it is a finite number above 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def count_of(text: str) -> int | None:
    """The whole number that a text of digits alone is; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() else None


def rough_time(seconds: float) -> str:
    """Seconds for people: exact below 100, minutes above."""
    return f"{max(seconds, 0):.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def took(ms: float, judged: Mapping[str, Any]) -> str:
    """What a run took, in the unit that it was judged by; a metric as the program prints it.

    ``judged``: the ``clock`` of a search ("steps" where it is not told), and of a metric whether ``higher_is_better``.
    """
    if judged.get("clock") == "metric":
        value = 1e3 / ms if judged["higher_is_better"] else ms
        return f"{value:.5g}" if value < 1e5 else f"{value:.0f}"
    return f"{ms:.4g} ms" if ms < 1e4 else f"{ms / 1e3:.4g} s"


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that is most like ``name``; None where none is at least so much like it (0 to 1)."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, likeness)), None)


def likeness(name: str, other: str) -> float:
    """How much two names are alike, as ``nearest`` counts it (0 to 1)."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, other, name).ratio()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` for a near miss, otherwise empty."""
    known = list(known)
    near = nearest(name, known) or nearest(name.lower(), known)
    return f"Did you mean {near!r}?" if near else ""
