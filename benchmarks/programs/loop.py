"""The loop that every program here runs as a script: steps, a line with the loss now and then, and a check of its numbers."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from types import ModuleType
from typing import Any, NamedTuple

import jax

Tree = Any


class Built(NamedTuple):
    """``step(state, batch) -> (state, loss)``, compiled at its first call; it may take the state's memory over."""

    step: Callable[[Tree, Tree], tuple[Tree, jax.Array]]
    state: Tree
    batch: Tree


class Check(NamedTuple):
    """A number that tells whether the program does what it is for: right from ``least`` to ``most`` after enough steps."""

    what: str
    value: float
    least: float = float("-inf")
    most: float = float("inf")

    @property
    def right(self) -> bool:
        """Whether the number is as it should be; NaN is not."""
        return self.least <= self.value <= self.most

    def __str__(self) -> str:
        bounds = [f"at least {self.least:g}"] if self.least > float("-inf") else []
        bounds += [f"at most {self.most:g}"] if self.most < float("inf") else []
        return f"{self.what} {self.value:.4g} (learned: {' and '.join(bounds)}): {'yes' if self.right else 'not yet'}"


def main(program: ModuleType) -> None:
    """Train as the command line asks, print losses, the median time of a step, and the check."""
    given = _arguments(program)
    size = program.size_of(given.size, jax.device_count())
    step, state, batch = program.build(jax.devices(), size, **_options(program, given))
    print(f"{size}, on {jax.device_count()} x {jax.devices()[0].device_kind}", flush=True)
    times, begun = [], time.perf_counter()
    for number in range(1, given.steps + 1):
        state, loss = step(state, batch)
        if number % given.every == 0 or number == given.steps:
            print(f"step {number} loss {float(loss):.6f}", flush=True)
            now = time.perf_counter()
            times.append(1e3 * (now - begun) / (number % given.every or given.every))
            begun = now
    print(f"median of {len(times[1:] or times)} windows: {median(times[1:] or times):.3f} ms a step")
    print(f"check: {program.check(state)}")


def _arguments(program: ModuleType) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(program.__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=_count, default=200)
    parser.add_argument("--every", type=_count, default=10, help="steps from one printed loss to the next")
    parser.add_argument("--size", choices=["tiny", "full"], help="by default full on a GPU, tiny without")
    for name, allowed in getattr(program, "CHOICES", {}).items():
        parser.add_argument(f"--{name}", choices=allowed, default=allowed[0])
    given = parser.parse_args()
    given.size = given.size or ("full" if jax.default_backend() == "gpu" else "tiny")
    return given


def _options(program: ModuleType, given: argparse.Namespace) -> dict[str, str]:
    return {name: getattr(given, name) for name in getattr(program, "CHOICES", {})}


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)
