"""What makes a comparison doubtful."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jaxgpu_tune.measure import doubts
from jaxgpu_tune.measure.watched import Compilation, Process


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
GIVEN = {"XLA_FLAGS": "--xla_a=1 --xla_b=2", "NCCL_PROTO": "LL", "JAX_ENABLE_PGLE": "1", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (GIVEN, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_c=3 --xla_b=2 --xla_a=1"}, ""),
        ({**GIVEN, "XLA_FLAGS": "--xla_b=2"}, "the program sets XLA_FLAGS itself, which drops --xla_a=1"),
        (
            {**GIVEN, "XLA_FLAGS": "--xla_a=1 --xla_b=2 --xla_b=3"},
            "the program sets XLA_FLAGS itself, which drops --xla_b=2",
        ),
        (
            {"XLA_FLAGS": "", "JAX_ENABLE_PGLE": "0"},
            "the program sets XLA_FLAGS, NCCL_PROTO itself, which drops --xla_a=1, --xla_b=2, NCCL_PROTO=LL",
        ),
    ],
)
def test_what_the_program_sets_itself_is_lost_of_a_variant(now: dict[str, str], told: str) -> None:
    """Flag by flag; what a program adds to what is set does no harm, and what is no variable of JAX is not looked at."""
    ran = Process(1, "", settings=now, compilations=COMPILED)
    assert (
        doubts.overwritten(GIVEN, ["XLA_FLAGS", "NCCL_PROTO", "JAX_NONE", "OMP_NUM_THREADS"], [Process(2, ""), ran])
        == told
    )
