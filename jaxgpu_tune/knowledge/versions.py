"""Which known release stands for an installed version."""

from __future__ import annotations

import re

from ..values import Value
from .specifier import version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["Resolved", "resolve_among"]

_SAME_CODE = r"(\.post\d+)?(\+.*)?$"


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
    bare = re.sub(_SAME_CODE, "", version)
    named = next((text for text in (version, bare, f"{bare}.0") if text in releases), None)
    if named:
        return Resolved(named, True, (named,))
    at = _place(releases, version)
    around = tuple(releases[max(at - 1, 0) : at + 1])
    return Resolved(_nearest(around, version), False, around)


def _place(releases: Sequence[str], version: str) -> int:
    try:
        key = version_key(version)
    except ValueError:
        return len(releases)
    return sum(version_key(release) < key for release in releases)


def _nearest(around: Sequence[str], version: str) -> str:
    leads_to = re.split(r"[-._]?(?:dev|rc|[ab]\d)", version)[0]
    return around[-1] if leads_to == around[-1] else around[0]
