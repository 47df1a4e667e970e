"""How much of what there is to gain the search of `tune` finds, in worlds whose truth is known.

    python -m benchmarks.search_worlds [--worlds 200]

A world has 16 settings: 15 % of them help by 1 to 6 %, 15 % cost 0.5 to 5 %, 6 % cost 10 to 50 %, 4 % crash; three pairs interact
by 1 to 5 % either way. A run has noise, in one of twenty 3 % more, and the machine drifts by 0.1 % a run. Everything is paid from the
runs: the start, the search, leaving out, and the six pairs of the check; without the check's word the answer is "nothing". "plain" is
the search that keeps a change when it was faster in one run, round by round, for comparison. Results: benchmarks/results/search-worlds.json.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from jaxgpu_tune.measure.search.search import Search
from jaxgpu_tune.measure.search.trials import NOTHING, Atom, Config, Move, Start, Step, Trial, toggled
from jaxgpu_tune.measure.statistics import PAIRS, verdict

RESULT = Path(__file__).resolve().parent / "results" / "search-worlds.json"
ATOMS = tuple(Atom("xla_flag", f"setting_{number:02}", "1") for number in range(16))
MOVES = tuple(Move(frozenset([one])) for one in ATOMS)
DRIFT, OUTLIER, OUTLIERS = 0.001, 0.03, 0.05


class World:
    """One program on one machine: the truth, and runs of it. ``gains`` False: nothing helps.

    ``recipe``: a preset is there that knows a half; ``large``: one setting more gains 25 %; ``together``: five settings, which are a
    preset, gain 12 % together, and 6 % if one of them is left out.
    """

    def __init__(
        self,
        seed: int,
        noise: float,
        *,
        gains: bool = True,
        recipe: bool = False,
        large: bool = False,
        together: bool = False,
    ) -> None:
        chance = random.Random(seed)  # noqa: S311 - a world is the same each time
        self._chance = random.Random(f"runs {seed}")  # noqa: S311
        self.noise, self.runs = noise, 0
        self.effects = {one: _effect(chance, gains) for one in ATOMS}
        self.crashing = frozenset(one for one in ATOMS if chance.random() < 0.04)
        if large:
            one = chance.choice([one for one in ATOMS if one not in self.crashing])
            self.effects[one] = math.log(0.75)
        signs = (-1, 1) if gains else (1,)
        self.pairs = {
            frozenset(chance.sample(ATOMS, 2)): chance.choice(signs) * chance.uniform(0.01, 0.05) for _ in range(3)
        }
        helping = [one for one in ATOMS if one not in self.crashing and self.effects[one] < 0]
        self.recipe = frozenset(helping[: -(-len(helping) // 2)]) if recipe else NOTHING
        self.together: Config = NOTHING
        if together:
            sound = [one for one in ATOMS if one not in self.crashing and self.effects[one] == 0]
            self.recipe = self.together = frozenset(chance.sample(sound, 5))
            self.pairs = {pair: effect for pair, effect in self.pairs.items() if not pair & self.together}

    @property
    def starts(self) -> list[Start]:
        """No settings, and the recipe if there is one."""
        return [Start("none", NOTHING), *([Start("recipe", self.recipe)] if self.recipe else [])]

    def truth(self, config: Config) -> float:
        """The logarithm of the time, less that without settings."""
        alone = sum(self.effects[one] for one in config)
        share = len(config & self.together) / 5
        return alone + sum(effect for pair, effect in self.pairs.items() if pair <= config) - 0.12 * share**3

    def optimum(self) -> float:
        """The least that any set of settings takes."""
        interacting = frozenset(one for pair in self.pairs for one in pair)
        worth = [one for one in ATOMS if self.effects[one] < 0 or (one in interacting and self.effects[one] < 0.1)]
        worth = [one for one in worth if one not in self.crashing and one not in self.together]
        sets = (
            self.together | {one for place, one in enumerate(worth) if bits >> place & 1}
            for bits in range(1 << len(worth))
        )
        return min(map(self.truth, sets))

    def run(self, step: Step) -> Trial:
        """What one process would tell."""
        self.runs += 1
        noise = self._chance.gauss(0, self.noise) + (OUTLIER if self._chance.random() < OUTLIERS else 0)
        if step.config & self.crashing:
            return Trial(step.config, step.purpose, None, "crash")
        return Trial(step.config, step.purpose, 100 * math.exp(self.truth(step.config) + noise + DRIFT * self.runs))


def _effect(chance: random.Random, gains: bool) -> float:
    kind = chance.random()
    if kind < 0.15:
        return -chance.uniform(0.01, 0.06) if gains else 0.0
    if kind < 0.30:
        return chance.uniform(0.005, 0.05)
    return chance.uniform(0.1, 0.5) if kind < 0.36 else 0.0


class Player(Protocol):
    """What plays in a world."""

    def ask(self, left: float) -> Step | None:
        """The next run."""

    def tell(self, trial: Trial) -> None:
        """What came of it."""

    @property
    def answer(self) -> Config:
        """What it claims, NOTHING where it claims nothing."""


class Ours(Search):
    """The search of `tune`."""

    @property
    def answer(self) -> Config:
        """The challenger that won."""
        return next((contest.challenger for contest in self.contests if contest.won), NOTHING)


class Plain:
    """Keep a change if it was faster once, round by round; leave each setting out once; six pairs at the end."""

    def __init__(self, starts: Iterable[Start], moves: Iterable[Move]) -> None:
        self.answer: Config = NOTHING
        self._best, self._ms = NOTHING, math.inf
        self._left, self._told = 0.0, Trial(NOTHING, "start", None)
        self._steps = self._play([one.config for one in starts], list(moves))

    def ask(self, left: float) -> Step | None:
        """The next run."""
        self._left = left
        return next(self._steps, None)

    def tell(self, trial: Trial) -> None:
        """What came of it."""
        self._told = trial

    def _play(self, starts: list[Config], moves: list[Move]) -> Iterator[Step]:
        for config in starts:
            yield from self._try(config, "start")
        changed = True
        while changed:
            changed = False
            for move in moves:
                if self._left < 2 * PAIRS + 2 + len(self._best):
                    break
                before = self._best
                yield from self._try(toggled(self._best, move), "toggle")
                changed |= self._best != before
        for one in sorted(self._best):
            yield from self._try(self._best - {one}, "prune")
        yield from self._check()

    def _try(self, config: Config, purpose: Any) -> Iterator[Step]:
        yield Step(config, purpose)
        ms = self._told.ms
        if ms is not None and ms < self._ms:
            self._best, self._ms = config, ms

    def _check(self) -> Iterator[Step]:
        ratios, best = [], self._best
        for number in range(PAIRS if best else 0):
            times = {}
            for config in (NOTHING, best) if number % 2 == 0 else (best, NOTHING):
                yield Step(config, "check")
                times[config] = self._told.ms or math.inf
            ratios.append(times[NOTHING] / times[best])
        if ratios and verdict(ratios).word == "faster":
            self.answer = best


class Game(NamedTuple):
    """What came of one world: true gains as shares of the time."""

    gain: float
    optimum: float
    claimed: bool
    runs: int
    settings: int


def play(world: World, runs: int, plain: bool = False) -> Game:
    """One search, to its end."""
    player: Player = Plain(world.starts, MOVES) if plain else Ours(world.starts, MOVES)
    while world.runs < runs and (step := player.ask(runs - world.runs)) is not None:
        player.tell(world.run(step))
    answer = player.answer
    gain, optimum = (1 - math.exp(one) for one in (world.truth(answer), world.optimum()))
    return Game(gain, optimum, answer != NOTHING, world.runs, len(answer))


def summary(games: list[Game]) -> dict[str, Any]:
    """Of many worlds."""
    mean = lambda name: sum(getattr(game, name) for game in games) / len(games)  # noqa: E731
    optimum = mean("optimum")
    return {
        "worlds": len(games),
        "gain": round(mean("gain"), 5),
        "optimum": round(optimum, 5),
        "share": round(mean("gain") / optimum, 4) if optimum else None,
        "claimed": sum(game.claimed for game in games),
        "slower_than_default": sum(game.gain < 0 for game in games),
        "runs": round(mean("runs"), 2),
        "settings": round(mean("settings"), 2),
    }


SCENES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("noise 1 %", {"noise": 0.01}),
    ("noise 0.3 %", {"noise": 0.003}),
    ("noise 1 %, a recipe", {"noise": 0.01, "recipe": True}),
    ("noise 1 %, nothing helps", {"noise": 0.01, "gains": False}),
    ("noise 1 %, one setting gains 25 %", {"noise": 0.01, "large": True}),
    ("noise 1 %, five settings that help only together", {"noise": 0.01, "together": True}),
    ("noise 0.3 %, five settings that help only together", {"noise": 0.003, "together": True}),
    ("noise 3 %", {"noise": 0.03}),
)


def main() -> int:
    """Play every scene and keep the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--runs", type=int, nargs="+", default=[40])
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    found = []
    for name, scene in SCENES:
        for runs in given.runs:
            for plain in (False, True):
                begun = time.process_time()
                games = [play(World(seed, **scene), runs, plain) for seed in range(given.worlds)]
                spent = round(time.process_time() - begun, 1)
                row = {"scene": name, "search": "plain" if plain else "tune", "budget": runs, **summary(games)}
                found.append({**row, "cpu_seconds": spent})
                print(json.dumps(found[-1]), flush=True)
    given.out.write_text(json.dumps({"seeds": f"0 to {given.worlds - 1}", "results": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
