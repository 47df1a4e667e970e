"""What holds for every test."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.child import COMPILED
from tools.read_flags.wheels import KEPT

TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")
"""What a terminal tells programs: a test that depends on it sets it."""


def pytest_configure(config: pytest.Config) -> None:
    """In the process that was started: folders for all that it starts, of jaxlib's wheels and of what was compiled. In each: how many examples a law is tried on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell does that to what it starts in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as does nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in (
        *TERMINAL,
        "PYTHONDONTWRITEBYTECODE",
    ):  # else hundreds of processes would compile the package, each anew
        os.environ.pop(name, None)
    if config.getoption("dist", "no") == "load":
        config.option.dist = "worksteal"  # whole modules stay on a worker, until another has nothing left
    settings.register_profile(
        "ours",
        max_examples=50,
        deadline=None,  # how long an example takes depends on what else runs
        derandomize=config.getoption("--hypothesis-seed") is None,  # a commit is green or it is not
    )
    settings.load_profile("ours")
    for name in (KEPT, COMPILED):
        if not hasattr(config, "workerinput") and name not in os.environ:
            os.environ[name] = tempfile.mkdtemp(prefix="tests-")
            config.add_cleanup(lambda name=name: shutil.rmtree(os.environ.pop(name), ignore_errors=True))


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto`` is one more than there are cores, since many tests wait for a program to go on."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long is begun first, by each worker. What asks the net runs only where it is named: ``-m links``."""
    if "links" not in config.getoption("-m"):
        asking = [item for item in items if item.get_closest_marker("links")]
        items[:] = [item for item in items if item not in asking]
        config.hook.pytest_deselected(items=asking)
    items[:] = dealt(items, int(getattr(config, "workerinput", {}).get("workercount", 1)))


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """In equal parts, one for each worker; each begins with its share of the slow tests, those of a module together.

    A worker that has done its part takes over the end of another's: quick tests are left to the end, so that all end together.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]
    order: list[pytest.Item] = []
    for worker, share in enumerate(shares(slow, workers)):
        room = max((worker + 1) * len(items) // workers - len(order) - len(share), 0)
        order += share + quick[:room]
        quick = quick[room:]
    return order


def shares(slow: list[pytest.Item], workers: int) -> list[list[pytest.Item]]:
    """About as many for each: a module, from that which has most on, goes to the one that has fewest. They share what they compile."""
    modules: dict[Path, list[pytest.Item]] = {}
    for item in slow:
        modules.setdefault(item.path, []).append(item)
    found: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for module in sorted(modules.values(), key=len, reverse=True):
        min(found, key=len).extend(module)
    return found
