"""What a search found, in words: the answer, and what makes it doubtful. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from statistics import median
from typing import Any

from ...model import Finding
from ...values import EMPTY
from ...wording import counted, rough_time, took
from ..doubts import UNSURE, unsure
from ..search.contest import Contest
from ..search.search import Search
from ..search.trials import NOTHING, OVERWRITTEN, SAME, Trial
from ..statistics import PAIRS
from .costs import costs_of
from .drive import FAILS
from .journal import config_json
from .slots import DISTURBS
from .space import Space

__all__ = ["answer", "best_so_far", "doubts", "verdict_of", "won"]

BY_ITSELF = "Run the program by itself until it works every time, then begin anew."
APART = 0.05
"""Two runs of the program as it is that differ by this are told."""
FAR_APART = 2.0
"""By this: they are no times of the same thing."""


def won(search: Search) -> Contest | None:
    """The claim that was proved."""
    return next((contest for contest in search.contests if contest.won), None)


def verdict_of(contest: Contest, space: Space) -> str:
    """The verdict in words; where a run failed, which one and how."""
    if contest.over and len(contest.pairs) == 1:
        return f"no faster in the first of them ({contest.ratios[0]:.3f} times as fast)"
    if contest.failure:
        who = "it" if contest.failed == contest.challenger else space.name(contest.reference)
        return f"{who} failed ({contest.failure})"
    return contest.verdict.sentence


def answer(search: Search, space: Space, *, interrupted: bool) -> str:
    """The answer as the search stands."""
    contest = won(search)
    if contest is not None:
        return _proved(contest, space)
    if not search.good:
        return "Nothing was measured yet."
    contests = search.contests
    looked = _looked_best(contests[0], space) if contests and contests[0].over else ""
    if contests and contests[-1].failed == NOTHING:
        return f"Nothing is proved. {looked} {BY_ITSELF}"
    if contests and contests[-1].over:
        return f"Nothing beats what you have. {looked}"
    return f"{_unproved(search, space, interrupted=interrupted)} {looked}".rstrip()


def _looked_best(contest: Contest, space: Space) -> str:
    return f"{space.name(contest.challenger)} looked best, but in fresh pairs: {verdict_of(contest, space)}."


def _proved(contest: Contest, space: Space) -> str:
    verdict = contest.verdict
    assert verdict.interval is not None
    low, high = verdict.interval
    return (
        f"{verdict.ratio:.3f} times as fast as {space.name(contest.reference)} ({low:.3f} to {high:.3f} in {len(contest.pairs)} "
        f"fresh pairs) with {' '.join(map(str, sorted(contest.challenger)))}"
    )


def _unproved(search: Search, space: Space, *, interrupted: bool) -> str:
    """Of a search without fresh pairs that are over."""
    if len(space.configs) == 1:
        return "Nothing was tried: all that could be is left out here, each for a reason of its own."
    missing = _cost(search, 0 if search.contests else 1)
    larger = f" with a larger budget, such as {_budget(search, missing)}"
    again = f"Start it again{'' if interrupted else larger}: it goes on from here."
    if search.contests:
        best = best_so_far(search, space)
        ended = "it was interrupted" if interrupted else "the budget ended"
        return (
            f"Nothing is proved yet: {best['name']} looks {best['gain']:.3f} times as fast, but {ended} before {PAIRS} fresh pairs, "
            f"which take about {rough_time(missing)} more. {again}"
        )
    if interrupted:
        return f"So far nothing beats what you have, but it was interrupted before the search was over. {again}"
    if space.moves and not any(trial.purpose == "toggle" for trial in search.trials):
        return (
            "Nothing was tried: the budget has no room for one try and its proof, which take about "
            f"{rough_time(missing)} more. {again}"
        )
    return _no_gain(search)


def _no_gain(search: Search) -> str:
    """Of a search that has tried something and has nothing to prove."""
    if {trial.failure for trial in _others(search)} == {OVERWRITTEN}:
        return "Nothing was measured: the program drops all settings that were tried."
    if _all_failed(search):
        return (
            f"Nothing is proved: all that was tried failed, and the program as it is failed at times, too. {BY_ITSELF}"
        )
    more = (
        " Not all was tried: start it again with a larger budget, and it goes on from here." if _goes_on(search) else ""
    )
    return f"Nothing beats what you have: no setting that was tried is expected to gain anything.{more}"


def _goes_on(search: Search) -> bool:
    """Whether the search would try more with any budget."""
    return copy(search).ask(math.inf) is not None


def _all_failed(search: Search) -> bool:
    """Whether no other settings have a time, and what they failed of may be the program's own failing."""
    others = _others(search)
    failed = any(trial.config == NOTHING and trial.ms is None and trial.failure != DISTURBS for trial in search.trials)
    return failed and bool(others) and all(trial.ms is None for trial in others)


def _others(search: Search) -> list[Trial]:
    """What was tried of other settings than none, and was not measured before."""
    return [trial for trial in search.trials if trial.config != NOTHING and trial.failure != SAME]


def _cost(search: Search, tries: int) -> float:
    """Seconds of so many tries and six pairs."""
    costs = costs_of(search.trials)
    return tries * costs.new + 2 * PAIRS * costs.again if costs else 0.0


def _budget(search: Search, missing: float) -> str:
    """What was spent and what is missing, with a quarter more, in whole minutes."""
    spent = sum(trial.spent for trial in search.trials)
    return f"{math.ceil((spent + 1.25 * missing) / 60)}m"


def best_so_far(search: Search, space: Space) -> dict[str, Any]:
    """What is to be proved next, or the winner so far, by the search's own runs, which prove nothing."""
    if not search.good:
        return {"name": "", "gain": 1.0, "settings": []}
    config = next((one.challenger for one in search.contests if not one.over), search.winner)
    gain = math.exp(search.estimate.difference(NOTHING, config)[0])
    return {"name": space.name(config), "gain": gain, "settings": config_json(config)}


def doubts(search: Search, judged: Mapping[str, Any] = EMPTY) -> Iterator[Finding]:
    """What the runs themselves say against trusting them. ``judged``: by which clock."""
    as_it_is = [trial for trial in search.trials if trial.config == NOTHING and trial.failure != DISTURBS]
    failed = [trial for trial in as_it_is if trial.ms is None]
    if failed:
        yield _fails_at_times(failed, len(as_it_is))
    first = [trial.ms for trial in as_it_is if trial.ms and trial.purpose == "start"][:2]
    clock = judged.get("clock", "steps")
    if first and max(first) > (1 + APART) * min(first):
        yield _runs_differ([took(ms, judged) for ms in first], clock, far=max(first) > (1 + FAR_APART) * min(first))
    timed = [trial.detail.get("error") or 0.0 for trial in search.trials if trial.ms]
    if timed and median(timed) > UNSURE and clock == "steps":
        yield unsure(sum(error > UNSURE for error in timed), len(timed))


def _fails_at_times(failed: list[Trial], runs: int) -> Finding:
    cause = (failed[0].detail.get("cause") or "").rstrip(".")
    message = (
        f"The program failed as it is in {len(failed)} of {counted(runs, 'run')} ({failed[0].failure}{cause and ': '}{cause}). "
        "What failed with other settings may have failed by itself, too."
    )
    alone = "Run it by itself until it works every time; what one run leaves, such as a folder or a lock, may stop the next."
    _, hint = FAILS.get(failed[0].failure, ("", alone))
    return Finding("fails-at-times", "warning", message, hint)


def _runs_differ(told: list[str], clock: str, *, far: bool) -> Finding:
    verb, step = ("printed" if clock == "metric" else "took"), (" a step" if clock == "steps" else "")
    message = f"Two runs of the program as it is {verb} {' and '.join(told)}{step}."
    if far and clock == "steps":
        message += " They may have timed different steps, so the speeds here mean little."
        return Finding("runs-differ", "warning", message, FAILS["no-steady-state"][1])
    message += " What gains less than they differ may not be found."
    longer = "" if clock == "whole" else "longer (--seconds), or "
    return Finding("runs-differ", "note", message, f"Measure {longer}on a machine that does nothing else.")
