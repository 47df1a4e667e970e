"""How many examples a law is tried on: all where all tests run, half of them in the quick ones (``-m "not slow"``)."""

from __future__ import annotations

from hypothesis import settings

ALL, QUICK = 100, 50
"""Of a law that says no number."""


def choose(*, quick: bool) -> None:
    """For all tests that are collected from now on; how long an example takes depends on what else the machine does."""
    settings.register_profile("ours", max_examples=QUICK if quick else ALL, deadline=None)
    settings.load_profile("ours")


def examples(count: int) -> int:
    """This many where all tests run; in proportion in the quick ones."""
    return count * settings.default.max_examples // ALL
