"""What a budget of seconds has room for: the next step of a search, the one after it, and how long a run may take. Pure."""

from __future__ import annotations

from ..search.search import PROOF, SLOW, Search
from ..search.trials import Step
from .costs import RISKY, SLOWEST, costs_of, hangs_after

__all__ = ["LONGER", "next_step", "run_limit", "step_after"]

LONGER = 1.06
"""A run that compiles needs room for so many times its usual time: it varies more than the runs of the proof do."""
TWICE, LATE = (2.0, 0.0), 0.1
"""A run may always take twice what the longest took. In the proof it may take what is left and this share of the budget."""


def next_step(search: Search, left: float, keeps: bool, width: int = 1) -> Step | None:
    """The next step with ``left`` seconds."""
    costs = costs_of(search.trials, keeps)
    if costs is None:
        return search.ask(float("inf"))
    new = max(costs.new * LONGER, costs.again)
    compiling = 0.0 if keeps else _compiled_for_proof(search) * (new - costs.again)
    hang = hangs_after(search.trials, RISKY) or 0.0
    run = (
        costs.least if search.is_proving else costs.again
    )  # a proof that was begun is not given up for a few slow runs
    return search.ask((left - compiling) / run, new / run, hang / run, width)


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


def run_limit(search: Search, step: Step, left: float, budget: float, timeout: float | None) -> float:
    """Seconds after which a run counts as hung, by what the others took.

    What may hang has fewer, and so has what compiles nothing. What comes last has what is left; before the proof, that is without the proof.
    """
    soon = search.risk(step.config) == "dies" or step.config in search.good
    usual = (SLOW, SLOWEST[1]) if search.is_slow(step.config) else SLOWEST
    after = hangs_after(search.trials, RISKY if soon else usual)
    costs = costs_of(search.trials)
    if after is None or costs is None:
        return timeout or max(left, 60.0)
    room = left - PROOF * costs.again
    last = room if room > 0 and step.purpose != "check" else left + LATE * budget
    return min(timeout or float("inf"), after, max(last, hangs_after(search.trials, TWICE) or 0.0))
