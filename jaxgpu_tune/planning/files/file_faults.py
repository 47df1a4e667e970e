"""What is wrong with the XLA_FLAGS inside a file, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...model import Finding, Migration, Severity
from ...values import Value
from .mapped import HOLE, Site, joined_text, line_of
from .rewrite import Change, rewrite, sites_of, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    Check = Callable[[str], tuple[Finding, ...]]


__all__ = ["LineFault", "file_faults"]


class LineFault(Value):
    """A finding about what stands in a line of a file."""

    line: int
    finding: Finding


def file_faults(text: str, kind: str, check: Check, migrate: Callable[[str], Migration]) -> tuple[LineFault, ...]:
    """What ``check`` says of each flag and of each whole value, and what cannot be told before the program runs.

    Raises SyntaxError or ValueError where the file cannot be read as its kind.
    """
    found = [fault for site in sites_of(text, kind) for fault in _of_site(site, text, check)]
    told = [(fault.line, fault.finding.message) for fault in found]
    left = (one for one in rewrite(text, kind, migrate).left if not _is_told(one, told))
    found += map(_left, left)
    return tuple(sorted(dict.fromkeys(found), key=lambda fault: fault.line))


def _of_site(site: Site, text: str, check: Check) -> Iterator[LineFault]:
    """Flag by flag, with the line of each; then what only the whole value shows, where all of it is known."""
    whole, places = joined_text(site.pieces)
    seen = set()
    for token in tokens_of(whole):
        starts = [piece.spans[at][0] for piece, at in places[token.start : token.end] if piece.spans[at][0] >= 0]
        if starts and token.text.startswith("-") and HOLE not in token.text:
            for finding in check(token.text):
                seen.add(finding.code)
                yield LineFault(line_of(text, starts[0]), finding)
    if whole and HOLE not in whole and not site.unsure:
        yield from (LineFault(line_of(text, site.at), finding) for finding in check(whole) if finding.code not in seen)


def _left(change: Change) -> LineFault:
    severity: Severity = "error" if change.fatal else "warning"
    return LineFault(change.line, Finding("flag-in-file", severity, f"{change.before}: {change.why}."))


def _is_told(change: Change, told: Iterable[tuple[int, str]]) -> bool:
    return any(change.line == line and change.before.partition("=")[0] in said for line, said in told)
