"""What a search found: the answer in words, what each setting did, and the preset file that holds it with its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, NamedTuple

from ...model import Finding, Machine
from ...values import EMPTY, jsonable
from ...wording import size_text, took
from ..preset_text import measured_where, preset_text, toml_table, toml_text
from ..search.contest import Contest
from ..search.search import Search
from ..search.trials import NOTHING, SAME, Config, Move, Trial
from ..statistics import Verdict
from .answer import answer, best_so_far, doubts, verdict_of, won
from .journal import config_json, trial_json
from .space import CLEAN, LeftOut, Space

__all__ = ["Did", "Tuned", "how_it_goes", "search_preset", "tuned"]


class Did(NamedTuple):
    """What one candidate did in this search.

    ``effect``: how many times as fast with it as without, by the estimate from all runs, give or take ``spread``; None where it never ran well. ``why``: what
    went wrong, or why it was not tried.
    """

    name: str
    settings: tuple[str, ...]
    tried: int
    effect: float | None
    spread: float | None
    chosen: bool
    why: str = ""


class Tuned(NamedTuple):
    """The answer of a search.

    ``path``: of the preset file, None where nothing was proved; ``gain``: how many times as fast as ``against``, the median of the fresh
    pairs, 1.0 where nothing was proved; ``interval``: smallest to largest of them; ``trials``: every run. ``sentence``: the answer in words;
    ``did``: what each candidate did; ``report``: all of it, JSON-ready.
    """

    path: str | None
    gain: float
    interval: tuple[float, float] | None
    trials: tuple[Trial, ...]
    sentence: str
    settings: tuple[str, ...]
    against: str
    did: tuple[Did, ...]
    report: Mapping[str, Any]

    def __str__(self) -> str:
        from ...render.tuned import tuned_text

        return tuned_text(self.report)

    def _repr_html_(self) -> str:
        from ...render.tuned import tuned_html

        return tuned_html(self.report)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(self.report)


def tuned(
    search: Search,
    space: Space,
    path: str,
    about: Mapping[str, Any],
    findings: Iterable[Finding] = (),
    *,
    interrupted: bool = False,
) -> Tuned:
    """The answer as the search stands. ``path``: where the preset file goes; ``about``: what was searched, for the report."""
    contest = won(search)
    did = tuple(_did(search, space))
    report = {
        **about,
        "answer": answer(search, space, interrupted=interrupted),
        **_proof(contest, space, path),
        "findings": jsonable((*findings, *doubts(search, about))),
        "did": jsonable(did),
        **_history(search, space),
    }
    return Tuned(
        path=report["path"],
        gain=report["gain"],
        interval=report["interval"],
        trials=tuple(search.trials),
        sentence=report["answer"],
        settings=tuple(map(str, sorted(contest.challenger))) if contest else (),
        against=report["against"],
        did=did,
        report=report,
    )


def search_preset(report: Mapping[str, Any]) -> str:
    """The answer as a user's preset file: its settings, where they hold, and the evidence. Raises ValueError where nothing was proved."""
    if not report["path"]:
        raise ValueError("nothing was proved, so there is no preset")
    machine = report["machine"]
    where = measured_where(machine["jaxlib"], [machine["compute_capability"]], machine["devices"])
    reason = f"together {report['gain']:.3f} times as fast as {report['against']} here ({_range(report)})"
    return preset_text(
        _summary(report),
        _evidence(report),
        where,
        [(kind, name, value) for kind, name, value in report["settings"] if [kind, name, value] != list(CLEAN)],
        of_each={"reason": toml_text(reason), "when": toml_table(where)},
    )


def _proof(contest: Contest | None, space: Space, path: str) -> dict[str, Any]:
    """What was proved, and by how much."""
    config = contest.challenger if contest else NOTHING
    verdict = contest.verdict if contest else Verdict("no-difference")
    return {
        "path": path if contest else None,
        "gain": verdict.ratio or 1.0,
        "interval": verdict.interval,
        "against": space.name(contest.reference) if contest else "",
        "settings": config_json(config),
        "removes": CLEAN in config,
        "hazards": [f"{hazard.code}: {hazard.message}" for hazard in space.struck(config)],
    }


def _history(search: Search, space: Space) -> dict[str, Any]:
    """What was tried, and on what."""
    return {
        "machine": _machine(space.observation.machine),
        "ms_as_it_is": search.ms_as_it_is,
        "starts": [{"name": one.name, "settings": config_json(one.config)} for one in space.starts],
        "contests": [_contest(one, space, search.trials) for one in search.contests],
        "left_out": jsonable(space.left_out),
        "best": best_so_far(search, space),
        "trials": jsonable([{**trial_json(one), "name": space.name(one.config)} for one in search.trials]),
    }


def how_it_goes(search: Search, space: Space, left: float, judged: Mapping[str, Any] = EMPTY) -> str:
    """One line after a run: what it was, its time, the seconds ``left``, and the best so far, which a later run may take back. ``judged``: by which clock."""
    from ...render.tuned import trial_line

    trial = search.trials[-1]
    told = {**trial_json(trial), "name": space.name(trial.config)}
    best = "" if search.best == NOTHING or trial.purpose == "check" else space.name(search.best)
    return trial_line(told, len(search.trials), search.ms_as_it_is, left, best, judged)


def _did(search: Search, space: Space) -> Iterable[Did]:
    chosen = contest.challenger if (contest := won(search)) else NOTHING
    for move in space.moves:
        yield _of_move(search, space, move, chosen)
    known = {trial.config for trial in search.trials} | {move.config for move in space.moves}
    unreached = [LeftOut(one.name, "not reached") for one in space.starts if one.config not in known]
    for left in (*unreached, *space.left_out):
        yield Did(left.name, (), 0, None, None, chosen=False, why=left.why)


def _of_move(search: Search, space: Space, move: Move, chosen: Config) -> Did:
    trials = [trial for trial in search.trials if move.config <= trial.config]
    well = [trial for trial in trials if trial.config in search.good]
    effect = spread = None
    if well:
        best = search.best
        mean, spread = search.estimate.difference(best - move.config, best | move.config)
        effect = math.exp(mean)
    failed = (one for one in trials if one.failure and one.config - move.config in search.good)
    failures = dict.fromkeys(_how_it_failed(one) for one in failed)
    why = "; ".join(failures) or ("" if trials else "not reached")
    words = tuple(map(str, sorted(move.config)))
    return Did(space.name(move.config), words, len(trials), effect, spread, move.config <= chosen, why)


def _how_it_failed(trial: Trial) -> str:
    if trial.failure == SAME:
        return "changes nothing: the compiled program stays the same"
    return f"{trial.failure}: {trial.detail.get('cause', '')}".rstrip(": ")


def _contest(contest: Contest, space: Space, trials: Iterable[Trial]) -> dict[str, Any]:
    return {
        "peak_bytes": [_peak(config, trials) for config in (contest.reference, contest.challenger)],
        "reference": space.name(contest.reference),
        "challenger": space.name(contest.challenger),
        "pairs": [list(pair) for pair in contest.pairs],
        "ratios": list(contest.ratios),
        "verdict": verdict_of(contest, space),
        "won": contest.won,
    }


def _peak(config: Config, trials: Iterable[Trial]) -> int | None:
    peaks = (one.detail.get("peak_bytes") for one in trials if one.config == config)
    return max(filter(None, peaks), default=None)


def _machine(machine: Machine) -> dict[str, Any]:
    gpus = machine.gpus or ()
    return {
        "gpus": [gpu.name for gpu in gpus],
        "compute_capability": next((gpu.compute_capability for gpu in gpus), None),
        "devices": len(gpus) * (machine.processes.count or 1),
        "jax": machine.jax,
        "jaxlib": machine.jaxlib,
        "driver": machine.driver,
        "nccl": machine.nccl,
    }


def _summary(report: Mapping[str, Any]) -> str:
    return f"Found by jaxgpu-tune tune on {_named(report['machine'])} for: {_what(report)}."


def _what(report: Mapping[str, Any]) -> str:
    """The command, or the function that was called."""
    return " ".join(report.get("command") or [str(report.get("function", "a program"))])


def _evidence(report: Mapping[str, Any]) -> list[str]:
    tried = [one for one in report["did"] if one["effect"] is not None]
    table = [f"{one['name']}: {one['effect']:.3f} (estimated from the search's own runs)" for one in tried]
    removed = (
        ["Measured without the XLA flags and NCCL variables that were set: unset them."] if report["removes"] else []
    )
    slow, fast = next(one["peak_bytes"] for one in report["contests"] if one["won"])
    memory = [f"Peak memory of a device: {size_text(slow)} and {size_text(fast)}."] if slow and fast else []
    return [
        f"{_named(report['machine'])}: {report['answer']}.",
        f"{len(report['trials'])} runs; {_medians(report)}.",
        *memory,
        *removed,
        *report["hazards"],
        *table,
    ]


def _medians(report: Mapping[str, Any]) -> str:
    pairs = next(one["pairs"] for one in report["contests"] if one["won"])
    slow, fast = map(median, zip(*pairs, strict=True))
    if report.get("clock", "steps") == "steps":
        return f"median times in the pairs: {slow:.3f} and {fast:.3f} ms a step"
    return f"medians in the pairs: {took(slow, report)} and {took(fast, report)} ({report['metric'] or 'of the whole run'})"


def _range(report: Mapping[str, Any]) -> str:
    low, high = report["interval"]
    return f"{low:.3f} to {high:.3f}"


def _named(machine: Mapping[str, Any]) -> str:
    count, name = len(machine["gpus"]), (machine["gpus"] or ["the CPU"])[0]
    return f"{f'{count} x ' if count else ''}{name or 'GPU'}, jaxlib {machine['jaxlib']}"
