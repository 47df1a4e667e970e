"""``pgle check``: a verdict, and what XLA said."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.cli.pgle import check
from jaxgpu_tune.pgle.profile_files import write_profile
from tests.cli.pgle.examples import LOOP, PROFILE, pgle
from tests.cli.typed import call

HEAD = "1128 21:46:04.400022   13661"


@pytest.mark.slow
def test_check_ends_in_a_verdict_and_what_xla_said(tmp_path: Path) -> None:
    """One pair shows nothing, which is said; on the CPU XLA uses no profile, which is said too."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    (tmp_path / "loop.py").write_text(LOOP.format(steps=3000))
    words = [
        "check",
        str(path),
        "--pairs",
        "1",
        "--seconds",
        "0.3",
        "--json",
        "--",
        sys.executable,
        str(tmp_path / "loop.py"),
    ]
    done = pgle(*words, JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["name"] for one in told["comparison"]["variants"]] == ["auto", "auto + PGLE"]
    assert [one["code"] for one in told["findings"]] == ["pgle-not-used"]


@pytest.mark.usefixtures("this_jaxlib")
def test_a_profile_that_is_not_there_is_refused() -> None:
    """Before anything runs."""
    done = call("pgle", "check", "absent.pb", "--", "true")
    assert done.exit_code in (1, 2) and "absent.pb: No such file" in " ".join(done.stderr.split())


@pytest.mark.usefixtures("this_jaxlib")
def test_a_command_that_another_tool_profiles_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoPGLE would see nothing. A profile that is there needs no tracer: that it cannot be read is told instead."""
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "7")
    done = call("pgle", "check", "--pairs", "1", "--", "true")
    assert done.exit_code == 1 and "NSYS_PROFILING_SESSION_ID tells of a tool" in " ".join(done.stderr.split())
    assert "NSYS" not in call("pgle", "check", "absent.pb", "--", "true").stderr


@pytest.mark.usefixtures("this_jaxlib")
def test_what_xla_said_is_told_with_the_verdict(tmp_path: Path) -> None:
    """And exit code 1 where nothing could be measured."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    said = f"W{HEAD} profile_guided_latency_estimator.cc:192] Found 9 instructions from the profile."
    says = ("--pairs", "1", "--", "sh", "-c", f"echo '{said}' >&2")
    done = call("pgle", "check", str(path), *says)
    assert done.exit_code == 0 and "auto + PGLE against auto" in done.stdout and "note (pgle-used)" in done.stdout
    failed = call("pgle", "check", str(path), "--json", "--pairs", "1", "--", "false")
    assert failed.exit_code == 1 and json.loads(failed.stdout)["findings"][0]["code"] == "pgle-not-used"


def test_the_last_run_that_spoke_of_a_profile_counts(tmp_path: Path) -> None:
    """Runs without one say nothing of it, and none at all is told as not used."""
    said = f"W{HEAD} profile_guided_latency_estimator.cc:192] Found {{}} instructions from the profile.\n"
    outputs = [said.format(3), said.format(9), "step 1\n"]
    for number, text in enumerate(outputs):
        (tmp_path / str(number)).mkdir()
        file = tmp_path / str(number) / "output.txt"
        file.write_text(text)
        os.utime(file, (number, number))
    assert ["9 costs" in one.message for one in check._engaged(tmp_path, automatic=False)] == [True]
    for number in (0, 1):
        (tmp_path / str(number) / "output.txt").unlink()
    assert [one.code for one in check._engaged(tmp_path, automatic=False)] == ["pgle-not-used"]
