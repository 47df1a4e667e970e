"""Versions and ranges of them, as ``packaging`` reads them; and the known release that stands for a version.

One thing is not as PEP 440 has it: ``<0.7.2`` holds for ``0.7.2.dev20250101``, since such a build holds the code of before 0.7.2.
Local parts (``+cuda12``, ``+g1a2b3c``) do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from operator import eq, ge, gt, le, lt, ne

from packaging.version import InvalidVersion, Version

from ..values import Value

__all__ = ["Resolved", "is_specifier", "matches", "numbers", "resolve_among", "version_key"]

_COMPARE: dict[str, Callable[[Version, Version], bool]] = {"==": eq, "!=": ne, ">=": ge, "<=": le, "<": lt, ">": gt}


@cache
def version_key(version: str) -> Version:
    """Return a version without its local part, to compare by. Raises ValueError for text that does not begin with a number.

    Text that only begins with a version, as vendors' builds have it, counts as that version.
    """
    try:
        return Version(Version(version).public)
    except InvalidVersion:
        found = re.match(r"\s*v?(\d+(?:\.\d+)*)", version)
        if not found:
            raise ValueError(f"{version!r} is not a version") from None
        return Version(found[1])


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with, which is what jax and jaxlib compare; none in text that is no version."""
    try:
        return version_key(version).release
    except ValueError:
        return ()


def is_specifier(text: object) -> bool:
    """Whether ``text`` is a comma-separated list of comparisons with versions."""
    return isinstance(text, str) and all(_clause(clause) for clause in text.split(","))


def matches(specifier: str, version: str) -> bool:
    """Whether ``version`` meets every comparison. Raises ValueError if either text is unreadable."""
    if not is_specifier(specifier):
        raise ValueError(f"{specifier!r} is not a version range such as '>=0.5.0,<0.7.2'")
    key = version_key(version)
    clauses = (_clause(clause) for clause in specifier.split(","))
    return all(_COMPARE[clause[0]](key, clause[1]) for clause in clauses if clause)


@cache
def _clause(text: str) -> tuple[str, Version] | None:
    """The comparison and the version of a clause; None for what is none."""
    clause = text.strip()
    comparison = next((sign for sign in _COMPARE if clause.startswith(sign)), "")
    try:
        bound = Version(clause.removeprefix(comparison))
    except InvalidVersion:
        return None
    return (comparison, bound) if comparison and bound.local is None else None


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
    try:
        key = version_key(version)
    except ValueError:
        return Resolved(releases[-1], False, (releases[-1],))
    final = Version(key.base_version)
    named = next((release for release in releases if version_key(release) in (key, final)), None)
    if named and not key.is_prerelease:
        return Resolved(named, True, (named,))
    at = sum(version_key(release) < key for release in releases)
    around = tuple(releases[max(at - 1, 0) : at + 1])
    return Resolved(around[-1] if version_key(around[-1]) == final else around[0], False, around)
