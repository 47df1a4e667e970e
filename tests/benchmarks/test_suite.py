"""The suite measures in order of worth, goes on where it was, and keeps to its budget."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from benchmarks.jobs import Job, distinct, in_order, lanes, pending, phases
from benchmarks.kept import Kept
from benchmarks.tried import FILLS, KEPT
from benchmarks.variants import DEFAULT, bare_environ, environ_of, variants_of
from benchmarks.workloads import WORKLOADS
from tests.child import ROOT, clean_environ

MACHINE = str(ROOT / "tests" / "machines" / "h200x2_captured.json")


@pytest.fixture(autouse=True)
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are for two H200 on jaxlib 0.11.2."""
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", MACHINE)
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def jobs_of(*names: str, rounds: int = 2) -> list[Job]:
    """All jobs of some workloads on the two GPUs, or on one of them."""
    seen = {name: "0" if WORKLOADS[name].devices == "one" else "0,1" for name in names}
    bases = {name: {**bare_environ(), "CUDA_VISIBLE_DEVICES": gpus} for name, gpus in seen.items()}
    return in_order({name: distinct(WORKLOADS[name], bases[name])[0] for name in names}, rounds)


def run_of(job: Job, machine: int = 0) -> dict[str, Any]:
    """A result of the job."""
    workload, variant, turn, number = job.key
    return {"workload": workload, "variant": variant, "turn": turn, "round": number, "machine": machine}


def test_no_variant_turns_multicast_on() -> None:
    """Neither a published set nor what is inherited."""
    for workload in WORKLOADS.values():
        assert "jax-toolbox-user-buffers" not in {variant.name for variant in variants_of(workload)}
    assert bare_environ()["NCCL_NVLS_ENABLE"] == "0"


def test_equal_settings_are_measured_once() -> None:
    """A preset that sets nothing is the default, with AutoPGLE it is AutoPGLE."""
    found, same = distinct(WORKLOADS["tensor_parallel"], bare_environ())
    assert same["auto"] == same["tensor_parallel"] == DEFAULT and same["tensor_parallel, AutoPGLE"] == "AutoPGLE"
    assert not {variant.name for variant in found} & set(same)


def test_one_process_a_gpu_is_no_equal_of_one_for_all() -> None:
    """Though both set nothing."""
    found, _ = distinct(WORKLOADS["fsdp_first"], bare_environ())
    assert {"default", "default, one process a GPU"} <= {variant.name for variant in found}


def test_what_presets_promise_comes_first() -> None:
    """Default and presets of every workload before anything published; within a worth one workload after the other."""
    jobs = jobs_of("fsdp_first", "decode")
    assert [job.turn for job in jobs] == sorted(job.turn for job in jobs)
    first = [job.variant.name for job in jobs if job.turn == 1]
    assert first == ["default", "fsdp", "jax-toolbox", "jax-toolbox", "fsdp", "default"]
    late = [job.variant.name for job in jobs if job.turn == 2 and job.workload == "decode"]
    assert late == ["default", "decode", "decode", "default"]


def test_every_variant_takes_turns_with_the_default() -> None:
    """In each round of each turn one process of each, there and back again."""
    blocks: dict[tuple[str, int, int], list[str]] = {}
    for job in jobs_of("fsdp_first", "experts", rounds=3):
        blocks.setdefault((job.workload, job.turn, job.round), []).append(job.variant.name)
    assert len(blocks) == 3 * len({block[:2] for block in blocks})
    for (_, _, number), names in blocks.items():
        assert names.count(DEFAULT) == 1 and names[0 if number % 2 == 0 else -1] == DEFAULT
        assert len(names) == len(set(names)) > 1


def test_what_needs_one_gpu_runs_on_all_of_them_side_by_side() -> None:
    """What is compared stays on one; what needs several comes after it, and nothing is lost."""
    jobs = jobs_of("rl_scan", "fsdp_first", "ppo", "stencil")
    made = phases(jobs)
    assert sorted(job.key for phase in made for job in phase.jobs) == sorted(job.key for job in jobs)
    assert all(job.one_gpu == phase.one_gpu for phase in made for job in phase.jobs)
    assert made[0].one_gpu and not made[1].one_gpu
    queues = lanes(made[0].jobs, 2)
    workloads = [{job.workload for job in queue} for queue in queues]
    assert all(workloads) and not workloads[0] & workloads[1]


def test_what_is_measured_is_not_measured_again() -> None:
    """On the same machine only what has no result is left, on another one the default of its pair too."""
    jobs = jobs_of("fsdp_first", "decode")
    done = [run_of(job) for job in jobs if job.key != ("decode", "decode", 2, 1)]
    assert [job.key for job in pending(jobs, done, 0)] == [("decode", "decode", 2, 1)]
    assert [job.key for job in pending(jobs, done, 1)] == [("decode", "decode", 2, 1), ("decode", "default", 2, 1)]
    assert pending(jobs, [run_of(job) for job in jobs], 1) == []


def test_a_variant_that_failed_is_not_tried_again() -> None:
    """Nor is a default measured for it."""
    jobs = jobs_of("decode")
    runs = [run_of(job) | ({"error": "hung"} if job.variant.name == "decode" else {}) for job in jobs if not job.round]
    assert {job.variant.name for job in pending(jobs, runs, 0)}.isdisjoint({"decode"})
    assert all(job.turn != 2 for job in pending(jobs, runs, 0)), "the default and it were the whole turn"


def test_results_of_before_there_were_turns_stand_for_nothing() -> None:
    """They are kept, and measured anew."""
    jobs = jobs_of("decode")
    old = [{"workload": "decode", "variant": "decode", "round": 0, "alone": False, "machine": 0}]
    assert pending(jobs, old, 0) == jobs


def test_a_folder_is_filled_before_it_is_timed_and_again_by_the_next_suite() -> None:
    """As long as one of the processes that find it is left."""
    jobs = [job for job in jobs_of("vit_start") if job.variant.kept or job.variant.name == DEFAULT]
    cached = [job for job in jobs if job.variant.name.startswith("compilation cache")]
    assert [job.round for job in cached] == [FILLS, 0, 1]
    done = [run_of(job) for job in jobs if job is not cached[-1]]
    assert [job.round for job in pending(jobs, done, 0)] == [FILLS, 1]
    assert pending(jobs, [*done, run_of(cached[-1])], 0) == []
    environ = environ_of(cached[0].variant, {}, "/tmp/x")
    assert environ["JAX_COMPILATION_CACHE_DIR"] == "/tmp/x" and KEPT not in str(environ)


def suite(out: Path, *more: str) -> str:
    """What the suite printed, measuring the stencil on the CPU."""
    command = [sys.executable, "-m", "benchmarks.suite", "--platform", "cpu", "--out", str(out), "--name", "test"]
    command += ["--only", "stencil", "--variants", "dreamerv3", "--rounds", "1", "--seconds", "0.1", *more]
    environ = clean_environ(JAXGPU_TUNE_MACHINE=os.environ["JAXGPU_TUNE_MACHINE"])
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    return done.stdout


def test_without_budget_nothing_is_begun(tmp_path: Path) -> None:
    """It says what is left."""
    assert "stopped by the budget, 2 of 2 runs left" in suite(tmp_path, "--budget-seconds", "0")
    assert not list(tmp_path.iterdir())


def refused(*given: str, **environ: str) -> str:
    """What the suite said when it began nothing."""
    command = [sys.executable, "-m", "benchmarks.suite", *given]
    done = subprocess.run(
        command, env=clean_environ(**environ), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
def test_wrong_use_is_told(tmp_path: Path) -> None:
    """A variant that does not exist, numbers that measure nothing, no place for results, no GPU."""
    on_cpu = ("--platform", "cpu", "--out", str(tmp_path), "--only", "stencil")
    assert "is called fsdpp. There are: default; single_gpu;" in refused(*on_cpu, "--variants", "fsdpp", "default")
    for option in ("--rounds", "--seconds", "--devices"):
        assert "0 is not a number above 0" in refused(*on_cpu, option, "0")
    for option in ("--seconds", "--timeout"):
        assert all("is not a number above 0" in refused(*on_cpu, option, text) for text in ("nan", "inf", "-1"))
    assert "--variants default compares nothing" in refused(*on_cpu, "--variants", "default")
    assert "nan is less than 0, or no number" in refused(*on_cpu, "--budget-seconds", "nan")
    assert "--name a/b is no part of a file's name" in refused(*on_cpu, "--name", "a/b")
    assert "is a file: give a folder" in refused("--platform", "cpu", "--out", __file__)
    (tmp_path / "machine.json").write_text('{"gpus": []}')
    without = {"JAXGPU_TUNE_MACHINE": str(tmp_path / "machine.json")}
    assert "--platform cpu measures tiny sizes" in refused("--out", str(tmp_path), **without)


def test_results_that_do_not_belong_together_are_not_mixed(tmp_path: Path) -> None:
    """Those of other sizes, and a damaged file, which is left as it is."""
    path, given = tmp_path / "suite-x.json", ("--platform", "cpu", "--out", str(tmp_path), "--name", "x")
    path.write_text('{"size": "full", "machines": [], "same": {}, "runs": []}')
    assert "holds results of size full, not tiny" in refused(*given)
    path.write_text("{}")
    assert "must be an object with machines, runs, same, size" in refused(*given)
    path.write_text('{"size": "full", "mach')
    assert "suite-x.json is damaged (Unterminated string" in refused(*given)
    assert path.read_text() == '{"size": "full", "mach'


def test_what_waits_for_a_suite_ends_with_it() -> None:
    """It measures nothing on a GPU that the next suite may be using."""
    asked = json.dumps({"workload": "stencil", "size": "tiny", "seconds": 0.1, "processes": 1})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", asked],
        env=clean_environ(JAX_PLATFORMS="cpu"),
        cwd=ROOT,
        input="",
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "") and "has ended" in done.stderr


@pytest.mark.slow
def test_a_failed_run_is_told_and_kept(tmp_path: Path) -> None:
    """With why; it is not tried again as long as it is in the file."""
    given = ("--platform", "cpu", "--out", str(tmp_path), "--name", "x", "--variants", "dreamerv3", "--timeout", "0.01")
    given = (*given, "--only", "stencil", "--rounds", "1")
    said = refused(*given, JAXGPU_TUNE_MACHINE=MACHINE)
    assert "stencil default: status none, given up after 0 s" in said
    kept = (tmp_path / "suite-x.json").read_text()
    assert "unless it is taken out of" in refused(*given, JAXGPU_TUNE_MACHINE=MACHINE)
    assert (tmp_path / "suite-x.json").read_text() == kept


def pids_below(tasks: Path) -> list[str]:
    """The children that any thread of a process has started."""
    return [pid for path in tasks.glob("*/children") for pid in path.read_text().split()]


@pytest.mark.slow
def test_interrupted_it_leaves_no_process(tmp_path: Path) -> None:
    """Neither the one that is timed nor the one that waits."""
    command = [sys.executable, "-m", "benchmarks.suite", "--platform", "cpu", "--out", str(tmp_path), "--name", "test"]
    command += ["--only", "stencil", "--variants", "dreamerv3", "--seconds", "100"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job inherits it ignored
    environ = clean_environ(JAXGPU_TUNE_MACHINE=MACHINE)
    process = subprocess.Popen(command, env=environ, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    children = Path(f"/proc/{process.pid}/task")
    while len(pids := pids_below(children)) < 2:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert "it goes on from here" in process.communicate(timeout=600)[1] and process.returncode == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow
def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """A result that is taken out is measured again, and nothing else."""
    suite(tmp_path)
    path = tmp_path / "suite-test.json"
    results = json.loads(path.read_text())
    assert [run["variant"] for run in results["runs"]] == ["default", "dreamerv3"]
    assert all(run["step_ms"] and len(run["losses"]) == 10 for run in results["runs"])
    assert "--xla_gpu_enable_command_buffer=" in results["runs"][-1]["settings"]["XLA_FLAGS"]
    assert suite(tmp_path) == f"all of it is in {path}\n"
    path.write_text(json.dumps({**results, "runs": results["runs"][:1]}))
    again = suite(tmp_path).splitlines()
    assert len(again) == 1 and "dreamerv3" in again[0]


def test_two_suites_write_one_file(tmp_path: Path) -> None:
    """Neither loses what the other one found meanwhile; what they say of the machine is there once."""
    suites = [Kept(tmp_path / "suite-test.json", "tiny", {"driver": "580"}) for _ in range(2)]
    for number, suite in enumerate(suites):
        suite.same[f"workload {number}"] = {"a": "b"}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda number: suites[number % 2].add({"number": number}), range(60)))
    results = json.loads((tmp_path / "suite-test.json").read_text())
    assert sorted(run["number"] for run in results["runs"]) == list(range(60))
    assert set(results["same"]) == {"workload 0", "workload 1"} and results["machines"] == [{"driver": "580"}]


def test_every_preset_is_measured_somewhere() -> None:
    """Maintained ones for speed on a workload of their kind; published ones unless they turn multicast on or only measure."""
    measured = {variant.preset for workload in WORKLOADS.values() for variant in variants_of(workload)}
    left = {preset.name for preset in jaxgpu_tune.presets()} - measured
    multicast = {"jax-toolbox-o1", "jax-toolbox-user-buffers"}
    assert left == {"debug", "reproducible", "pgle-nsight-profile"} | multicast
