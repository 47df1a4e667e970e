"""What holds for every test."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from tests import effort
from tools.read_flags.wheels import KEPT

if TYPE_CHECKING:
    import pytest

TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR")
"""What a terminal tells programs: a test that depends on it sets it."""


def pytest_configure(config: pytest.Config) -> None:
    """In the process that was started: one folder keeps the wheels of jaxlib for all that it starts. In each: how much is tried."""
    for name in TERMINAL:
        os.environ.pop(name, None)
    effort.choose(quick="not slow" in config.getoption("-m"))
    if not hasattr(config, "workerinput") and KEPT not in os.environ:
        os.environ[KEPT] = tempfile.mkdtemp(prefix="wheels-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(KEPT), ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks the net runs only where it is named: ``-m links``."""
    if "links" not in config.getoption("-m"):
        asking = [item for item in items if item.get_closest_marker("links")]
        items[:] = [item for item in items if item not in asking]
        config.hook.pytest_deselected(items=asking)
