"""Versions, compared without importing ``packaging`` (start-up time): ranges of them, and the known release for one.

Ranges such as ``>=0.5.0,<0.7.2`` order versions as PEP 440 does: development builds before release candidates before
the release before post-releases; missing numbers count as 0 and the local part (``+cuda12``, ``+g1a2b3c``) does not
count. Unlike PEP 440, ``<0.7.2`` holds for ``0.7.2.dev20250101``: such a build holds the code of before 0.7.2.
"""

from __future__ import annotations

import re
from operator import eq, ge, gt, le, lt, ne

from ..values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = ["Resolved", "is_specifier", "matches", "numbers", "resolve_among", "version_key"]

Key = tuple[tuple[int, ...], int, int]

_VERSION = r"v?(\d+(?:\.\d+)*)[-._]?(?:(dev|a|alpha|b|beta|c|rc|post)[-._]?(\d*))?"
_BOUND = r"\d+(?:\.\d+)*(?:(?:\.dev|rc|\.post)\d+)?"
"""Compiled only where a version is more than numbers: compiling them takes as long as two modules at start-up."""
_PHASES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "": 4, "post": 5}
_COMPARE: dict[str, Callable[[Key, Key], bool]] = {"==": eq, "!=": ne, ">=": ge, "<=": le, "<": lt, ">": gt}


def version_key(version: str) -> Key:
    """Return a sort key of a version. Raises ValueError for text that does not begin with a number."""
    text = version.strip().lower()
    if _is_plain(text):
        return _significant(text), _PHASES[""], 0
    found = re.match(_VERSION, text)
    if not found:
        raise ValueError(f"{version!r} is not a version")
    return _significant(found[1]), _PHASES[found[2] or ""], int(found[3] or 0)


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with, which is what jax and jaxlib compare; none in text that is no version."""
    if _is_plain(version):
        return tuple(map(int, version.split(".")))
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def is_specifier(text: object) -> bool:
    """Whether ``text`` is a comma-separated list of comparisons with versions."""
    return isinstance(text, str) and all(_clause(clause) for clause in text.split(","))


def matches(specifier: str, version: str) -> bool:
    """Whether ``version`` meets every comparison. Raises ValueError if either text is unreadable."""
    if not is_specifier(specifier):
        raise ValueError(f"{specifier!r} is not a version range such as '>=0.5.0,<0.7.2'")
    key = version_key(version)
    clauses = (_clause(clause) for clause in specifier.split(","))
    return all(_COMPARE[clause[0]](key, version_key(clause[1])) for clause in clauses if clause)


def _clause(text: str) -> tuple[str, str] | None:
    """The comparison and the version of a clause; None for what is none."""
    clause = text.strip()
    comparison = next((sign for sign in _COMPARE if clause.startswith(sign)), "")
    bound = clause.removeprefix(comparison).strip()
    return (comparison, bound) if comparison and (_is_plain(bound) or re.fullmatch(_BOUND, bound)) else None


def _is_plain(text: str) -> bool:
    return text.isascii() and all(part.isdigit() for part in text.split("."))


def _significant(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class Resolved(Value):
    """``release`` stands for a version; ``exact``: it is that release, perhaps packed again.

    ``neighbours``: the known releases just before and after, one or two of them; where exact, the release alone.
    """

    release: str
    exact: bool
    neighbours: tuple[str, ...]


def resolve_among(releases: Sequence[str], version: str) -> Resolved:
    """The release (of ``releases``, oldest first) that stands for ``version``.

    ``0.4.25+cuda12.cudnn89``, ``0.9.1.post6`` and ``0.5`` (0.5.0) are the release that they name. ``0.6.1.dev20250514`` lies between
    0.6.0 and 0.6.1 and is nearest to the release that it leads to. A version that cannot be read counts as the newest.
    """
    named = version if version in releases else _same_code(releases, version)
    if named:
        return Resolved(named, True, (named,))
    at = _place(releases, version)
    around = tuple(releases[max(at - 1, 0) : at + 1])
    return Resolved(_nearest(around, version), False, around)


def _same_code(releases: Sequence[str], version: str) -> str | None:
    bare = re.sub(r"(\.post\d+)?(\+.*)?$", "", version)
    return next((text for text in (bare, f"{bare}.0") if text in releases), None)


def _place(releases: Sequence[str], version: str) -> int:
    try:
        key = version_key(version)
    except ValueError:
        return len(releases)
    return sum(version_key(release) < key for release in releases)


def _nearest(around: Sequence[str], version: str) -> str:
    leads_to = re.split(r"[-._]?(?:dev|rc|[ab]\d)", version)[0]
    return around[-1] if leads_to == around[-1] else around[0]
