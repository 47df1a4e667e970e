"""What XLA makes of XLA_FLAGS as it stands, and where. Pure."""

from __future__ import annotations

from ...model import Observation
from ...values import Value
from ...wording import counted
from ..xla_flags.grammar import Scan, Token, scan, scan_file_text
from .target import Target

__all__ = ["Reading", "reading"]


class Reading(Value):
    """``faults``: where in the text (start, end) XLA ends the process or reads on no further; ``does``: a sentence on that.

    ``ends``: what ends the process (empty: nothing does); ``instead``: the text that says what was meant.
    """

    text: str
    faults: tuple[tuple[int, int], ...] = ()
    does: str = ""
    ends: str = ""
    instead: str = ""


def reading(observation: Observation, target: Target, instead: str) -> Reading:
    """XLA's own reading of the text, or of the file that it names; ``instead``: what a plan would make of it."""
    text = observation.environ.get("XLA_FLAGS", "")
    read = scan(text)
    whole = ((0, len(text)),)
    if read.file and observation.flag_file is None:
        ends = f"it is taken for the name of a file, {read.file!r}, that cannot be read."
        return Reading(text, whole, f"ends the process: {ends}", ends, instead)
    if read.fatal:
        return Reading(text, whole, f"ends the process. {read.fatal}", read.fatal, instead)
    named = scan_file_text(observation.flag_file or "") if read.file else read
    wrong = [token for token in named.tokens if _is_refused(token, target)]
    ends = f"{' '.join(token.text for token in wrong)} is refused." if wrong else ""
    return Reading(text, () if read.file else _faults(read, wrong), _does(named, wrong), ends, instead)


def _is_refused(token: Token, target: Target) -> bool:
    name = token.name or ""
    return bool(target.releases) and target.ends_process(name, token.value)


def _faults(read: Scan, wrong: list[Token]) -> tuple[tuple[int, int], ...]:
    lost = () if read.stopped_at is None else ((read.stopped_at, read.stopped_at + len(read.lost)),)
    return (*((token.start, token.end) for token in wrong), *lost)


def _does(read: Scan, wrong: list[Token]) -> str:
    flags = f"reads {counted(len(read.tokens), 'flag')}"
    stops = f"{flags}, then stops without a word: what follows has no effect" if read.lost else flags
    refuses = f"; ends the process on {', '.join(token.text for token in wrong)}" if wrong else ""
    return f"{stops}{refuses}."
