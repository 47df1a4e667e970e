"""The store of a job's coordinator, by a client that answers as jaxlib's does; a real one is asked by check_processes()."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.host.distributed import Store
from jaxgpu_tune.host.phase import Joined


class Client:
    """Remembers what was put, and for how long it was waited."""

    def __init__(self, error: str = "DEADLINE_EXCEEDED: Timed out") -> None:
        self.kept: dict[str, str] = {}
        self.waits: list[Any] = []
        self.error = error

    def key_value_set(self, key: str, text: str) -> None:
        self.kept[key] = text

    def blocking_key_value_get(self, key: str, milliseconds: int) -> str:
        self.waits.append(milliseconds)
        if key not in self.kept:
            raise RuntimeError(self.error)
        return self.kept[key]

    def key_value_dir_get(self, folder: str) -> list[tuple[str, str]]:
        return [(key, text) for key, text in self.kept.items() if key.startswith(folder)]


def test_what_is_put_below_its_prefix_is_got_and_listed() -> None:
    client = Client()
    store = Store(Joined(0, 2, client), "calls/3")
    for key in ("here/2", "here/10", "there/4"):
        store.put(key, f"text of {key}")
    assert list(client.kept) == ["calls/3/here/2", "calls/3/here/10", "calls/3/there/4"]
    assert store.get("here/10", 1.0) == "text of here/10"
    assert store.numbers("here") == {2, 10} and store.numbers("nowhere") == set()


def test_what_does_not_come_in_time_is_none_and_what_breaks_is_raised() -> None:
    """Time is in seconds here and in whole milliseconds there, at least one."""
    client = Client()
    store = Store(Joined(0, 2, client), "calls")
    assert [store.get("gone", seconds) for seconds in (2.5, 60, 0.0, -1.0)] == [None] * 4
    assert client.waits == [2500, 60000, 1, 1] and {type(wait) for wait in client.waits} == {int}
    with pytest.raises(RuntimeError, match="UNAVAILABLE"):
        Store(Joined(0, 2, Client("UNAVAILABLE")), "calls").get("gone", 1.0)
