"""Compare variants of a program by running it in turns: processes, pairs, a verdict only if all pairs agree.

The reference runs twice at first, which tells the noise of this machine; then all variants run there and back again
(A B, B A, …). Each run is ended once its steady state is measured. A variant that fails is a result and does not run again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from ..model import Finding
from .comparison import Comparison, Variant, VariantRun
from .doubts import (
    EMPTY_VARIANT,
    UNSURE,
    moment,
    other_losses,
    overwritten,
    setting_refused,
    settings_overwritten,
    unmatched,
    unsure,
    whole_run,
    written_outside,
)
from .gpu_state import GpuState
from .protocol import Arm, Listener, Protocol
from .readings import STEP_CLOCKS, settled, value_of
from .runs import Asked, Limits, RunOutcome, run_watched
from .starting import OUTPUT
from .statistics import Verdict, futile, order, ratios, unclaimed, verdict
from .watched import DONE, Process, leading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparison import Clock


__all__ = ["compare_programs", "kept_in"]

COLD = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
FIRST_TIMEOUT, SHORTEST_TIMEOUT, TIMES_OTHERS = 3600.0, 60.0, 5.0
"""Seconds: how long the first run may take if nobody says, and how long others get by what runs took so far."""
SHORTEST_STALL, STALL_STEPS = 60.0, 50.0
"""A run hangs if nothing moves for so many seconds, and for as long as so many steps take."""
MANY_LINES = 100
"""So many lines may be printed before it is told that none of them holds the metric."""
LOSS_TOLERANCE = 0.01


def compare_programs(
    arms: Sequence[Arm],
    protocol: Protocol = Protocol(),  # noqa: B008 - a frozen value
    *,
    folder: str | os.PathLike[str],
    listener: Listener | None = None,
) -> Comparison:
    """Run the arms in turns until a verdict stands; the first is the reference. ``folder``: where the runs leave their files.

    Ctrl-C ends it with what there is. Nothing that a program does raises.
    """
    return _Course(arms, protocol, Path(folder), listener or Listener()).run()


class _Course:
    """The state of one comparison: trials so far, the clock that the first run settled, who is still in."""

    def __init__(self, arms: Sequence[Arm], protocol: Protocol, folder: Path, listener: Listener) -> None:
        self.arms, self.protocol, self.folder, self.listener = arms, protocol, folder, listener
        self.trials: list[VariantRun] = []
        self.clock: Clock = ""
        self.function = ""
        self._unmatched = protocol.metric or ""
        self.findings: list[Finding] = [finding for arm in arms for finding in arm.findings]
        self.gpus = GpuState(arms[0].environ)
        self.begun = time.monotonic()

    def run(self) -> Comparison:
        """All rounds."""
        self.findings += self.gpus.busy()
        began = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        try:
            ended = self._rounds()
        except KeyboardInterrupt:
            ended = "interrupted"
        self.findings += [*self.gpus.findings(), *self._doubts()]
        return Comparison(
            tuple(self._variant(number) for number in range(len(self.arms))),
            self.clock,
            ended,
            self.function,
            self._noise(),
            self.protocol.higher_is_better,
            self.protocol.percentile,
            self.protocol.caches,
            tuple(dict.fromkeys(self.findings)),
            began=began,
            seconds=time.monotonic() - self.begun,
        )

    def _rounds(self) -> str:
        first = self._trial(0, 0)
        if first.value is None:
            return "failed"
        for number, arms in enumerate(order(len(self.arms), self.protocol.pairs), 1):
            left = [arm for arm in arms if self._is_in(arm)]
            if self._is_failed(0):
                return "failed"
            if left == [0]:
                return "futile" if number > 1 else "failed"
            if not self._affords(len(left)):
                return "budget"
            for arm in left:
                self._trial(arm, number)
        return "complete"

    def _is_in(self, arm: int) -> bool:
        """Whether it is worth another run: the reference always, a variant unless it failed or its pairs disagree."""
        if arm == 0:
            return True
        return not self._is_failed(arm) and not futile(self._ratios(arm))

    def _is_failed(self, arm: int) -> bool:
        return any(trial.value is None for trial in self._of(arm))

    def _of(self, arm: int) -> list[VariantRun]:
        return [trial for trial in self.trials if trial.variant == self.arms[arm].name]

    def _affords(self, runs: int) -> bool:
        """Whether the budget has room for another round."""
        if self.protocol.budget is None:
            return True
        return time.monotonic() - self.begun + runs * self._usual() <= self.protocol.budget

    def _usual(self) -> float:
        return median(trial.seconds for trial in self.trials) if self.trials else 0.0

    def _left(self, number: int) -> float | None:
        """Seconds until the end, if no variant drops out."""
        if not self.trials:
            return None
        runs = len(self.arms) * (self.protocol.pairs + 1 - number) - sum(one.round == number for one in self.trials)
        left = runs * self._usual()
        if self.protocol.budget is None:
            return left
        return min(left, self.protocol.budget - (time.monotonic() - self.begun))

    def _trial(self, arm: int, number: int) -> VariantRun:
        one = self.arms[arm]
        self.listener.begins(one.name, number, self.protocol.pairs, self._left(number))
        begin = moment(self.folder)
        caches = COLD if self.protocol.caches == "cold" else kept_in(self.folder / "cache")
        outcome = run_watched(
            one.command,
            folder=self._place(one.name),
            environ={**one.environ, **caches},
            asked=self._asked(),
            limits=self._limits(),
            seen=self._seen,
        )
        if not self.trials:
            self.clock, self.function = settled(outcome, self.protocol)
            self.findings += written_outside(begin, self.folder)
            if self.clock == "whole" and not self.protocol.whole:  # nobody asked for whole runs
                self.findings.append(whole_run(outcome))
        if problem := overwritten({**one.environ, **caches}, {**os.environ, **caches}, outcome.processes):
            self._tell(settings_overwritten(one.name, problem))
        trial = self._told(one.name, number, outcome)
        self.trials.append(trial)
        self.listener.ends(trial)
        return trial

    def _seen(self, processes: tuple[Process, ...]) -> None:
        self.gpus.look()
        self.listener.sees(processes)
        if self._unmatched:
            self._look_for_metric(any(one.state == DONE for one in leading(processes)))

    def _tell(self, finding: Finding) -> None:
        """At once, the first time: the rest may take hours."""
        if finding not in self.findings:
            self.findings.append(finding)
            self.listener.doubts(finding)

    def _look_for_metric(self, measured: bool) -> None:
        """Once the steps are measured, or many lines printed, a pattern that found nothing is told: the run may last for hours yet."""
        output = self._place(self.arms[0].name) / OUTPUT
        lines = output.read_text(errors="replace").splitlines() if output.exists() else []
        doubt, enough = unmatched(self._unmatched, lines), measured or len(lines) >= MANY_LINES
        if doubt and enough:
            self.listener.doubts(doubt)
        if enough or not doubt:
            self._unmatched = ""

    def _place(self, name: str) -> Path:
        """Where the run that is next leaves its files."""
        return self.folder / f"{len(self.trials):03d}-{_plain(name)}"

    def _asked(self) -> Asked:
        whole = self.protocol.whole or self.clock == "whole"
        return Asked(self.protocol.seconds, whole, self.function or None, metric=self.protocol.metric)

    def _limits(self) -> Limits:
        """What is given; else by what the others took."""
        if not self.trials:
            return Limits(self.protocol.timeout or self.protocol.budget or FIRST_TIMEOUT)
        longest = max(trial.seconds for trial in self.trials)
        timeout = self.protocol.timeout or max(SHORTEST_TIMEOUT, TIMES_OTHERS * longest)
        steps = (self.trials[0].value or 0.0) if self.clock in STEP_CLOCKS else 0.0
        return Limits(timeout, max(SHORTEST_STALL, STALL_STEPS * steps) if steps else None)

    def _told(self, name: str, number: int, outcome: RunOutcome) -> VariantRun:
        leader = outcome.leader
        value, cause = value_of(outcome, self.clock, self.protocol) if outcome.ok else (None, outcome.cause)
        period = None if leader is None else leader.period
        return VariantRun(
            name,
            number,
            outcome.status if outcome.status != "ok" or value is not None else "not-measured",
            cause,
            self.clock,
            value,
            period.error if period is not None and self.clock in STEP_CLOCKS else None,
            outcome.seconds,
            0 if leader is None else leader.steps,
            None if leader is None else leader.first_step_s,
            outcome.compile_seconds,
            outcome.peak_bytes,
            outcome.losses,
            outcome.exit_code,
            "" if outcome.ok else outcome.last_words,
        )

    def _ratios(self, arm: int) -> tuple[float, ...]:
        """How many times as fast as the reference the arm was, from the rounds that both finished."""
        mine = {trial.round: trial.value for trial in self._of(arm) if trial.value is not None}
        theirs = {trial.round: trial.value for trial in self._of(0) if trial.value is not None and trial.round}
        both = sorted(mine.keys() & theirs.keys())
        higher = self.protocol.higher_is_better and self.clock == "metric"
        return ratios([theirs[one] for one in both], [mine[one] for one in both], higher_is_better=higher)

    def _noise(self) -> float | None:
        values = [trial.value for trial in self._of(0)[:2] if trial.value]
        return values[0] / values[1] if len(values) > 1 else None

    def _variant(self, arm: int) -> Variant:
        one, trials = self.arms[arm], tuple(self._of(arm))
        bad = next((trial for trial in trials if trial.value is None), None)
        found = () if arm == 0 else self._ratios(arm)
        said = verdict(found) if arm else Verdict("no-difference")
        if not self.arms[0].settings and any(told.code == EMPTY_VARIANT for told in one.findings):
            said = unclaimed(said)
        if bad is not None:
            said = said._replace(word="failed")
        return Variant(
            *(one.name, said, found, trials),
            "ok" if bad is None else bad.status,
            "" if bad is None else bad.cause,
            self._loss_difference(arm),
            one.settings,
        )

    def _loss_difference(self, arm: int) -> float | None:
        """Against the reference's first run; of the reference, of its second run against its first."""
        runs = self._of(arm)[1:2] if arm == 0 else self._of(arm)[:1]
        if not runs or not self.trials:
            return None
        pairs = list(zip(self.trials[0].losses, runs[0].losses, strict=False))
        return max((abs(a - b) / max(abs(a), 1e-12) for a, b in pairs), default=None)

    def _doubts(self) -> list[Finding]:
        vague = [trial for trial in self.trials if (trial.error or 0) > UNSURE]
        found = [unsure(len(vague), len(self.trials))] if vague else []
        if any(trial.status == "refused" for trial in self.trials):
            found.append(setting_refused(dict.fromkeys(one.variant for one in self.trials if one.status == "refused")))
        own = self._loss_difference(0) or 0.0
        for arm in range(1, len(self.arms)):
            theirs = self._loss_difference(arm)
            if theirs is not None and theirs > max(LOSS_TOLERANCE, 10 * own):
                found.append(other_losses(self.arms[arm].name, theirs, own))
        return found


def kept_in(folder: Path) -> dict[str, str]:
    """The variables with which all that is compiled is kept in a folder, and taken from it."""
    return {
        "JAX_ENABLE_COMPILATION_CACHE": "true",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_COMPILATION_CACHE_DIR": str(folder.absolute()),
    }


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)[-40:]
