"""``bisect``: the smallest set of settings under which a program fails, goes NaN, hangs or is slower, with runs that confirm it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from ...model import Finding
from ...values import jsonable
from ...wording import counted
from ..doubts import overwritten, settings_overwritten
from ..runs import Limits, RunOutcome, run_watched
from ..search.guilty import Guilty, guilty
from ..search.trials import NOTHING, Atom, Config, Trial
from ..statistics import Verdict, order, verdict
from .costs import SLOWEST, hangs_after
from .how import How, caches, output_of
from .journal import NAME, Journal, config_json, own_folder, trial_json
from .readout import detail_of, milliseconds, numbers_shown, untimed
from .suspects import Suspects

__all__ = ["Bisected", "Symptom", "bisect_command"]

Kind = Literal["fails", "nan", "exit", "output", "slower"]
CONFIRMED = 2
"""How often each guilty set is run again."""
CONFIRMING_PAIRS = 3
AGAIN = 3
NEAR = 0.5
"""A time is near the limit if it differs by less than this share of what is looked for. It is then measured AGAIN times; the median counts."""
LONGEST = 1800.0
"""Seconds that a run may take before any has ended well, where no --timeout is given."""


class Symptom(NamedTuple):
    """What is looked for.

    ``kind``: "fails" (whatever way), "nan", "exit" (with code ``value``), "output" (that matches ``value``), or "slower" (by the share
    ``value`` than without any of the suspects).
    """

    kind: Kind = "fails"
    value: Any = None

    @property
    def sentence(self) -> str:
        """In words."""
        return {
            "fails": "it fails",
            "nan": "its numbers are no longer finite",
            "exit": f"it exits with {self.value}",
            "output": f"its output matches {self.value!r}",
            "slower": f"it is slower by {self.value:.1%} or more" if self.kind == "slower" else "",
        }[self.kind]


class Bisected(NamedTuple):
    """What was found.

    ``guilty``: each set that shows the symptom and of which nothing can be left out; ``confirmed``: whether it did so every time; ``sentence``: the
    answer in words; ``report``: all of it, JSON-ready.
    """

    guilty: tuple[tuple[Atom, ...], ...]
    confirmed: bool
    trials: tuple[Trial, ...]
    sentence: str
    report: Mapping[str, Any]

    def __str__(self) -> str:
        told = (f"{one['severity']}: {one['message']} {one['hint']}".rstrip() for one in self.report["findings"])
        return "\n".join([self.sentence, *told])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(self.report)


def bisect_command(
    suspects: Suspects,
    how: How,
    symptom: Symptom,
    tell: Callable[[Trial, str], None] = lambda _trial, _said: None,
) -> Bisected:
    """Find it. Every finished run is kept, so that a bisect that was ended goes on: in ``how.folder``, or beside it where that holds another one."""
    return _Hunt(suspects, how, symptom, tell).run()


class _Hunt:
    """A bisect under way."""

    def __init__(self, suspects: Suspects, how: How, symptom: Symptom, tell: Callable[[Trial, str], None]) -> None:
        self.suspects, self.symptom, self.tell = suspects, symptom, tell
        self.about = {
            "command": list(how.command),
            "symptom": [symptom.kind, symptom.value],
            "judged": [how.clock, how.whole, how.metric, how.higher_is_better, how.numbers],
            "suspects": config_json(frozenset(suspects.parts)),
            "jaxlib": suspects.space.observation.machine.jaxlib,
        }
        self.how = how._replace(folder=own_folder(how.folder, self.about))
        self.journal = Journal(self.how.folder / NAME, self.about)

    def run(self) -> Bisected:
        """All runs that are needed."""
        with self.journal.alone():
            return self._run()

    def _run(self) -> Bisected:
        while (found := self._found()).ask is not None:
            self._try(frozenset(found.ask))
        for config, about in self._confirming(found):
            self._try(config, about)
        return self._bisected(found)

    def _found(self) -> Guilty[Atom]:
        """How far the runs lead."""
        answers = self._answers()
        if self.symptom.kind == "slower" and NOTHING in answers and self._fast() == float("inf"):
            return Guilty(
                None, problem="without the suspects no time of it was measured, so there is nothing to compare with"
            )
        return guilty(self.suspects.parts, answers)

    def _answers(self) -> dict[frozenset[Atom], bool]:
        """What is known for certain of each set that was run."""
        told = {config: self._answer(config) for config in {trial.config for trial in self.journal.trials}}
        return {config: answer for config, answer in told.items() if answer is not None}

    def _answer(self, config: Config) -> bool | None:
        """Whether it shows the symptom; None: one run more is needed to tell."""
        trials = self._asked_of(config)
        if self.symptom.kind != "slower":
            return bool(trials and trials[0].detail["shows"])
        if any(trial.ms is None for trial in trials):
            return False  # a failure is another symptom
        if not config:
            return False if len(trials) >= 2 else None  # the very first may have been slow
        slower = median(trial.ms or 0.0 for trial in trials) / self._fast() - 1
        near = abs(slower - self.symptom.value) < NEAR * self.symptom.value
        return None if near and len(trials) < AGAIN else slower >= self.symptom.value

    def _fast(self) -> float:
        """What a step takes without any of the suspects; infinite where that is not known."""
        return min((trial.ms for trial in self._asked_of(NOTHING) if trial.ms), default=float("inf"))

    def _asked_of(self, config: Config) -> list[Trial]:
        """The runs of a set by which the search goes: what confirms an answer changes none."""
        return [trial for trial in self.journal.trials if trial.config == config and trial.purpose != "check"]

    def _confirming(self, found: Guilty[Atom]) -> Iterator[tuple[Config, str]]:
        """Runs that confirm what was found, and the set that each is about: that set again; where it is about time, in turns with nothing."""
        for one in found.sets:
            config = frozenset(one)
            turns = [(NOTHING, config)[arm] for arms in order(2, CONFIRMING_PAIRS) for arm in arms]
            wanted = turns if self.symptom.kind == "slower" else [config] * CONFIRMED
            done = len(self._checks(config))
            yield from ((arm, _name(config)) for arm in wanted[done:])

    def _checks(self, config: Config) -> list[Trial]:
        """The confirming runs of a set, and those of nothing that belong to it."""
        checks = (trial for trial in self.journal.trials if trial.purpose == "check")
        return [trial for trial in checks if trial.detail["about"] == _name(config)]

    def _try(self, config: Config, about: str = "") -> None:
        """Run it and keep it. ``about``: the guilty set that the run is to confirm."""
        begun = time.monotonic()
        folder = self.how.run_folder(len(self.journal.trials) + 1)
        environ = caches(self.how.folder, config) | self.suspects.environ(config)
        limits = Limits(self._limit())
        outcome = run_watched(self.how.command, folder=folder, environ=environ, asked=self.how.asked, limits=limits)
        trial = self._trial(config, about, outcome)
        trial = trial._replace(seconds=round(time.monotonic() - begun, 3))
        self.journal.add(trial)
        self.tell(trial, "shows it" if trial.detail["shows"] else "does not show it")

    def _limit(self) -> float:
        took = [trial.seconds for trial in self.journal.trials if trial.ms is not None]
        return min(self.how.timeout or LONGEST, hangs_after(took, SLOWEST) if took else LONGEST)

    def _trial(self, config: Config, about: str, outcome: RunOutcome) -> Trial:
        numbers = numbers_shown(outcome, self.how)
        ms = milliseconds(outcome, self.how) if outcome.ok else None
        failure = "" if outcome.ok else str(outcome.status)
        why = untimed(outcome, self.how)[1] if self.symptom.kind == "slower" and ms is None else ""
        detail = dict(detail_of(outcome, numbers, outcome.cause or why))
        detail["shows"] = _shows(self.symptom, outcome, numbers, ms, self._fast())
        detail["about"] = about
        detail["overwritten"] = self._overwritten(config, outcome)
        return Trial(config, "check" if about else "toggle", ms, failure, outcome.seconds, "", detail)

    def _overwritten(self, config: Config, outcome: RunOutcome) -> str:
        """Against none of the suspects; without any, what takes them back (as after an upgrade) is held against all."""
        others = NOTHING if config else frozenset(self.suspects.parts)
        return overwritten(self.suspects.environ(config), self.suspects.environ(others), outcome.processes)

    def _bisected(self, found: Guilty[Atom]) -> Bisected:
        verdicts = {frozenset(one): self._verdict(frozenset(one)) for one in found.sets}
        confirmed = bool(found.sets) and all(self._confirmed(config, verdicts[config]) for config in verdicts)
        sentence = self._sentence(found, confirmed, verdicts)
        report = {
            **self.about,
            "answer": sentence,
            "guilty": [config_json(frozenset(one)) for one in found.sets],
            "confirmed": confirmed,
            "findings": jsonable((*self.journal.earlier, *self._doubts(), *(self._without() if found.problem else ()))),
            "folder": str(self.how.folder),
            "trials": jsonable([trial_json(trial) for trial in self.journal.trials]),
        }
        return Bisected(found.sets, confirmed, tuple(self.journal.trials), sentence, report)

    def _doubts(self) -> Iterator[Finding]:
        lost = (trial.detail.get("overwritten") for trial in self.journal.trials)
        if problem := next(filter(None, lost), None):
            yield settings_overwritten("Suspects are lost", problem)

    def _without(self) -> Iterator[Finding]:
        """How the program fails, or hides its times, with none of the suspects."""
        number, trial = next(((n, one) for n, one in enumerate(self.journal.trials, 1) if not one.config), (0, None))
        cause = trial.detail.get("cause") if trial else ""
        if cause:
            output = output_of(self.how.folder, number)
            message = f"Without any of the suspects: {cause.rstrip('.')}. Its output: {os.path.relpath(output)}"
            yield Finding("without-suspects", "note", message)

    def _verdict(self, config: Config) -> Verdict | None:
        if self.symptom.kind != "slower":
            return None
        told = self._checks(config)
        pairs = [sorted(told[n : n + 2], key=lambda one: len(one.config)) for n in range(0, len(told) - 1, 2)]
        ratios = [fast.ms / slow.ms for fast, slow in pairs if fast.ms and slow.ms]
        return verdict(ratios, pairs=CONFIRMING_PAIRS)

    def _confirmed(self, config: Config, told: Verdict | None) -> bool:
        if told is not None:
            return told.word == "slower"
        checks = [trial for trial in self._checks(config) if trial.config == config]
        return len(checks) >= CONFIRMED and all(trial.detail["shows"] for trial in checks)

    def _sentence(self, found: Guilty[Atom], confirmed: bool, verdicts: Mapping[Config, Verdict | None]) -> str:
        what, runs = self.symptom.sentence, counted(len(self.journal.trials), "run")
        if found.problem:
            tried = f"{counted(len(self.suspects.parts), 'suspect')}, {runs}"
            return f"Nothing was found: {found.problem}. Looked for: {what} ({tried})."
        parts = []
        for one in found.sets:
            told = verdicts[frozenset(one)]
            seen = f": {told.sentence}" if told is not None else ""
            together = "alone" if len(one) == 1 else "together, and not without any of them"
            parts.append(f"{self.suspects.said(one)} {together}{seen}")
        again = "confirmed by fresh runs" if confirmed else "NOT confirmed by fresh runs: it does not show every time"
        return f"{what[0].upper()}{what[1:]} with {'; and with '.join(parts)} ({again}; {runs})."


def _shows(symptom: Symptom, outcome: RunOutcome, numbers: tuple[float, ...], ms: float | None, fast: float) -> bool:
    if symptom.kind == "fails":
        return not outcome.ok
    if symptom.kind == "nan":
        finite = all(abs(one) < float("inf") for one in (*numbers, *outcome.losses[-1:]))
        return outcome.status == "nan" or not finite
    if symptom.kind == "exit":
        return outcome.exit_code == symptom.value and not outcome.complete
    if symptom.kind == "output":
        text = Path(outcome.output).read_text(errors="replace") if outcome.output else ""
        return re.search(symptom.value, text) is not None
    return ms is not None and ms >= fast * (1 + symptom.value)


def _name(config: Config) -> str:
    return " ".join(map(str, sorted(config)))
