"""What makes a comparison doubtful, as findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from ..host.marker import MARKER
from ..model import Finding
from ..planning.settings.setting_names import VISIBLE
from ..planning.xla_flags.grammar import FLAGS, Scan, scan
from ..wording import counted, written
from .endings import numbers_in
from .observer.facts import AT_COMPUTATION, AT_IMPORT, AT_START
from .runs import RunOutcome
from .watched import Process

__all__ = [
    "ADD",
    "EMPTY_VARIANT",
    "REFUSED",
    "UNSURE",
    "dropped_flags",
    "empty_variant",
    "moment",
    "other_losses",
    "overwritten",
    "setting_refused",
    "settings_overwritten",
    "unmatched",
    "unsure",
    "whole_run",
    "written_outside",
]

REFUSED = "`jaxgpu-tune check` tells what is wrong with XLA_FLAGS, and what to write instead."
EMPTY_VARIANT = "empty-variant"
ADD = "In the program, add to XLA_FLAGS: os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --…'; set other variables by os.environ.setdefault(…). Or take that line out."
AT = (*AT_IMPORT, *AT_START, *AT_COMPUTATION)
ITS_OWN = (MARKER, VISIBLE)
"""What each process of a job may have of its own."""
UNSURE = 0.02
"""A standard error of a run's own period from which on it is told."""


def empty_variant(name: str) -> Finding:
    """That a variant is what is set already, so that nothing is claimed of it."""
    message = f"{name} sets nothing here, so it changes nothing: any difference is noise."
    return Finding(EMPTY_VARIANT, "note", message)


def moment(folder: Path) -> float:
    """Now, in seconds, as the file system below ``folder`` tells it: its clock is milliseconds behind the machine's, or a server's."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder) as file:
        return os.fstat(file.fileno()).st_mtime


def written_outside(begin: float, folder: Path, most: int = 2_000) -> list[Finding]:
    """What the first run, from the ``moment`` when it began, wrote below the working directory instead of its own folder: the next runs would find it."""
    here, own, found, shown = Path.cwd(), folder.absolute(), [], _own_output()
    for count, (place, folders, files) in enumerate(os.walk(here)):
        folders[:] = [n for n in folders if not n.startswith((".", "__")) and Path(place, n) != own]
        found += [Path(place, name) for name in files if _is_newer(Path(place, name), begin, shown)]
        if count > most or len(found) > most:
            break
    if not found:
        return []
    some = ", ".join(str(path.relative_to(here)) for path in found[:3])
    message = f"The program wrote {counted(len(found), 'file')} outside its run's own folder: {some}."
    hint = "A later run may resume from them: write {run} in the command, or let the program use JAXGPU_TUNE_RUN_DIR."
    return [Finding("program-writes-outside", "warning", message, hint)]


def _own_output() -> set[tuple[int, int]]:
    """The files that this process itself writes to, as in ``compare … > out.txt``."""
    found = set()
    for number in (1, 2):
        with suppress(OSError):
            told = os.fstat(number)
            found.add((told.st_dev, told.st_ino))
    return found


def _is_newer(path: Path, begin: float, shown: set[tuple[int, int]]) -> bool:
    try:
        told = path.stat()
    except OSError:
        return False
    return told.st_mtime >= begin and (told.st_dev, told.st_ino) not in shown


def overwritten(given: Mapping[str, str], before: Mapping[str, str], processes: Iterable[Process]) -> str:
    """That the program sets variables anew before they are read, and what is lost of them, without a full stop; empty where it does not.

    ``given``: the environment that it was started with; ``before``: the one without the settings that matter.
    """
    compiled = [one.settings for one in processes if one.compilations]
    lost = [found for now in compiled if (found := dict(_lost(given, before, now)))]
    if not lost:
        return ""
    texts = {text: name for found in lost for text, name in found.items()}
    some = f" in {len(lost)} of {len(compiled)} processes" if len(lost) < len(compiled) else ""
    return f"the program sets {', '.join(dict.fromkeys(texts.values()))} itself{some}, which drops {', '.join(texts)}"


def _lost(given: Mapping[str, str], before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(as it was given, its variable) of each setting that is gone."""
    for name in given:
        old, text = given[name], now.get(name, "")
        if name == FLAGS:
            yield from ((flag, name) for flag in dropped_flags(old, text, before.get(name, "")))
        elif name.startswith(AT) and name not in ITS_OWN and old not in (before.get(name), text):
            yield written("env", name, old), name


def dropped_flags(given: str, now: str, before: str = "") -> list[str]:
    """The flags, as written, that ``now`` no longer sets to the same value; of a file's nothing is known. Those that were there ``before`` are left out."""
    read = scan(now)
    kept, left = _meant(scan(before)), _meant(read)
    gone = (token for token in scan(given).tokens if token.meant not in left.get(token.name, ()))
    return [] if read.file else [token.text for token in gone if token.meant not in kept.get(token.name, ())]


def _meant(read: Scan) -> dict[str | None, set[str]]:
    """The values of each flag that count: the last, and what is added to a list."""
    found: dict[str | None, set[str]] = {}
    for token in read.tokens:
        changes_list = (token.value or "").startswith(("+", "-"))
        found[token.name] = {*(found.get(token.name, ()) if changes_list else ()), token.meant}
    return found


def settings_overwritten(name: str, problem: str) -> Finding:
    """That a variant does not reach the program."""
    return Finding("program-overwrites", "warning", f"{name}: {problem}.", ADD)


def whole_run(outcome: RunOutcome) -> Finding:
    """No step could be timed."""
    message = (
        f"Times are those of whole runs, with start and compilation: {outcome.silent or 'no step could be timed.'}"
    )
    hint = (
        "Mark the steps with jaxgpu_tune.step(), or give --metric with a pattern for a number that the program prints."
    )
    return Finding("whole-run", "warning", message, hint)


def unmatched(pattern: str, lines: list[str]) -> Finding | None:
    """That nothing that a run has printed so far holds the metric."""
    if numbers_in(pattern, "\n".join(lines)):
        return None
    told = (
        f"in the {counted(len(lines), 'line')} printed so far; the last one is {lines[-1]!r}"
        if lines
        else "so far: nothing was printed"
    )
    message = f"--metric {pattern!r} finds no number {told}."
    return Finding(
        "metric-not-found", "warning", message, "If it should match by now, press Ctrl-C and fix the pattern."
    )


def unsure(some: int, of: int) -> Finding:
    """Steps that vary too much for a short measurement."""
    message = f"In {some} of {of} runs the steps varied so much that their mean is uncertain by over {UNSURE:.0%}."
    return Finding(
        "unsteady-steps", "note", message, "Measure longer (--seconds), or on a machine that does nothing else."
    )


def other_losses(name: str, theirs: float, own: float) -> Finding:
    """A variant that prints other losses than the reference does from run to run."""
    message = (
        f"{name}: its losses differ from the reference's by up to {theirs:.1%}; the reference's own runs by {own:.1%}."
    )
    return Finding(
        "losses-differ", "warning", message, "Check the numbers before you use it: it may compute less precisely."
    )


def setting_refused(names: Iterable[str]) -> Finding:
    """That XLA took a setting of these variants for none that it has, or for a wrong one."""
    message = f"XLA refused a setting of {', '.join(names)}, which ends the program."
    return Finding("setting-refused", "warning", message, REFUSED)
