"""The job that this process has joined by ``jax.distributed.initialize()``, told from sys.modules: nothing is imported."""

from __future__ import annotations

import sys

from ..values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Joined", "Store", "joined"]

MODULE = "jax._src.distributed"
TIMED_OUT = "DEADLINE_EXCEEDED"


class Joined(Value):
    """This process's ``rank`` of ``count``; ``client`` is jaxlib's, connected to the job's coordinator."""

    rank: int
    count: int
    client: Any


def joined() -> Joined | None:
    """The job; None before ``initialize()`` and after ``shutdown()`` (which jax tells in public only from 0.5.1 on)."""
    state: Any = getattr(sys.modules.get(MODULE), "global_state", None)
    if state is None or state.client is None:
        return None
    return Joined(state.process_id, state.num_processes, state.client)


class Store:
    """The key-value store of the coordinator, through the calls that every jaxlib from 0.4.18 on has."""

    def __init__(self, job: Joined, prefix: str) -> None:
        self._client, self._prefix = job.client, prefix

    def put(self, key: str, text: str) -> None:
        """Write once. Raises jaxlib's error where the key is there already."""
        self._client.key_value_set(f"{self._prefix}/{key}", text)

    def get(self, key: str, seconds: float) -> str | None:
        """Wait for a key; None after ``seconds``. Raises jaxlib's error where the coordinator cannot be reached."""
        try:
            text: str = self._client.blocking_key_value_get(f"{self._prefix}/{key}", max(1, int(seconds * 1000)))
        except Exception as error:
            if TIMED_OUT in str(error):
                return None
            raise
        return text

    def numbers(self, folder: str) -> set[int]:
        """The keys below a folder that are there just now, which are numbers."""
        entries = self._client.key_value_dir_get(f"{self._prefix}/{folder}")
        return {int(key.rpartition("/")[2]) for key, _ in entries}
