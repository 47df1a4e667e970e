"""What can be tried on this machine: candidates and presets as this build has them, what they risk, and their environments.

Every candidate goes through the plan as a preset does, so it is translated and gated alike. The plan leaves out what this jaxlib does not
have, what it does by itself, and what is set already; its reason is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...host.looked_up import preset_of
from ...knowledge.candidates import Candidate, candidates, treatment
from ...knowledge.hazards import Hazard, hazards
from ...model import Decision, Finding, Observation, Preset, Setting
from ...pipeline import make_plan
from ...planning.base.conditions import all_met
from ...planning.request import Request
from ...planning.select import facts_of
from ..search.trials import NOTHING, Atom, Config, Move, Risk, Start

if TYPE_CHECKING:
    from ...model import Report

__all__ = ["AS_IT_IS", "CLEAN", "LeftOut", "Space", "candidate_of", "space_of"]

AS_IT_IS = "what you have"
"""The name of the first start."""
CLEAN = Atom("env", "what is set already", "removed")
"""Stands for an environment without what is inherited of the kind that a search tries."""
OURS = ("set", "merged")
"""The decisions by which a plan sets something of its own."""


class LeftOut(NamedTuple):
    """A candidate that is not tried, and why."""

    name: str
    why: str


class Space(NamedTuple):
    """``starts``: the first is the program as it is. ``names``: what sets of settings are called. ``hazards``: those that hold on this machine.

    ``clean``: the environment without what is inherited; ``serves``: the candidates behind the moves; ``kinds``: of program, as asked.
    """

    request: Request
    observation: Observation
    clean: Mapping[str, str]
    starts: tuple[Start, ...]
    moves: tuple[Move, ...]
    names: Mapping[Config, str]
    left_out: tuple[LeftOut, ...]
    hazards: tuple[Hazard, ...]
    serves: Mapping[Config, Candidate]
    kinds: frozenset[str] = frozenset()

    def for_kinds(self, seen: Iterable[str]) -> Space:
        """The moves in the order that fits the kinds of program: those that were asked for, or else those that were ``seen``."""
        wanted = self.kinds or frozenset(seen)
        moves = (move._replace(large=_is_large(self.serves.get(move.config), wanted)) for move in self.moves)
        ordered = sorted(moves, key=lambda move: not _fits(self.serves.get(move.config), wanted))
        return self._replace(moves=tuple(ordered))

    def environ(self, config: Config) -> dict[str, str]:
        """The complete environment of a process under these settings; this library's own calls in the program change nothing there."""
        report, seen = self.report(config), self._seen(config)
        changed = {**seen.environ, **report.environ, "JAXGPU_TUNE": "off"}
        return {name: text for name, text in changed.items() if text is not None}

    def report(self, config: Config) -> Report:
        """The plan of these settings."""
        return make_plan(self.request, self._seen(config), _preset("tune", map(_setting, sorted(config - {CLEAN}))))

    @property
    def mended(self) -> tuple[Finding, ...]:
        """What is wrong with what is set already. The runs of a search are without it; the program by itself is not."""
        return tuple(one for one in self.report(NOTHING).findings if one.severity != "note")

    def _seen(self, config: Config) -> Observation:
        return self.observation._replace(environ=self.clean) if CLEAN in config else self.observation

    def risk(self, config: Config) -> Risk:
        """What is known to go wrong with these settings, and not without them."""
        told = treatment()
        codes = {hazard.code for hazard in self.struck(config)}
        return "out" if codes & told.numbers else "dies" if codes & told.dies else "none"

    def struck(self, config: Config) -> tuple[Hazard, ...]:
        """The hazards that these settings bring, beyond those of what is set already."""
        inherited = _in_force(make_plan(self.request, self.observation, _preset("none", ())))
        asked = {(one.kind, one.name): one.value for one in config}
        return tuple(h for h in self.hazards if h.triggered_by(inherited | asked) and not h.triggered_by(inherited))

    def without(self, bad: Mapping[Config, str]) -> Space:
        """Without these sets of settings, each left out for its reason."""
        told = (LeftOut(self.name(config), why) for config, why in bad.items())
        return self._replace(
            starts=tuple(one for one in self.starts if one.config not in bad),
            moves=tuple(one for one in self.moves if one.config not in bad),
            left_out=(*self.left_out, *told),
        )

    @property
    def configs(self) -> tuple[Config, ...]:
        """What it begins with and what it tries, each once."""
        return tuple(dict.fromkeys([*(one.config for one in self.starts), *(one.config for one in self.moves)]))

    def name(self, config: Config) -> str:
        """What a set of settings is called: its own name, or its settings."""
        return self.names.get(config) or " ".join(map(str, sorted(config)))


def space_of(
    request: Request,
    observation: Observation,
    presets: Sequence[str],
    clean: Mapping[str, str] | None = None,
    more: Iterable[Candidate] = (),
    kinds: Iterable[str] = (),
) -> Space:
    """What can be tried here.

    Args:
        request: What is asked of the plan.
        observation: The machine and the environment.
        presets: To begin with.
        clean: The environment without what is inherited, if that is to be tried.
        more: Candidates of the user's.
        kinds: Of program; their candidates come first.

    Raises:
        UnknownPreset, BadSetting: A preset cannot be had.
    """
    clean = observation.environ if clean is None else clean
    planned = [
        (one, make_plan(request, observation, _preset(one.name, one.settings))) for one in (*more, *candidates())
    ]
    serves: dict[Config, Candidate] = {}
    for one, report in planned:
        serves.setdefault(_config(report), one)
    serves.pop(NOTHING, None)
    configs = {n: _config(make_plan(request._replace(preset=n), observation, preset_of(n))) for n in presets}
    starts = _starts(_clean_start(observation.environ, clean), configs)
    moves = [Move(config, one.acts == "program", slow=one.slow) for config, one in serves.items()]
    moves += [Move(one.config) for one in starts if CLEAN in one.config]
    names = {config: one.name for config, one in serves.items()} | {one.config: one.name for one in starts}
    left_out = [LeftOut(one.name, _why(report, one)) for one, report in planned if not _config(report)]
    left_out += [LeftOut(f"preset {name}", "sets nothing here") for name, config in configs.items() if not config]
    space = Space(
        *(request, observation, clean, tuple(starts), tuple(moves), names, tuple(left_out)),
        *(_hazards(request, observation), serves, frozenset(kinds)),
    ).for_kinds(())
    wrong = {config: space.struck(config)[0].message for config in space.configs if space.risk(config) == "out"}
    return space.without(wrong)


def _starts(clean: Iterable[Start], configs: Mapping[str, Config]) -> list[Start]:
    """As it is, clean, and each preset that sets something which none before it does."""
    starts = [Start(AS_IT_IS, NOTHING), *clean]
    for name, config in configs.items():
        if config and config not in {one.config for one in starts}:
            starts.append(Start(name, config))
    return starts


def candidate_of(name: str, settings: Iterable[Setting]) -> Candidate:
    """A candidate of the user's."""
    return Candidate(name, tuple(settings), (), "run", "asked for")


def _fits(candidate: Candidate | None, kinds: frozenset[str]) -> bool:
    """Whether it serves one of the kinds; what the user asked for serves any."""
    return candidate is not None and (not candidate.kinds or bool(kinds & set(candidate.kinds)))


def _is_large(candidate: Candidate | None, kinds: frozenset[str]) -> bool:
    return candidate is not None and bool(kinds & set(candidate.large))


def _preset(name: str, settings: Iterable[Setting]) -> Preset:
    return Preset(name, "", "user", settings=tuple(settings))


def _config(report: Report) -> Config:
    """What the plan sets of its own, in the words of this build."""
    ours = (d for d in report.decisions if d.status in OURS and d.value is not None and _is_ours(d))
    return frozenset(Atom(d.kind, d.name, d.value or "") for d in ours)


def _is_ours(decision: Decision) -> bool:
    return decision.origin != "existing" or decision.status == "merged"


def _why(report: Report, candidate: Candidate) -> str:
    """Why the plan sets nothing of a candidate."""
    names = {setting.name for setting in candidate.settings}
    told = [f"{d.name}: {d.reason}" for d in report.decisions if d.name in names]
    return " ".join(told) or "sets nothing here"


def _clean_start(environ: Mapping[str, str], clean: Mapping[str, str]) -> list[Start]:
    """Where anything is inherited that a search is about."""
    there, left = ({k: v for k, v in one.items() if not k.startswith("JAXGPU_TUNE")} for one in (environ, clean))
    return [Start("clean", frozenset([CLEAN]))] if there != left else []


def _in_force(report: Report) -> dict[Any, Any]:
    held = ("kept", "set", "merged", "translated")
    return {(d.kind, d.name): d.value for d in report.decisions if d.status in held and d.value is not None}


def _hazards(request: Request, observation: Observation) -> tuple[Hazard, ...]:
    facts = facts_of(observation.machine, request)
    return tuple(hazard for hazard in hazards() if all_met(hazard.when, facts))


@lru_cache(maxsize=256)
def _setting(one: Atom) -> Setting:
    value = one.value if one.kind != "jax_config" else _typed(one.value)
    return Setting(one.kind, one.name, value, "tried by tune", "tune")  # type: ignore[arg-type]


def _typed(text: str) -> Any:
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return text
