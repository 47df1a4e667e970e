"""Variants compared by running real commands in turns: shells that answer at once, so that the protocol itself is seen."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxgpu_tune.measure import compare, runs
from jaxgpu_tune.measure.compare import compare_programs
from jaxgpu_tune.measure.comparison import Comparison, VariantRun
from jaxgpu_tune.measure.doubts import empty_variant
from jaxgpu_tune.measure.protocol import Arm, Listener, Protocol
from jaxgpu_tune.measure.saving import comparison_preset
from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.xla_flags.grammar import scan
from tests.child import clean_environ

METRIC = r"took (\S+)"
SAY = 'echo "took $T"; echo "loss: $L"; exit $E'


class Heard(Listener):
    """Keeps the order of runs; interrupts before a run, as Ctrl-C does."""

    def __init__(self, interrupt_at: int = 99) -> None:
        self.runs: list[tuple[int, str]] = []
        self.left: list[float | None] = []
        self.ended: list[VariantRun] = []
        self.interrupt_at = interrupt_at

    def begins(self, arm: str, number: int, pairs: int, left: float | None) -> None:
        """Counts."""
        if len(self.runs) == self.interrupt_at:
            raise KeyboardInterrupt
        self.runs.append((number, arm))
        self.left.append(left)

    def ends(self, trial: VariantRun) -> None:
        """Keeps."""
        self.ended.append(trial)


def arm(name: str, took: str = "1", script: str = SAY, loss: str = "2.0", code: int = 0) -> Arm:
    """A variant whose program prints what it is told, and ends so."""
    more = {"T": took, "L": loss, "E": str(code)}
    return Arm(
        name, {**os.environ, **more}, ("sh", "-c", script), {"XLA_FLAGS": f"--xla_dump_to={name}", "NCCL_X": took}
    )


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Comparison]:
    """Runs a comparison in an empty working directory."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def compare(*arms: Arm, listener: Listener | None = None, **protocol: object) -> Comparison:
        how = Protocol(**{"metric": METRIC, **protocol})
        return compare_programs(arms, how, folder=tmp_path / "runs", listener=listener)

    return compare


def test_a_faster_variant_is_shown_by_six_pairs_there_and_back(compared: Callable[..., Comparison]) -> None:
    """The reference runs twice at first; then A B, B A, and so on."""
    heard = Heard()
    found = compared(arm("a", "2.0"), arm("b", "1.6"), listener=heard)
    assert heard.runs[0] == (0, "a")
    assert [name for _, name in heard.runs[1:]] == ["a", "b", "b", "a"] * 3
    assert found.verdict == "faster" and found.winner.name == "b" and found.ended == "complete"
    assert found.ratios == (1.25,) * 6 and found.interval == (1.25, 1.25) and found.noise == 1.0
    assert heard.left[0] is None and (heard.left[-1] or 0) <= (heard.left[1] or 0)
    assert "b against a: faster: 1.250 times as fast" in str(found) and "Use b." in str(found)
    assert json.loads(json.dumps(found.to_dict()))["variants"][1]["verdict"]["word"] == "faster"
    assert "<table" in found._repr_html_()


def test_of_what_is_set_as_the_reference_no_difference_is_claimed(compared: Callable[..., Comparison]) -> None:
    """Unless somebody compares a setting with itself to see what is noise: then it is told as it was measured."""
    empty = arm("b", "1.6")._replace(settings={}, findings=(empty_variant("b"),))
    for reference, variant, word in (
        (arm("a", "2.0")._replace(settings={}), empty, "no-difference"),
        (arm("a", "2.0")._replace(settings={}), empty._replace(findings=()), "faster"),
        (arm("a", "2.0"), empty, "faster"),
    ):
        found = compared(reference, variant)
        assert (found.verdict, found.winner.name) == (word, "b" if word == "faster" else "a")
    failed = compared(arm("a")._replace(settings={}), empty._replace(command=("sh", "-c", "exit 3")))
    assert failed.verdict == "failed"


def test_fewer_than_six_pairs_show_nothing(compared: Callable[..., Comparison]) -> None:
    """However large the difference is."""
    found = compared(arm("a", "2.0"), arm("b", "1.0"), pairs=5)
    assert found.ended == "complete" and found.verdict == "no-difference" and found.winner.name == "a"


def test_more_may_be_better(compared: Callable[..., Comparison]) -> None:
    """Of a metric like tokens a second."""
    found = compared(arm("a", "100"), arm("b", "90"), higher_is_better=True)
    assert found.verdict == "slower" and found.winner.name == "a"
    assert found.ratios[0] == pytest.approx(0.9)


def test_pairs_that_disagree_end_it(compared: Callable[..., Comparison]) -> None:
    """A variant that equals the reference is run once: no number of pairs could show a difference."""
    found = compared(arm("a"), arm("b"), arm("c", "0.5"))
    same, faster = found.variants[1:]
    assert same.verdict.word == "no-difference" and len(same.trials) == 1
    assert faster.verdict.word == "faster" and found.winner is faster
    assert compared(arm("a"), arm("b")).ended == "futile"


def test_a_variant_that_fails_is_a_result_and_runs_once(compared: Callable[..., Comparison]) -> None:
    """The others go on."""
    found = compared(arm("a"), arm("dies", code=3), arm("b", "0.5"))
    dies = found.variants[1]
    assert dies.verdict.word == "failed" and dies.status == "died" and "exit code 3" in dies.cause
    assert len(dies.trials) == 1 and found.winner.name == "b"
    assert "failed (died)" in str(found)


def test_a_hang_is_told_from_what_the_others_took(compared: Callable[..., Comparison]) -> None:
    """Or by the given limit; its shell goes too."""
    begin = time.monotonic()
    found = compared(arm("a"), arm("hangs", script="sleep 300 & sleep 300"), timeout=1)
    assert found.variants[1].status == "hang" and found.verdict == "failed"
    assert time.monotonic() - begin < 250


def test_a_reference_that_fails_ends_it(compared: Callable[..., Comparison]) -> None:
    """There is nothing to compare with, and it says why."""
    found = compared(arm("a", script="echo CUDA_ERROR_OUT_OF_MEMORY; exit 1"), arm("b"))
    assert found.ended == "failed" and found.verdict == "failed"
    assert found.reference.status == "out-of-memory" and not found.variants[1].trials
    assert "Its last words:\n  CUDA_ERROR_OUT_OF_MEMORY" in str(found)


def test_ctrl_c_shows_what_is_there(compared: Callable[..., Comparison]) -> None:
    """Pairs that were finished count; a difference needs all six."""
    found = compared(arm("a", "2"), arm("b", "1"), listener=Heard(interrupt_at=5))
    assert found.ended == "interrupted" and found.ratios == (2.0, 2.0)
    assert found.verdict == "no-difference" and "interrupted" in str(found)


@pytest.mark.parametrize(("budget", "rounds"), [(150.0, 0), (350.0, 1), (550.0, 2)])
def test_a_budget_ends_it_before_the_next_round(
    compared: Callable[..., Comparison], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: float, rounds: int
) -> None:
    """Before the first that could not end in time. A run adds 100 seconds to the clock here: the machine's own speed counts for little."""
    begun = (tmp_path / "runs").rglob
    late = SimpleNamespace(**vars(time))
    late.monotonic = lambda: 100.0 * len(list(begun("output.txt"))) + time.monotonic()
    monkeypatch.setattr(compare, "time", late)
    monkeypatch.setattr(runs, "time", late)
    heard = Heard()
    found = compared(arm("a", "2"), arm("b", "1"), listener=heard, budget=budget)
    assert found.ended == "budget" and len(found.ratios) == rounds and found.verdict != "faster"
    assert heard.left[0] is None and all(left is None or left <= budget - 100 for left in heard.left)


def test_without_steps_whole_runs_are_compared_and_said_to_be(compared: Callable[..., Comparison]) -> None:
    """A program without jax is no error."""
    found = compared(arm("a", script="sleep 0.2"), arm("b", script="sleep 0.01"), metric=None)
    assert found.clock == "whole" and found.verdict == "faster"
    assert "whole-run" in {finding.code for finding in found.findings}
    assert "with start and compilation" in str(found)


def test_whole_runs_that_are_asked_for_are_no_surprise(compared: Callable[..., Comparison]) -> None:
    """Even where a program prints what could be gone by."""
    found = compared(arm("a", script="sleep 0.2; " + SAY), arm("b", script=SAY), metric=None, whole=True)
    assert found.clock == "whole" and len(found.ratios) >= 2
    assert found.findings == ()


def test_other_losses_are_told(compared: Callable[..., Comparison]) -> None:
    """Where they differ more than the reference's own runs do."""
    found = compared(arm("a"), arm("b", "0.5", loss="2.5"), arm("c", "0.9"))
    assert [finding.code for finding in found.findings] == ["losses-differ"]
    assert [variant.loss_difference for variant in found.variants] == [0.0, 0.25, 0.0]


def test_what_is_written_outside_is_told(compared: Callable[..., Comparison]) -> None:
    """It would be found by the next run."""
    found = compared(arm("a", script="touch ckpt.npz; " + SAY), arm("b"))
    assert [finding.code for finding in found.findings] == ["program-writes-outside"]
    assert "ckpt.npz" in found.findings[0].message


def test_a_run_that_prints_no_metric_is_not_measured(compared: Callable[..., Comparison]) -> None:
    """And it says which pattern found nothing."""
    found = compared(arm("a"), arm("b", script="echo hello"))
    assert found.variants[1].status == "not-measured" and METRIC in found.variants[1].cause.replace("\\\\", "\\")


def test_a_pattern_that_finds_nothing_is_told_while_the_run_goes_on(compared: Callable[..., Comparison]) -> None:
    """Once, after many lines; Ctrl-C then ends the run. One that finds something is not told, however late the next lines are."""
    doubts: list[str] = []

    class Impatient(Listener):
        def doubts(self, finding: Finding) -> None:
            doubts.append(finding.message)
            raise KeyboardInterrupt

    chatty = "i=0; while [ $i -lt 120 ]; do echo step $i; i=$((i+1)); done; exec sleep 60"
    found = compared(arm("a", script=chatty), arm("b"), listener=Impatient())
    assert found.ended == "interrupted" and len(doubts) == 1
    assert (
        METRIC in doubts[0].replace("\\\\", "\\")
        and "120 lines printed so far; the last one is 'step 119'" in doubts[0]
    )
    assert (
        compared(
            arm("a", script="echo took 1; " + chatty.replace("60", "0.3")), arm("b"), pairs=1, listener=Impatient()
        ).ended
        != "interrupted"
    )


def test_the_winner_as_a_preset(compared: Callable[..., Comparison], tmp_path: Path) -> None:
    """The flags and variables that it set beyond what was there, where it was measured, and its evidence."""
    import jaxgpu_tune
    from jaxgpu_tune.knowledge.presets import load_preset_file

    found = compared(arm("a", "2"), arm("b", "1"))._replace(
        machine={"jaxlib": "0.11.2", "gpus": [{"compute_capability": "9.0"}] * 2}, command="jaxgpu-tune compare a b"
    )
    path = tmp_path / "best.toml"
    path.write_text(comparison_preset(found))
    preset = load_preset_file(path)
    assert {(one.kind, one.name, one.value) for one in preset.settings} == {
        ("xla_flag", "xla_dump_to", "b"),
        ("env", "NCCL_X", "1"),
    }
    assert "faster: 2.000 times as fast" in preset.evidence[0]
    machine = {"gpus": [{"compute_capability": "9.0", "count": 2}], "jaxlib": "0.11.2"}
    planned = jaxgpu_tune.plan(path, environ={}, machine=machine)
    assert "xla_dump_to" in {token.name for token in scan(planned.xla_flags).tokens}


@pytest.mark.slow
def test_what_the_program_drops_of_a_variant_is_told_at_once(compared: Callable[..., Comparison]) -> None:
    """Else it would be "no difference", after hours. https://github.com/proteneer/timemachine/pull/770"""
    told: list[str] = []

    class Heeding(Listener):
        def doubts(self, finding: Finding) -> None:
            told.append(finding.message)
            raise KeyboardInterrupt

    flag = "--xla_cpu_enable_fast_math=true"
    code = "import os\nos.environ['XLA_FLAGS'] = ''\nimport jax\nf = jax.jit(lambda x: x + 1)\nfor i in range(100000): f(i)"
    environ = clean_environ(JAX_PLATFORMS="cpu")
    words = (sys.executable, "-c", code)
    with_flag = Arm("b", {**environ, "XLA_FLAGS": flag}, words, {"XLA_FLAGS": flag})
    found = compared(Arm("a", environ, words), with_flag, listener=Heeding(), metric=None, seconds=0.3)
    assert told == [f"b: the program sets XLA_FLAGS itself, which drops {flag}."]
    assert "program-overwrites" in {finding.code for finding in found.findings}


@pytest.mark.slow
def test_a_real_program_by_its_calls(compared: Callable[..., Comparison]) -> None:
    """Steps, compilation and losses are seen; a flag that jaxlib refuses is told in its own words."""
    words = (sys.executable, str(Path(__file__).parent / "programs" / "plain.py"), "1000000", "1")
    good = clean_environ()
    arms = (Arm("a", good, words), Arm("bad", {**good, "XLA_FLAGS": "--xla_nope=1"}, words), Arm("b", good, words))
    found = compared(*arms, metric=None, pairs=1, seconds=0.5)
    assert found.clock == ("calls" if sys.version_info >= (3, 12) else "trace") and found.function == "train_step"
    assert found.variants[1].status == "refused" and "xla_nope" in found.variants[1].cause
    assert found.variants[2].verdict.word == "no-difference" and len(found.variants[2].ratios) == 1
    assert found.reference.compile_seconds and found.reference.trials[0].losses and found.noise
