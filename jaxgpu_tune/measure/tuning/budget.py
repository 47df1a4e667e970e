"""What a budget of seconds has room for: the next step of a search, the one after it, and how long a run may take. Pure."""

from __future__ import annotations

from ..search.search import Search
from ..search.trials import Config, Step
from .costs import RISKY, SLOWEST, costs_of, hangs_after

__all__ = ["LONGER", "next_step", "run_limit", "step_after"]

LONGER = 1.06
"""A run that compiles needs room for so many times its usual time: it varies more than the runs of the proof do."""
TWICE, LATE = (2.0, 0.0), 0.1
"""At the end of the budget a run may take twice what the longest took, or what is left and this share of the budget, whichever is more."""


def next_step(search: Search, left: float, keeps: bool, width: int = 1) -> Step | None:
    """The next step with ``left`` seconds."""
    costs = costs_of(search.trials, keeps)
    if costs is None:
        return search.ask(float("inf"))
    new = max(costs.new * LONGER, costs.again)
    compiling = 0.0 if keeps else _compiled_for_proof(search) * (new - costs.again)
    hang = hangs_after(search.trials, RISKY) or 0.0
    return search.ask((left - compiling) / costs.again, new / costs.again, hang / costs.again, width)


def _compiled_for_proof(search: Search) -> int:
    """How many programs the open claim still compiles, by a runner that holds no more than those of the last two sets.

    Before its first run it is both, since other sets may run until then.
    """
    if search.trials[-1].purpose != "check":
        return 2
    recent = list(dict.fromkeys(trial.config for trial in reversed(search.trials)))[:2]
    contest = search.contests[-1]
    return len({contest.reference, contest.challenger} - {*recent})


def step_after(search: Search, step: Step, left: float, keeps: bool) -> Step | None:
    """What comes after a step, if that takes the time that is expected of it; after the first run, that run again."""
    costs = costs_of(search.trials, keeps)
    return step if costs is None else next_step(search.expecting(step, costs.again), left - costs.again, keeps)


def run_limit(search: Search, config: Config, left: float, budget: float, timeout: float | None) -> float:
    """Seconds after which a run counts as hung, by what the others took. What may hang has fewer, and so has what compiles nothing or comes last."""
    soon = search.risk(config) == "dies" or config in search.good
    after = hangs_after(search.trials, RISKY if soon else SLOWEST)
    twice = hangs_after(search.trials, TWICE)
    if after is None or twice is None:
        return timeout or max(left, 60.0)
    return min(timeout or float("inf"), after, max(left + LATE * budget, twice))
