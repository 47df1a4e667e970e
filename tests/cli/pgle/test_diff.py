"""``pgle diff``: two profiles against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.profile_files import write_profile
from tests.cli.pgle.examples import PROFILE
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_what_only_one_has_and_what_takes_longer(tmp_path: Path) -> None:
    """Whichever form each is of."""
    before = str(write_profile(PROFILE, tmp_path / "before.pb"))
    after = CostProfile((Cost("all-gather-start", 140.0), Cost("fusion.2", 1.0)))
    other = str(write_profile(after, tmp_path / "after.pbtxt"))
    lines = call("pgle", "diff", before, other).stdout.splitlines()
    assert lines[:5] == [f"only in {before}: 1", "  fusion.1", f"only in {other}: 1", "  fusion.2", "changed: 1"]
    assert lines[5].split() == ["70.0", "us", "->", "140.0", "us", "2.00", "all-gather-start"]
    told = json.loads(call("pgle", "diff", before, other, "--json").stdout)
    assert told["changes"] == [{"name": "all-gather-start", "before": 70.0, "after": 140.0}]


def test_equal_profiles_are_told_as_equal(tmp_path: Path) -> None:
    one, other = (str(write_profile(PROFILE, tmp_path / name)) for name in ("one.pb", "other.pbtxt"))
    done = call("pgle", "diff", one, other)
    assert (done.stdout, done.exit_code) == ("The same costs.\n", 0)
