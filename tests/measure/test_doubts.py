"""What makes a comparison doubtful."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.host.marker import MARKER
from jaxgpu_tune.measure import doubts
from jaxgpu_tune.measure.runs import run_watched
from jaxgpu_tune.measure.watched import Compilation, Process
from tests.child import clean_environ


def test_what_a_run_writes_outside_its_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older, hidden, Python's own, or the run's own is not."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "runs"
    for name in ("runs/a", ".git/b", "__pycache__/c", "sub/old", "sub/new", "top"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (99, 99 if name == "sub/old" else 100))
    (finding,) = doubts.written_outside(100.0, own)
    assert (finding.code, finding.severity) == ("program-writes-outside", "warning")
    assert "wrote 2 files outside its run's own folder: top, sub/new." in finding.message
    assert doubts.written_outside(101.0, own) == []
    (finding,) = doubts.written_outside(99.0, Path("runs"))
    assert "wrote 3 files" in finding.message
    (tmp_path / "gone").symlink_to("nowhere")
    (finding,) = doubts.written_outside(100.0, own)
    assert "wrote 2 files" in finding.message


def test_what_is_written_at_once_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's time is that of the kernel's last tick, some milliseconds ago."""
    monkeypatch.chdir(tmp_path)
    for number in range(9):
        begin = doubts.moment(tmp_path / "runs")
        (tmp_path / f"{number}").touch()
        (finding,) = doubts.written_outside(begin, tmp_path / "runs")
        assert str(number) in finding.message.split(": ")[1]
        assert list((tmp_path / "runs").iterdir()) == []


def test_a_file_that_shows_our_own_output_is_not_the_program_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in `jaxgpu-tune compare ... > out.txt`."""
    monkeypatch.chdir(tmp_path)
    with capfd.disabled(), (tmp_path / "out.txt").open("w") as file:
        before = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            own = doubts.written_outside(0.0, tmp_path / "runs")
        finally:
            os.dup2(before, 1)
            os.close(before)
    assert own == []
    assert len(doubts.written_outside(0.0, tmp_path / "runs")) == 1


def test_only_so_many_files_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(9):
        (tmp_path / f"d{number}").mkdir()
        for name in "abc":
            (tmp_path / f"d{number}" / name).touch()
    (all_of_them,) = doubts.written_outside(0.0, tmp_path / "own")
    assert "wrote 27 files" in all_of_them.message and all_of_them.message.count("/") == 3, "three are named"
    (some,) = doubts.written_outside(0.0, tmp_path / "own", most=6)
    assert "wrote 9 files" in some.message


def test_the_other_doubts_are_told_with_their_numbers() -> None:
    whole = doubts.whole_run
    from tests.measure.test_readings import outcome

    assert "compilation: no step could be timed." in whole(outcome()).message
    assert "compilation: it is no JAX" in whole(outcome(silent="it is no JAX")).message
    unsure = doubts.unsure(2, 7)
    assert (unsure.code, unsure.severity) == ("unsteady-steps", "note")
    assert unsure.message.startswith("In 2 of 7 runs") and unsure.message.endswith("uncertain by over 2%.")
    refused = doubts.setting_refused(["a", "b"])
    assert refused.message == "XLA refused a setting of a, b, which ends the program." and "check" in refused.hint
    losses = doubts.other_losses("mine", 0.125, 0.001)
    assert (losses.code, losses.severity) == ("losses-differ", "warning")
    assert "by up to 12.5%; the reference's own runs by 0.1%" in losses.message


COMPILED = (Compilation("f", 1.0, 0.1, cached=False),)
BEFORE = {"XLA_FLAGS": "--xla_before=1", "JAX_ENABLE_PGLE": "1"}
GIVEN = {
    **BEFORE,
    "XLA_FLAGS": "--xla_before=1 --xla_a=1 --xla_b=2 --xla_d",
    "NCCL_PROTO": "LL",
    "OMP_NUM_THREADS": "1",
    MARKER: "{}",
    "CUDA_VISIBLE_DEVICES": "0,1",
}


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (GIVEN, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_c=3 --xla_b='2' --xla_a=1 --xla_d=true"}, ""),
        ({**GIVEN, "XLA_FLAGS": "flags.txt"}, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_a=1 --xla_b=2 --xla_d --xla_b=+3,-4"}, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_a=1 --xla_b=2 --xla_d --xla_before=2"}, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_b=2"}, "the program sets XLA_FLAGS itself, which drops --xla_a=1, --xla_d"),
        (
            {**GIVEN, "XLA_FLAGS": "--xla_a=1 --xla_b=2 --xla_d --xla_b=3"},
            "the program sets XLA_FLAGS itself, which drops --xla_b=2",
        ),
        (
            {"XLA_FLAGS": "", "JAX_ENABLE_PGLE": "0"},
            "the program sets XLA_FLAGS, NCCL_PROTO itself, which drops --xla_a=1, --xla_b=2, --xla_d, NCCL_PROTO=LL",
        ),
    ],
)
def test_what_the_program_sets_itself_is_lost_of_a_variant(now: dict[str, str], told: str) -> None:
    """Flag by flag, and by what each means; what a program adds does no harm, and what is no variable of JAX or was set before is not looked at."""
    ran = Process(1, "", settings=now, compilations=COMPILED)
    assert doubts.overwritten(GIVEN, BEFORE, [Process(2, ""), ran]) == told


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "lost"), [("{}; jax.devices()", True), ("jax.devices(); {}", False)])
def test_what_is_set_once_jax_has_started_drops_nothing(moment: str, lost: bool, tmp_path: Path) -> None:
    """Nobody reads it any more, even before the first compilation."""
    sets = moment.format("os.environ['XLA_FLAGS'] = ''")
    code = f"import jax, os; {sets}; f = jax.jit(lambda x: x + 1); [f(i) for i in range(20)]"
    given = clean_environ(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_cpu_enable_fast_math=true")
    found = run_watched((sys.executable, "-c", code), folder=tmp_path, environ=given)
    assert bool(doubts.overwritten(given, {}, found.processes)) is lost


def test_settings_that_only_some_processes_lose_are_told_as_such() -> None:
    keeps, drops = (
        Process(number, "", settings={"NCCL_PROTO": text}, compilations=COMPILED)
        for number, text in enumerate(("LL", ""))
    )
    told = "the program sets NCCL_PROTO itself in 1 of 2 processes, which drops NCCL_PROTO=LL"
    assert doubts.overwritten({"NCCL_PROTO": "LL"}, {}, [keeps, drops]) == told
