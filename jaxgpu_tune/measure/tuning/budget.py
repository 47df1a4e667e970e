"""What a budget of seconds has room for: the next step of a search, the one after it, and how long a run may take. Pure."""

from __future__ import annotations

from ..search.search import PROOF, SLOW, Search
from ..search.trials import NOTHING, Config, Step, Trial
from .costs import RISKY, SLOWEST, Costs, costs_of, hangs_after, warm

__all__ = ["LONGER", "next_step", "run_limit", "step_after"]

LONGER = 1.06
"""A run that compiles needs room for so many times its usual time: it varies more than the runs of the proof do."""
TWICE, LATE = (2.0, 0.0), 0.1
"""The longest that a run may take whatever the others took. Before the proof: what the budget has beside the proof; or TWICE the longest run, but
no longer than LATE, a share of the budget, beyond its end. In the proof: the longer of TWICE and LATE."""


def next_step(search: Search, left: float, keeps: bool, width: int = 1) -> Step | None:
    """The next step with ``left`` seconds."""
    costs = _costs(search, keeps)
    if costs is None:
        return search.ask(float("inf"))
    new = max(costs.new * LONGER, costs.again)
    slow = _slow(search, new)
    compiled = [] if keeps else _compiled_for_proof(search)
    compiling = sum((slow if search.is_slow(one) else 1) * new - costs.again for one in compiled)
    hang = hangs_after(_took(search), RISKY)
    run = costs.least if search.is_proving else costs.again  # a proof is not given up for a few slow runs
    return search.ask((left - compiling) / run, new / run, hang / run, width, slow)


def _costs(search: Search, keeps: bool = True) -> Costs | None:
    """Of runs that do not compile for very long."""
    return costs_of((trial for trial in search.trials if not search.is_slow(trial.config)), keeps)


def _slow(search: Search, new: float) -> float:
    """How many times ``new`` what compiles for very long takes: as it was seen here, or else as it is known from elsewhere."""
    seen = [trial.seconds for trial in search.trials if trial.ms is not None and search.is_slow(trial.config)]
    return max(max(seen) / new, 1.0) if seen else SLOW


def _compiled_for_proof(search: Search) -> list[Config]:
    """What the open claim still compiles, by a runner that holds no more than the programs of the last two sets.

    Before its first run it is both, since other sets may run until then.
    """
    if search.trials[-1].purpose != "check":
        return [NOTHING, search.winner]
    recent = list(dict.fromkeys(trial.config for trial in reversed(search.trials)))[:2]
    contest = search.contests[-1]
    return [*{contest.reference, contest.challenger} - {*recent}]


def step_after(search: Search, step: Step, left: float, keeps: bool) -> Step | None:
    """What comes after a step, if that takes the time that is expected of it; after the first run, that run again."""
    costs = _costs(search, keeps)
    return step if costs is None else next_step(search.expecting(step, costs.again), left - costs.again, keeps)


def run_limit(search: Search, step: Step, left: float, budget: float, timeout: float | None) -> float:
    """Seconds after which a run counts as hung, by what the others took.

    What may hang has fewer, and so has what ran before; in the proof it has not: there one slow run would lose the winner. What comes last has what
    is left; before the proof, that is without the proof.
    """
    costs = _costs(search)
    if costs is None:
        return timeout or max(left, 60.0)
    soon = search.risk(step.config) == "dies" or (step.config in search.good and step.purpose != "check")
    usual = (SLOW, SLOWEST[1]) if search.is_slow(step.config) else SLOWEST
    took = _took(search, step.config)
    room, late, twice = left - PROOF * costs.again, left + LATE * budget, hangs_after(took, TWICE)
    last = max(room, min(twice, late)) if room > 0 and step.purpose != "check" else max(late, twice)
    after = min(hangs_after(took, RISKY if soon else usual), last)
    return min(timeout or after, after)


def _took(search: Search, config: Config | None = None) -> list[float]:
    """Seconds of the runs that tell how long one of these settings may take; None: of any new ones.

    What compiles for very long tells nothing of what does not. Where these settings ran before, what runs compiled does not count, once second
    runs have shown that it is kept.
    """
    slow = config is not None and search.is_slow(config)
    runs = [one for one in warm(search.trials) if slow or not search.is_slow(one.config)]
    first = {one.config: one for one in reversed(runs)}
    again = [one for one in runs if one is not first[one.config]]
    kept = again and all(2 * _compiling(one) <= _compiling(first[one.config]) for one in again)
    compiled = _compiling if kept and config in search.good else lambda _: 0.0
    return [*(one.seconds for one in again), *(one.seconds - compiled(one) for one in first.values())]


def _compiling(trial: Trial) -> float:
    return float(trial.detail.get("compile_seconds") or 0.0)
