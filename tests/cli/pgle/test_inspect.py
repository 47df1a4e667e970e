"""``pgle inspect``: what is in a profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, write_sidecar
from tests.child import ROOT
from tests.cli.pgle.examples import PROFILE
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")
PROGRAM = ROOT / "tests" / "pgle" / "files" / "fsdp.hlo.txt"


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A profile with what is written beside it."""
    path = write_profile(PROFILE, tmp_path / "p.pbtxt")
    write_sidecar(path, Sidecar(PROFILE.digest, "jit_step", runs=3))
    return str(path)


def test_entries_times_and_what_it_was_taken_with(profile: str) -> None:
    """As text and as JSON; no more of the longest than were asked for."""
    said = call("pgle", "inspect", profile, "--longest", "1").stdout
    assert said.split("\n")[:6] == [
        f"{profile}: 2 entries",
        "  computing:         1 instructions,          2.5 us (each counted once)",
        "  communicating:     1 instructions,         70.0 us",
        "          70.0 us  all-gather-start",
        f"digest: {PROFILE.digest}",
        "program: jit_step",
    ]
    assert "fusion.1" not in said and "runs: 3" in said
    told = json.loads(call("pgle", "inspect", profile, "--json").stdout)
    summary = told["profiles"][""]["summary"]
    assert (summary["communicating"], summary["communicating_us"], summary["computing_us"]) == (1, 70.0, 2.5)
    assert told["taken_with"]["program"] == "jit_step"


def test_what_a_program_will_miss_is_named(profile: str) -> None:
    """One collective of the profile is not one of the program's."""
    done = call("pgle", "inspect", profile, "--program", str(PROGRAM))
    assert "missing all-gather" in done.stdout
    told = json.loads(call("pgle", "inspect", profile, "--program", str(PROGRAM), "--json").stdout)
    assert told["profiles"][""]["match"]["missing"] and [one["code"] for one in told["findings"]]
