"""Flags that a file sets and loses again: a later line gives XLA_FLAGS another text, which holds nothing of what was there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ...model import Finding
from ..xla_flags.grammar import FLAGS
from .file_kinds import place_of
from .flow import FlowEvent, replaced_in
from .mapped import Site, line_start
from .python_flow import python_flow
from .shell_flow import shell_flow
from .variables_set import part_of

__all__ = ["lost_flags"]

_ADD = {
    "shell": 'Begin with what is there: export XLA_FLAGS="$XLA_FLAGS …".',
    "dockerfile": 'Begin with what is there: ENV XLA_FLAGS="$XLA_FLAGS …".',
    "python": 'Add to what is there: os.environ["XLA_FLAGS"] += " …", with a blank before the first flag.',
}
_ADD["makefile"] = "Add to what is there: XLA_FLAGS += …."
_ADD["notebook"] = _ADD["python"]
_JOIN = "Write all flags in one value, with blanks between them."
_MAKE = re.compile(
    rf"(?m)^[ ]*(?:(?P<opens>ifn?(?:eq|def)\b)|(?P<or>else\b)|(?P<closes>endif\b)"
    rf"|(?:(?:export|override)[ \t]+)*(?P<sets>{FLAGS})[ \t]*(?:\+|::?)?=)"
)
"""What counts for all of a Makefile, in its order: not what is set for one target, in a recipe, or only where nothing is."""
_NEXT_LINE = re.compile(r"(?<!\\)\n")
_PLAIN = re.compile(r"(?:.*[;&])?[ \t]*(?:export[ \t]+)?(?:\w+=\S*[ \t]+)*|[ \t]*ENV[ \t].*")
"""What stands before it where the hint's words fit: not csh's, fish's or systemd's."""
_OF_ONE = re.compile(r"(?m)^[ \t\-\"']*(?:env|environment|envs|env_vars|variables|global)[\"']?[ \t]*:")
"""What stands above the variables of one program; other lists of them may be what to choose from."""
_MATRIX = re.compile(r"[ \t]*env:")
"""Of texts NAME=value Travis runs one after the other."""
_ALONE = re.compile(
    rf"(?:(?P<item>[ \t]*[-{{][ \t{{]*)|[ \t]+)[\"']?(?:name[\"']?[ \t]*:[ \t]*[\"']?)?{FLAGS}\b(?P<equals>=)?"
)
"""A line that sets nothing else before: an item of a list, or of a map."""


def lost_flags(
    text: str, kind: str, sites: Iterable[Site], source: str, begins: Sequence[int]
) -> Iterator[tuple[int, Finding]]:
    """(where, what) of each text that takes the place of another. ``source``, ``begins``: the Python that the file holds, and where in the file each of its lines begins."""
    in_order = sorted(sites, key=lambda site: site.at)
    for events in _in_order(text, kind, in_order, source, begins):
        for again, before, flags in replaced_in(events):
            where = place_of(text, kind, before.at)
            message = f"XLA_FLAGS is one text, and this line writes it anew: what {where} has set is lost ({flags})."
            yield again.at, Finding("flags-lost", "warning", message, _hint(text, kind, before.at, again.at))


def _hint(text: str, kind: str, before: int, again: int) -> str:
    together = _NEXT_LINE.search(text, before, again) is None
    line = text[line_start(text, again) : again]
    fits = kind in ("python", "notebook", "makefile") or (not together and _PLAIN.fullmatch(line))
    return _ADD.get(kind, _JOIN) if fits else _JOIN


def _in_order(
    text: str, kind: str, sites: Sequence[Site], source: str, begins: Sequence[int]
) -> Iterator[Iterable[FlowEvent]]:
    """What sets it for one program."""
    if source:
        yield (event._replace(at=begins[event.at - 1]) for event in python_flow(source))
    if kind in ("shell", "dockerfile", "yaml"):
        yield shell_flow(text, sites)
    if kind == "makefile":
        yield _in_make(text, sites)
    if kind == "dotenv":
        yield map(_event, sites)
    if kind in ("yaml", "json"):
        parts: dict[int, list[FlowEvent]] = {}
        for site in sites:
            part = part_of(text, site.at)
            if _is_of_one_program(text, site.at, part):
                parts.setdefault(part, []).append(_event(site))
        yield from parts.values()


def _in_make(text: str, sites: Iterable[Site]) -> Iterator[FlowEvent]:
    known = {site.at: site for site in sites}
    for found in _MAKE.finditer(text):
        site = known.get(found.start("sets"))
        if site is not None:
            yield _event(site)
        elif found.lastgroup and found.lastgroup != "sets":
            yield FlowEvent(found.start(), found.lastgroup)


def _is_of_one_program(text: str, at: int, part: int) -> bool:
    line = _ALONE.match(text, line_start(text, at))
    if line is None or (line["equals"] and _MATRIX.match(text, part)):
        return False
    return line["item"] is None or _OF_ONE.match(text, part) is not None


def _event(site: Site) -> FlowEvent:
    return FlowEvent(site.at, "sets", site.text, FLAGS in site.names)
