"""The key-value store of the coordinator of the job that this process has joined."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .phase import Joined


__all__ = ["Store"]

TIMED_OUT = "DEADLINE_EXCEEDED"


class Store:
    """The store, through the calls that every jaxlib from 0.4.18 on has."""

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
