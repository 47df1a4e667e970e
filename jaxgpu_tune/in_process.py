"""The runs of a search in this very process: each candidate compiled with its own options, in a job by all processes alike."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

from .comparing import CompiledVariant, difference
from .errors import JaxGpuTuneError
from .host.distributed import Store
from .host.phase import Joined
from .measure.observer.program_kind import kinds_of
from .measure.search.trials import NOTHING, SAME, Config, Step, Trial, toggled
from .measure.tuning.drive import Runner
from .measure.tuning.journal import NAME, Journal, config_json, trial_json, trial_of
from .measure.tuning.space import LeftOut, Space
from .measure.tuning.trying import WRONG
from .measure.tuning.tune import Files, SearchWanted, space_here
from .model import Finding
from .planning.release.compile_options import compile_options
from .planning.release.target import target_of
from .planning.request import make_request

__all__ = ["CallRuns"]

KEPT = 2
"""So many compiled variants stay in memory, with their arguments: those of the check."""
MAY_HANG = "may hang, and nobody could end it here: jaxgpu-tune tune -- python PROGRAM, or risky=True"
PATIENCE = 600.0
"""Seconds that a process of a job waits for another."""
LEFT = "left"
"""The key of what a process says in place of an answer when it leaves."""


class CallRuns(Runner):
    """Runs a step of a search in this process."""

    def __init__(
        self, step: Callable[..., Any], args: tuple[Any, ...], seconds: float, tolerance: float, job: Joined | None
    ) -> None:
        self.step, self.args, self.seconds, self.tolerance = step, args, seconds, tolerance
        self.name = getattr(step, "__name__", type(step).__name__)
        self.job = job if job is not None and job.count > 1 else None
        self.store = Store(self.job, f"jaxgpu_tune/tune/{self.name}/{_next()}") if self.job else None
        self.space: Space | None = None
        self.built: dict[Config, CompiledVariant] = {}
        self.result: Any = None
        self.said = 0
        self.lost: Path | None = None
        self.prepared_s = 0.0

    keeps = ends = False
    """``ends``: nothing that hangs can be ended here, but the caller may want to risk it."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files."""
        return self.job is None or self.job.rank == 0

    def prepared(self, wanted: SearchWanted) -> Space:
        """What can be tried here. Raises JaxGpuTuneError where the function does not even run as it is."""
        begun = time.monotonic()
        first = CompiledVariant("none", {}, self.step, [self.args])
        if first.cause:
            raise JaxGpuTuneError.of([Finding("program-fails", "error", f"{self.name} fails as it is: {first.cause}")])
        self.built[NOTHING], self.result = first, first.result
        wanted = wanted._replace(kinds=wanted.kinds or kinds_of(_program(first)))
        space = space_here(make_request(), wanted, os.environ)
        self.space = self._in_one_process(space)
        self.prepared_s = time.monotonic() - begun
        return self.space

    def _in_one_process(self, space: Space) -> Space:
        """Without what acts on the whole process, and what may hang: nobody could end it here."""
        bad = {config: why for config in space.configs if config and (why := self._why_not(space, config))}
        left = space.without(bad)
        together = () if self.ends else _risky_pairs(left)
        return left._replace(left_out=(*left.left_out, *together))

    def _why_not(self, space: Space, config: Config) -> str:
        options = self._options(space, config)
        left = sorted(one.name for one in config if one.name not in options and one.kind != "jax_config")
        if left or not options:
            return f"acts on the whole process: jaxgpu-tune tune -- python PROGRAM ({', '.join(left)})"
        return MAY_HANG if space.risk(config) == "dies" and not self.ends else ""

    def _options(self, space: Space, config: Config) -> dict[str, Any]:
        return compile_options(space.report(config), target_of(space.observation.machine)) if config else {}

    def about(self, space: Space) -> dict[str, Any]:
        """What tells one search from another."""
        import jax

        shapes = [f"{leaf.dtype}{leaf.shape}" for leaf in jax.tree.leaves(self.args) if hasattr(leaf, "shape")]
        return {
            "function": self.name,
            "arguments": hashlib.sha256(" ".join(shapes).encode()).hexdigest()[:16],
            "judged": [self.seconds, self.tolerance],
            "tried": [
                [config_json(one.config) for one in space.starts],
                [config_json(one.config) for one in space.moves],
            ],
            "jaxlib": space.observation.machine.jaxlib,
            "devices": str(jax.devices()[0].device_kind),
        }

    @contextmanager
    def journal(self, files: Files, about: dict[str, Any]) -> Iterator[Journal]:
        """The file of the first process; the others begin with what it holds."""
        with tempfile.TemporaryDirectory() as place:
            found = Journal(files.journal if self.is_first else Path(place) / NAME, about)
            self.lost = found.path.with_name("tried-last.json") if self.is_first else None
            if self.lost is not None and self.lost.exists():  # an earlier start did not come back from it
                with found.alone():  # or another process is in it now
                    found.add(trial_of(json.loads(self.lost.read_text())))
                    self.lost.unlink()
            told = json.loads(self._said([trial_json(one) for one in found.trials])[0])
            for trial in [] if self.is_first else told:
                found.add(trial_of(trial))
            yield found

    def __call__(self, step: Step, number: int, limit: float | None, ahead: Step | None = None) -> Trial:  # noqa: ARG002 - nothing can be ended or begun early here
        """What came of it, of the slowest process."""
        begun = time.monotonic() - self.prepared_s
        with self._in_case_of_no_return(step):
            own = self._tried(step)
        own, self.prepared_s = own._replace(seconds=max(round(time.monotonic() - begun, 3), 1e-3)), 0.0
        if self.job is None:
            return own
        return _slowest([trial_of(json.loads(text)) for text in self._said(trial_json(own))])

    @contextmanager
    def _in_case_of_no_return(self, step: Step) -> Iterator[None]:
        """What may hang is written down first, so that a later start knows what this one was lost in."""
        if self.lost is None or self.space is None or self.space.risk(step.config) != "dies":
            yield
            return
        cause = {"cause": "this process did not come back from it"}
        lost = Trial(step.config, step.purpose, None, "hang", detail=cause)
        self.lost.write_text(json.dumps(trial_json(lost)))
        yield
        self.lost.unlink()

    def _tried(self, step: Step) -> Trial:
        assert self.space is not None
        built = self.built.pop(step.config, None)
        fresh = built is None or self.prepared_s > 0
        if built is None:
            while len(self.built) >= KEPT:
                del self.built[next(iter(self.built))]
            built = CompiledVariant(
                self.space.name(step.config), self._options(self.space, step.config), self.step, [self.args]
            )
        if built.cause:
            return Trial(step.config, step.purpose, None, "compile-error", detail={"cause": built.cause})
        self.built[step.config] = built
        program = hashlib.sha256(_program(built).encode()).hexdigest()[:16]
        if program in step.known and self.job is None:
            return Trial(step.config, step.purpose, None, SAME, program=program)
        apart = difference(self.result, built.result)
        ms = 1e3 * built.run(max(1, round(self.seconds / max(built.run(1), 1e-7))))
        wrong = (
            "" if apart <= self.tolerance else f"results differ by {apart:.2%}, which is more than {self.tolerance:.2%}"
        )
        detail = {
            "cause": wrong,
            "apart": apart,
            "compile_seconds": built.compile_seconds if fresh else 0.0,
            "peak_bytes": built.peak_bytes,
        }
        return Trial(step.config, step.purpose, ms, WRONG if wrong else "", program=program, detail=detail)

    def _said(self, value: Any) -> list[str]:
        """What each process of the job says, in order of rank. Raises JaxGpuTuneError where one does not come."""
        text = json.dumps(value)
        if self.store is None or self.job is None:
            return [text]
        self.said += 1
        self.store.put(f"{self.said}/{self.job.rank}", text)
        return [self._said_by(rank) for rank in range(self.job.count)]

    def _said_by(self, rank: int) -> str:
        assert self.store is not None
        found = self.store.get(f"{self.said}/{rank}", PATIENCE)
        if found is None:
            message = f"Process {rank} of the job did not come to the search within {PATIENCE:.0f} s."
            raise JaxGpuTuneError.of([Finding("process-missing", "error", message, "Each process must call tune().")])
        told = json.loads(found)
        if isinstance(told, dict) and LEFT in told:
            message = f"Process {rank} of the job has left the search: {told[LEFT]}"
            raise JaxGpuTuneError.of(
                [Finding("process-left", "error", message, "Mend that; all processes search alike.")]
            )
        return found

    def leave(self, error: BaseException) -> None:
        """Tell the other processes of the job why this one goes, so that they do not wait for it."""
        if self.store is not None and self.job is not None:
            with suppress(Exception):  # the coordinator may be gone; what was raised counts
                why = json.dumps({LEFT: str(error) or type(error).__name__})
                self.store.put(f"{self.said + 1}/{self.job.rank}", why)


def _risky_pairs(space: Space) -> Iterator[LeftOut]:
    """What may hang together, though not alone."""
    for one, other in combinations(space.moves, 2):
        pair = toggled(one.config, other)
        if space.risk(pair) == "dies":
            yield LeftOut(" with ".join(space.name(move.config) for move in (one, other)), MAY_HANG)


def _slowest(trials: list[Trial]) -> Trial:
    """One trial of all processes: any failure is everybody's, the slowest counts, the time spent is the first's."""
    failed = next((one for one in trials if one.failure), None)
    worst = failed or max(trials, key=lambda one: one.ms or 0.0)
    return worst._replace(seconds=trials[0].seconds, program="", detail={**worst.detail, "agreed": True})


def _program(built: CompiledVariant) -> str:
    """The optimized program's text; empty where a backend gives none."""
    text = getattr(built.callers[0].step, "as_text", None)
    return str(text() or "") if callable(text) else ""


_numbers = iter(range(1 << 30))


def _next() -> int:
    """The number of this call: the same in every process, each of which calls alike."""
    return next(_numbers)
