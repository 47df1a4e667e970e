"""What the processes of one mesh tell each other while they set up, through JAX's coordination service."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import jax
from jax.sharding import Mesh

__all__ = ["Exchange", "Objection", "this_host"]

Result = TypeVar("Result")

WAIT_MS = 60_000
_made: Counter[tuple[int, ...]] = Counter()
"""How many exchanges the same processes made before."""


class Objection(Exception):
    """Why the kernels are not used, told alike in every process."""


class Exchange:
    """One round after another in which each process of a mesh says a text and hears all of them.

    The processes of a mesh make as many of these, in the same order, as for any other collective.
    """

    def __init__(self, mesh: Mesh) -> None:
        self._processes = tuple(sorted({device.process_index for device in mesh.devices.flat}))
        self._name = f"{'-'.join(map(str, self._processes))}/{_made[self._processes]}"
        self._round = itertools.count()
        _made[self._processes] += 1

    def heard(self, text: str) -> dict[int, str]:
        """What each process said in this round, by process. Raises what the service raises where one does not come within a minute."""
        me = jax.process_index()
        if self._processes == (me,):
            return {me: text}
        client = _client()
        place = f"jaxgpu_tune/comms/{self._name}/{next(self._round)}"
        client.key_value_set(f"{place}/{me}", text or " ")
        return {one: client.blocking_key_value_get(f"{place}/{one}", WAIT_MS).strip() for one in self._processes}

    def agree(self, text: str) -> None:
        """Raises ValueError in every process unless all say the same."""
        said = self.heard(text)
        if len(set(said.values())) > 1:
            told = "; ".join(f"process {process}: {theirs}" for process, theirs in said.items())
            raise ValueError(f"the processes of the mesh ask for different things: {told}")

    def all_do(self, work: Callable[..., Result], *given: Any) -> Result:
        """What ``work`` returns, if it ends well in every process; else Objection in every process, with the first one's error."""
        done: list[Result] = []
        failed = ""
        try:
            done.append(work(*given))
        except Exception as error:  # noqa: BLE001 - whatever fails here, lax.psum works
            failed = f"{work.__name__} failed: {str(error) or type(error).__name__}"
        if objection := self.objection(failed):
            raise Objection(objection)
        return done[0]

    def objection(self, mine: str) -> str:
        """The first reason that a process gives against going on, which is then every process's; empty if none does."""
        given = {process: reason for process, reason in self.heard(mine).items() if reason}
        if not given:
            return ""
        process, reason = next(iter(given.items()))
        return mine or (f"process {process}: {reason}")


def this_host() -> str:
    """What tells the running host from every other."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _client() -> Any:
    from jax._src import distributed

    return distributed.global_state.client
