"""Version ranges such as ``>=0.5.0,<0.7.2``, compared without importing ``packaging`` (start-up time).

Versions are ordered as PEP 440 orders them: development builds before release candidates before the release before
post-releases; missing numbers count as 0 and the local part (``+cuda12``, ``+g1a2b3c``) does not count. Unlike PEP 440,
``<0.7.2`` holds for ``0.7.2.dev20250101``: such a build holds the code of before 0.7.2.
"""

from __future__ import annotations

import re
from operator import eq, ge, gt, le, lt, ne

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["is_specifier", "matches", "version_key"]

Key = tuple[tuple[int, ...], int, int]

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)[-._]?(?:(dev|a|alpha|b|beta|c|rc|post)[-._]?(\d*))?", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(==|!=|>=|<=|<|>)\s*(\d+(?:\.\d+)*(?:(?:\.dev|rc|\.post)\d+)?)\s*")
_PHASES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "": 4, "post": 5}
_COMPARE: dict[str, Callable[[Key, Key], bool]] = {"==": eq, "!=": ne, ">=": ge, "<=": le, "<": lt, ">": gt}


def version_key(version: str) -> Key:
    """Return a sort key of a version. Raises ValueError for text that does not begin with a number."""
    found = _VERSION.match(version.strip())
    if not found:
        raise ValueError(f"{version!r} is not a version")
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _PHASES[(found[2] or "").lower()], int(found[3] or 0)


def is_specifier(text: object) -> bool:
    """Whether ``text`` is a comma-separated list of comparisons with versions."""
    return isinstance(text, str) and all(_CLAUSE.fullmatch(clause) for clause in text.split(","))


def matches(specifier: str, version: str) -> bool:
    """Whether ``version`` meets every comparison. Raises ValueError if either text is unreadable."""
    if not is_specifier(specifier):
        raise ValueError(f"{specifier!r} is not a version range such as '>=0.5.0,<0.7.2'")
    key = version_key(version)
    clauses = (_CLAUSE.fullmatch(clause) for clause in specifier.split(","))
    return all(_COMPARE[clause[1]](key, version_key(clause[2])) for clause in clauses if clause)
