"""``pgle convert``: what XLA reads, from what was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.pgle.profile_files import read_profile, write_profile
from jaxgpu_tune.pgle.sidecar import read_sidecar
from tests.cli.pgle.examples import PROFILE, TRACE
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_a_real_trace_is_converted(tmp_path: Path) -> None:
    """With what it is of written beside it; a higher percentile makes no cost lower."""
    middle, most = tmp_path / "middle.pbtxt", tmp_path / "most.pb"
    done = call("pgle", "convert", str(TRACE), "--to", str(middle))
    assert (
        done.exit_code == 0
        and f"instructions of jit_step, runs: 1 -> {middle}\n" in done.stdout
        and "pgle-command-buffers" in done.stderr
    )
    assert call("pgle", "convert", str(TRACE), "--to", str(most), "--percentile", "100").exit_code == 0
    sidecar = read_sidecar(most)
    assert sidecar is not None and (sidecar.program, sidecar.percentile, sidecar.runs) == ("jit_step", 100, 1)
    before, after = ({one.full_name: one.us for one in read_profile(file).costs} for file in (middle, most))
    assert before.keys() == after.keys() and before != after
    assert all(after[name] >= us for name, us in before.items())


def test_without_a_target_only_what_is_found_is_told(tmp_path: Path) -> None:
    """Nothing is written."""
    file = write_profile(PROFILE, tmp_path / "p.pb")
    there = sorted(tmp_path.iterdir())
    done = call("pgle", "convert", str(file), "--json")
    told = json.loads(done.stdout)
    assert (told["written"], told["profile"], told["runs"]) == (None, 2, 1)
    assert sorted(tmp_path.iterdir()) == there
    assert call("pgle", "convert", str(file)).stdout == "2 instructions of a program, runs: 1\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("x.nsys-rep",), "nsys export --type sqlite"),
        (("--to", "m.pb"), "SOURCE"),
        (("x.pb", "--to", "absent/m.pb"), "--to 'absent/m.pb': there is no such folder."),
    ],
)
def test_what_cannot_be_converted_is_refused(words: tuple[str, ...], told: str) -> None:
    done = call("pgle", "convert", *words)
    assert done.exit_code in (1, 2) and told in " ".join(done.stderr.split())
