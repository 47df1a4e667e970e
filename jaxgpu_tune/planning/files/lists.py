"""Variables in a list with commas between them, as options of launchers take them: ``--export=A=1,B=2,ALL``, ``--env A=1,B=2``."""

from __future__ import annotations

import re

from .mapped import Mapped, Site

__all__ = ["flags_in_list", "one_member"]

_NEXT = re.compile(r",(?=[A-Za-z_]\w*=|ALL\b|NIL\b)")
"""Between the members; the value of a variable may hold other commas."""
CUTTING = (",", "--export=", "--export ")
"""What stands before a member of a list that is cut at every comma."""
TAKING = ("--env=", "--env ")
"""What stands before such a list (Apptainer), or before one variable whose value may hold commas (Docker)."""
LONGEST = max(map(len, (*CUTTING, *TAKING)))


def one_member(site: Site) -> Site:
    """Of the value what comes before the next variable."""
    pieces: list[Mapped] = []
    for piece in site.pieces:
        end = _NEXT.search(piece.text)
        pieces.append(piece if end is None else piece.part(0, end.start()))
        if end:
            break
    return site._replace(pieces=tuple(pieces))


def flags_in_list(site: Site, text: str) -> Site:
    """The same for flags, which hold commas themselves: where a list is cut at each, what is meant cannot be known."""
    before = text[max(0, site.at - LONGEST) : site.at]
    if not before.endswith((*CUTTING, *TAKING)):
        return site
    one = one_member(site)
    if not before.endswith(CUTTING):
        return one
    if any("," in piece.text for piece in one.pieces):
        return Site(one.at, unsure="the value is a part of a list with commas")
    return one._replace(pieces=tuple(map(_without_commas, one.pieces)))


def _without_commas(piece: Mapped) -> Mapped:
    """The same, into which no comma can be written."""
    return piece._replace(encode=lambda new: None if "," in new else piece.encode(new))
