"""``bisect``: what it looks for, what it refuses, and what it finds in real programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.absent_gpus import machine
from jaxgpu_tune.cli.bisect import _suspects, _symptom
from jaxgpu_tune.measure.tuning.bisect import Symptom
from tests.absent_gpus import toolkit
from tests.child import ROOT
from tests.cli.typed import call, measured, tunable


def preset(folder: Path, *names: str) -> str:
    """A preset of variables that the program reads, and of some that it does not."""
    tables = [f'[[set]]\nenv = "{name}"\nvalue = "1"\n' for name in names]
    (folder / "suspects.toml").write_text("\n".join(tables))
    return "suspects.toml"


def bisected(folder: Path, *words: str) -> tuple[list[list[str]], int, str]:
    """The names of each guilty set, how many runs it took, and the answer."""
    ended = measured(folder, "bisect", "--seconds", "0.3", "--json", *words, *tunable())
    assert ended.status == 0, ended.stderr
    told = json.loads(ended.stdout)
    return [[name for _, name, _ in one] for one in told["guilty"]], len(told["trials"]), told["answer"]


@pytest.mark.slow
def test_bisect_finds_a_pair_that_hangs(tmp_path: Path) -> None:
    """Asked again it runs nothing."""
    words = ("--preset", preset(tmp_path, "JAXTEST_A", "CLASH", "FAST"), "--timeout", "7s")
    found, runs, answer = bisected(tmp_path, *words)
    assert found == [["CLASH", "FAST"]]
    assert "together" in answer and "confirmed by fresh runs" in answer
    assert bisected(tmp_path, *words)[1] == runs <= 9


@pytest.mark.slow
def test_bisect_finds_what_is_slower(tmp_path: Path) -> None:
    file = preset(tmp_path, "JAXTEST_A", "SLOW")
    found, _, answer = bisected(tmp_path, "--preset", file, "--slower", "20%")
    assert found == [["SLOW"]]
    assert "slower" in answer and "confirmed" in answer


@pytest.mark.slow
def test_bisect_of_flags_takes_them_as_they_are_written(tmp_path: Path) -> None:
    """One that this build does not know ends the process."""
    flags = "--xla_cpu_multi_thread_eigen=true --xla_no_such_flag=1"
    found, runs, answer = bisected(tmp_path, "--flags", flags)
    assert found == [["xla_no_such_flag"]]
    assert runs <= 7
    assert "xla_no_such_flag" in answer


RING = """
import jax, jax.numpy as jnp, numpy as np
from benchmarks.absent_gpus import devices
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(devices(4)), ("stage",))
def total(weights, x):
    def tick(y, _):
        y = jax.lax.ppermute(jnp.tanh(y @ weights[0]), "stage", [(0, 1), (1, 2), (2, 3), (3, 0)])
        return y, y.sum()
    return jax.lax.psum(jax.lax.scan(tick, x, length=9)[1].sum(), "stage")
mapped = jax.shard_map(total, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P(), check_vma=False)
weights = jax.ShapeDtypeStruct((4, 512, 512), jnp.float32, sharding=NamedSharding(mesh, P("stage")))
x = jax.ShapeDtypeStruct((64, 512), jnp.float32, sharding=NamedSharding(mesh, P()))
jax.jit(jax.grad(mapped)).lower(weights, x).compile()
"""
"""Stages that send around a ring, compiled for GPUs that are not there."""


@pytest.mark.slow
def test_bisect_finds_the_pair_with_which_the_real_gpu_compiler_fails(tmp_path: Path) -> None:
    """One of the two stands first and the other last among flags that do no harm. https://github.com/openxla/xla/blob/main/xla/service/p2p_schedule_preparation.cc"""
    environ = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_gpu_cuda_data_dir={toolkit()}", "PYTHONPATH": str(ROOT)}
    (tmp_path / "machine.json").write_text(json.dumps(machine(4)))
    (tmp_path / "ring.py").write_text(RING)
    pair = ["xla_gpu_enable_pipelined_p2p=true", "xla_gpu_collective_permute_decomposer_threshold=1024"]
    others = ["xla_gpu_pipeline_all_gather=on", "xla_gpu_enable_while_loop_double_buffering=true"]
    flags = " ".join(f"--{one}" for one in (pair[0], *others, pair[1]))
    words = ("bisect", "--json", "--flags", flags, "--", sys.executable, "ring.py")
    ended = measured(tmp_path, *words, JAXGPU_TUNE_MACHINE="machine.json", **environ)
    assert ended.status == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert [{f"{name}={value}" for _, name, value in one} for one in told["guilty"]] == [set(pair)]
    assert "together, and not without any of them (confirmed by fresh runs" in told["answer"]


@pytest.mark.usefixtures("this_jaxlib")
def test_what_is_told_of_each_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of settings, of flags, of numbers, and of what XLA_FLAGS holds: the guilty and exit code 0, or 1 where there is none."""
    monkeypatch.chdir(tmp_path)
    command = ("--", "sh", "-c", 'case "$BAD$XLA_FLAGS" in *1*|*bad=true*) exit 3;; esac')
    done = call("bisect", "--preset", preset(tmp_path, "GOOD", "BAD"), *command)
    assert done.exit_code == 0 and "2 suspects; looking for: it fails\n" in done.stderr, done.stderr
    assert "It fails with BAD=1 alone (confirmed by fresh runs" in done.stdout
    assert f"Every run: {tmp_path / 'bisect.runs'}" in done.stdout and "died  1 of them: BAD=1" in done.stderr
    flags = "--xla_good=true --xla_bad=true"
    told = json.loads(call("bisect", "--exit", "3", "--json", "--folder", "f", "--flags", flags, *command).stdout)
    assert told["guilty"] == [[["xla_flag", "xla_bad", "true"]]]
    loss = ("--", "sh", "-c", 'test "$BAD" && echo "loss nan" || echo "loss 1.5"')
    words = ("--preset", preset(tmp_path, "GOOD", "BAD"), "--nan", "--json", "--folder", "n")
    assert json.loads(call("bisect", *words, *loss).stdout)["guilty"] == [[["env", "BAD", "1"]]]
    monkeypatch.setenv("XLA_FLAGS", "--xla_good=true")
    none = call("bisect", "--output", "never", "--folder", "g", *command)
    assert none.exit_code == 1 and "Nothing was found" in none.stdout and "do not show it" in none.stdout
    assert "1 suspect; looking for" in none.stderr


NOT_GIVEN = {"fails": False, "nan": False, "slower": None, "exit_with": None, "output": None}


@pytest.mark.parametrize(
    ("given", "symptom"),
    [
        ({}, Symptom("fails")),
        ({"nan": True}, Symptom("nan")),
        ({"slower": "5%"}, Symptom("slower", 0.05)),
        ({"slower": "500%"}, Symptom("slower", 5.0)),
        ({"exit_with": 0}, Symptom("exit", 0)),
        ({"output": "loss (\\d+)"}, Symptom("output", "loss (\\d+)")),
    ],
)
def test_the_symptom_that_is_looked_for(given: dict[str, object], symptom: Symptom) -> None:
    assert _symptom({**NOT_GIVEN, **given}) == symptom


@pytest.mark.usefixtures("this_jaxlib")
def test_what_is_suspected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of a preset, the flags of a text, those of XLA_FLAGS, or what a release changed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_ftz=true")
    none = dict.fromkeys(("text", "preset", "old"))
    found = {
        name: _suspects({**none, name: value})
        for name, value in {"preset": preset(tmp_path, "A", "B"), "text": "--xla_a=1", "old": "0.5.3"}.items()
    }
    names = {kind: {part.name for part in one.parts} for kind, one in found.items()}
    assert (names["preset"], names["text"]) == ({"A", "B"}, {"xla_a"})
    assert [part.name for part in _suspects(none).parts] == ["xla_gpu_ftz"]
    assert len(names["old"]) > 5 and set(found["old"].undo) == set(found["old"].parts)
    assert [bool(one.texts) for one in found.values()] == [False, True, False]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--nan", "--exit", "3"), "Several symptoms are named."),
        (("--exit", "0", "--output", "x"), "Several symptoms are named."),
        (("--slower", "much"), "--slower 'much'"),
        (("--slower", "0"), "--slower '0'"),
        (("--slower", "5"), "--slower '5' is not valid; allowed: a share such as 5%, 0.05 or 500%."),
        (("--slower", "10000%"), "--slower '10000%'"),
        (("--output", "("), "--output '(' is not a regular expression"),
        (("--flags", "--xla_a=1", "--preset", "fsdp"), "Several kinds of suspects are named."),
        (("--from-jaxlib", "9.9.9"), "jaxlib 9.9.9 is in no table."),
        ((), "no flags are set"),
    ],
)
def test_wrong_use_is_told_before_anything_runs(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    done = call("bisect", *words, "--folder", str(runs), "--", "true")
    assert done.exit_code == 2 and told in done.stderr
    assert not runs.exists()
