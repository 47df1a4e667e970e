"""configure() in real processes with the real jax: applying, calling twice, too late, restore, children, decorator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.child import run, told, told_warm

FLAG = "{'xla_gpu_autotune_level': 2}"


def test_flags_take_effect_in_the_real_jaxlib() -> None:
    code = f"""
import jaxgpu_tune
report = jaxgpu_tune.configure(flags={FLAG})
import os
from jaxgpu_tune.proof.xla_options import parsed_options
tell([report.applied, os.environ["XLA_FLAGS"], parsed_options()["xla_gpu_autotune_level"]])
"""
    assert told(code) == [True, "--xla_gpu_autotune_level=2", 2]


def test_importing_and_configuring_start_no_backend_and_import_no_jax() -> None:
    code = """
import sys, jaxgpu_tune
jaxgpu_tune.configure("fsdp")
tell([name for name in ("jax", "jaxlib", "numpy", "click", "rich") if name in sys.modules])
"""
    assert told(code) == []


def test_r85_configure_after_importing_jax_starts_no_backend_and_applies_options_live() -> None:
    code = """
import jax, jaxgpu_tune
report = jaxgpu_tune.configure(transfer_guard="log", jax_config={"jax_debug_nans": True})
from jax._src import xla_bridge
tell([bool(xla_bridge._backends), jax.config.jax_debug_nans, jax.config.jax_transfer_guard_device_to_host, report.machine.phase])
"""
    assert told(code) == [False, True, "log", "imported"]


def test_r27_jax_platforms_after_the_import_goes_through_the_config() -> None:
    code = """
import jax, jaxgpu_tune
jaxgpu_tune.configure(platform="cpu")
tell([jax.config.jax_platforms, str(jax.devices()[0].platform)])
"""
    assert told(code) == ["cpu", "cpu"]


def test_calling_twice_changes_nothing_even_after_the_backend_started() -> None:
    code = f"""
import os, jaxgpu_tune
first = jaxgpu_tune.configure(flags={FLAG}, memory_fraction=0.5)
before = dict(os.environ)
second = jaxgpu_tune.configure(flags={FLAG}, memory_fraction=0.5)
same = before == dict(os.environ)
import jax; jax.devices()
third = jaxgpu_tune.configure(flags={FLAG}, memory_fraction=0.5)
tell([same and all(os.environ[name] == before[name] for name in before), first.xla_flags == second.xla_flags == third.xla_flags, third.applied])
"""
    assert told_warm(code) == [True, True, True]


def test_what_an_earlier_call_asks_for_stays() -> None:
    code = """
import os, jaxgpu_tune
os.environ["XLA_FLAGS"] = "--xla_dump_to=mine"
jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
jaxgpu_tune.configure(flags={"xla_gpu_enable_triton_gemm": False})
tell(os.environ["XLA_FLAGS"])
"""
    assert told(code) == "--xla_dump_to=mine --xla_gpu_autotune_level=2 --xla_gpu_enable_triton_gemm=false"


def test_what_is_added_to_our_text_afterwards_is_the_users() -> None:
    code = """
import os, jaxgpu_tune
jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
os.environ["XLA_FLAGS"] += " --xla_dump_to=later"
report = jaxgpu_tune.configure()
tell(os.environ["XLA_FLAGS"])
"""
    assert told(code) == "--xla_dump_to=later --xla_gpu_autotune_level=2"


def test_restore_gives_back_what_was_there() -> None:
    code = """
import os, jax, jaxgpu_tune
os.environ["XLA_FLAGS"] = "--xla_dump_to=mine"
before = dict(os.environ)
report = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2}, jax_config={"jax_debug_nans": True}, memory_fraction=0.4)
changed = dict(os.environ) != before and jax.config.jax_debug_nans
report.restore()
tell([changed, dict(os.environ) == before, jax.config.jax_debug_nans])
"""
    assert told(code) == [True, True, False]


def test_a_child_process_plans_anew_instead_of_taking_ours_for_the_users() -> None:
    code = """
import os, subprocess, sys, jaxgpu_tune
jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
child = "import jaxgpu_tune; print(jaxgpu_tune.configure(flags={'xla_gpu_autotune_level': 3}).xla_flags)"
tell(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout.strip())
"""
    assert told(code) == "--xla_gpu_autotune_level=3"


def test_late_warn_applies_what_still_can_be_and_marks_the_rest() -> None:
    code = f"""
import os, jax, jaxgpu_tune
jax.devices()
report = jaxgpu_tune.configure(flags={FLAG}, jax_config={{"jax_debug_nans": True}}, late="warn")
status = {{d.name: d.status for d in report.decisions}}
tell([os.environ.get("XLA_FLAGS"), jax.config.jax_debug_nans, status["xla_gpu_autotune_level"], status["jax_debug_nans"], report.xla_flags])
"""
    ended = run(code)
    assert ended.value == [None, True, "late", "set", ""], ended.stderr
    assert "already started" in ended.stderr


@pytest.mark.parametrize(
    ("second", "status"),
    [
        ("env={'NCCL_DEBUG': 'WARN'}, platform='cpu', flags={'xla_gpu_autotune_level': 3}", "late"),
        ("env={'NCCL_DEBUG': None}, platform='cuda', flags={'xla_gpu_autotune_level': None}", "late"),
        ("", "set"),
    ],
)
def test_what_is_in_force_stays_where_it_is_too_late_to_change_it(second: str, status: str) -> None:
    """Else child processes lose it, the marker forgets it, and the report claims what is not there."""
    code = f"""
import os, jax, jaxgpu_tune
was = {{name: os.environ.get(name) for name in ("XLA_FLAGS", "NCCL_DEBUG", "JAX_PLATFORMS")}}
first = jaxgpu_tune.configure(flags={FLAG}, env={{"NCCL_DEBUG": "INFO"}}, platform="cpu")
jax.devices()
now = {{name: os.environ.get(name) for name in was}}
report = jaxgpu_tune.configure({second}{", " if second else ""}late="warn")
then = {{name: os.environ.get(name) for name in was}}
said = {{d.status for d in report.decisions if d.name == "NCCL_DEBUG"}}
told = [report.environ["XLA_FLAGS"] == report.xla_flags == then["XLA_FLAGS"], then == now, jax.config.jax_platforms]
report.restore()
stays = {{name: os.environ.get(name) for name in was}} == now
first.restore()
tell([told, list(said), stays, {{name: os.environ.get(name) for name in was}} == was, jax.config.jax_platforms])
"""
    assert told(code) == [[True, True, "cpu"], [status], True, True, None]


def test_what_a_call_asks_of_a_live_jax_holds_through_the_next_one() -> None:
    """A variable that is written for child processes, as JAX_TRANSFER_GUARD, was not read by a jax that was there already: nobody has changed it."""
    code = """
import jax, jaxgpu_tune, logging
said = []
logging.getLogger("jaxgpu_tune").addHandler(type("Said", (logging.Handler,), {"emit": lambda _, one: said.append(one.getMessage())})())
lost = []
for asked in (
    {"transfer_guard": "log"},
    {"jax_config": {"jax_transfer_guard_device_to_host": "log"}},
    {"jax_config": {"jax_transfer_guard": "log"}},
    {"compilation_cache": "/tmp/jaxgpu_tune_nobody"},
    {"pgle": "auto"},
    {"platform": "cpu"},
    {"jax_config": {"jax_debug_nans": True, "jax_optimization_level": "O1"}},
):
    first = jaxgpu_tune.configure(**asked)
    held = dict(jax.config.values)
    second = jaxgpu_tune.configure(env={"NCCL_DEBUG": "INFO"})
    lost += [name for name, value in held.items() if jax.config.values[name] != value]
    second.restore()
    lost += [name for name, value in held.items() if jax.config.values[name] != value]
    first.restore()
tell([lost, said])
"""
    assert told(code) == [[], []]


def test_a_context_manager_around_a_call_is_no_change_of_the_users() -> None:
    """It holds in its thread until it ends; what a call has set for the process stays, and is given back."""
    code = """
import jax, jaxgpu_tune, logging
said = []
logging.getLogger("jaxgpu_tune").addHandler(type("Said", (logging.Handler,), {"emit": lambda _, one: said.append(one.getMessage())})())
was = dict(jax.config.values)
first = jaxgpu_tune.configure(transfer_guard="allow", jax_config={"jax_default_matmul_precision": "float32"})
held = dict(jax.config.values)
with jax.transfer_guard("log"), jax.default_matmul_precision("highest"), jax.log_compiles():
    second = jaxgpu_tune.configure(env={"NCCL_DEBUG": "INFO"})
kept = sorted(d.name for d in second.decisions if d.status == "kept" and d.kind == "jax_config")
stays = dict(jax.config.values) == held
with jax.transfer_guard("log"):
    second.restore()
    first.restore()
tell([said, kept, stays, dict(jax.config.values) == was])
"""
    assert told(code) == [[], [], True, True]


def test_a_transfer_guard_that_the_user_changed_stays_when_the_umbrella_is_given_back() -> None:
    """jax sets all three where the umbrella is set, when that is given back, too; nor is the umbrella told as overwritten."""
    code = """
import jaxgpu_tune
carried = jaxgpu_tune.configure(transfer_guard="allow")
import jax
def guards(): return [jax.config.jax_transfer_guard_host_to_device, jax.config.jax_transfer_guard_device_to_host]
jax.devices()
proven = jaxgpu_tune.verify().ok
jax.config.update("jax_transfer_guard_device_to_host", "log_explicit")
carried.restore()
left = guards()
umbrella = jaxgpu_tune.configure(jax_config={"jax_transfer_guard": "log"})
under = guards()
umbrella.restore()
tell([proven, left, under, guards()])
"""
    users = ["disallow_explicit", "log_explicit"]
    assert told(code, JAX_TRANSFER_GUARD=users[0], JAX_PLATFORMS="cpu") == [True, users, ["log", "log"], users]


def test_what_is_taken_back_too_late_is_told() -> None:
    """Child processes start without it; this one goes on with it. Options that are read at any time are no reason to speak."""
    code = f"""
import jax, jaxgpu_tune, logging, os
said = []
logging.getLogger("jaxgpu_tune").addHandler(type("Said", (logging.Handler,), {{"emit": lambda _, one: said.append(one.getMessage())}})())
first = jaxgpu_tune.configure(flags={FLAG}, env={{"NCCL_DEBUG": "INFO"}}, platform="cpu")
second = jaxgpu_tune.configure(transfer_guard="log")
early = jaxgpu_tune.configure(env={{"NCCL_ALGO": "Ring"}})
early.restore()
jax.devices()
second.restore()
quiet = list(said)
first.restore()
first.restore()
tell([quiet, said, os.environ.get("NCCL_DEBUG")])
"""
    quiet, said, left = told(code)
    assert quiet == [] and left is None
    (message,) = said
    assert "has already started with these, so taking them back changes nothing in this process" in message
    assert (
        "NCCL_DEBUG" in message and "--xla_gpu_autotune_level" in message and "Child processes start without" in message
    )


def test_what_jax_refuses_to_change_back_is_told() -> None:
    """A few options raise once the backend has started; the rest of the call is taken back none the less."""
    code = """
import jax, jaxgpu_tune, logging, os
said = []
logging.getLogger("jaxgpu_tune").addHandler(type("Said", (logging.Handler,), {"emit": lambda _, one: said.append(one.getMessage())})())
first = jaxgpu_tune.configure(jax_config={"jax_num_cpu_devices": 3, "jax_debug_nans": True})
second = jaxgpu_tune.configure(jax_config={"jax_num_cpu_devices": 2})
jax.devices()
second.restore()
first.restore()
tell([said[1:], [jax.config.jax_debug_nans, jax.config.jax_num_cpu_devices], [name for name in os.environ if name.startswith("JAX")]])
"""
    said, options, left = told(code)
    assert options == [False, 2] and left == []
    assert ["changes nothing in this process: jax_num_cpu_devices." in one for one in said] == [True], said


def test_options_that_need_no_backend_are_never_too_late() -> None:
    code = """
import jax, jaxgpu_tune
jax.devices()
report = jaxgpu_tune.configure(transfer_guard="log")
tell([report.applied, jax.config.jax_transfer_guard_host_to_device])
"""
    assert told(code) == [True, "log"]


def test_reexec_starts_the_program_again_once_with_the_same_argv_and_folder(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, jax, jaxgpu_tune\n"
        "print('start', sys.argv[1:], os.getcwd(), flush=True)\n"
        "jax.devices()\n"
        "try:\n"
        "    jaxgpu_tune.configure(flags={'xla_gpu_autotune_level': 2}, late='reexec')\n"
        "    print('configured', os.environ['XLA_FLAGS'])\n"
        "except jaxgpu_tune.TooLate as error:\n"
        "    print('refused', error)\n"
    )
    import subprocess
    import sys

    from tests.child import clean_environ

    child = subprocess.run(
        [sys.executable, str(program), "a b", "--c"],
        cwd=tmp_path,
        env=clean_environ(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = child.stdout.splitlines()
    assert [line for line in lines if line.startswith("start")] == [f"start ['a b', '--c'] {tmp_path}"] * 2, (
        child.stderr
    )
    assert lines[-1] == "configured --xla_gpu_autotune_level=2"


def test_reexec_is_refused_under_pytest() -> None:
    code = f"""
import jax, jaxgpu_tune, pytest
jax.devices()
try:
    jaxgpu_tune.configure(flags={FLAG}, late="reexec")
except jaxgpu_tune.TooLate as error:
    tell("pytest" in str(error))
"""
    assert told(code) is True


def test_off_plans_and_reports_but_applies_nothing() -> None:
    code = f"""
import os, jaxgpu_tune
report = jaxgpu_tune.configure(flags={FLAG})
tell([report.applied, report.xla_flags, os.environ.get("XLA_FLAGS")])
"""
    assert told(code, JAXGPU_TUNE="off") == [False, "--xla_gpu_autotune_level=2", None]


def test_the_preset_variable_overrides_the_preset_of_configure() -> None:
    code = """
import jaxgpu_tune
from enum import Enum
class Mine(str, Enum):
    DEBUG = 'debug'
asked = ('fsdp', 'debug', 'auto', Mine.DEBUG)
tell([[r.preset, [f.message for f in r.findings if f.code == 'preset-overruled']] for r in map(jaxgpu_tune.configure, asked)])
"""
    lost = "JAXGPU_TUNE_PRESET=debug replaces 'fsdp', which the program asks for."
    assert told(code, JAXGPU_TUNE_PRESET="debug") == [["debug", [lost]], *[["debug", []]] * 3]


def test_a_preset_variable_that_names_no_preset_is_named() -> None:
    code = """
import jaxgpu_tune
try:
    jaxgpu_tune.configure()
except jaxgpu_tune.UnknownPreset as error:
    tell(str(error))
"""
    message = told(code, JAXGPU_TUNE_PRESET="fspd")
    assert message.startswith("JAXGPU_TUNE_PRESET: There is no preset 'fspd'") and "Did you mean 'fsdp'?" in message


TWO_GPUS = """
import os, jaxgpu_tune
from jaxgpu_tune.host import detect, gpus
from tests.host.fake_nvml import Card, FakeNvml
nvml = FakeNvml(*(Card(f"GPU-{n}", links=["switch"], bus=(0, n, 0)) for n in (1, 2)))
detect.find_gpus = lambda environ: gpus.find_gpus(environ, nvml)
def planned(**arguments):
    report = jaxgpu_tune.configure("fsdp", **arguments)
    return [[gpu.uuid for gpu in report.machine.gpus], report.xla_flags, os.environ.get("CUDA_VISIBLE_DEVICES")]
"""


def test_the_plan_is_for_the_gpus_that_it_leaves_itself() -> None:
    """Whichever call asks for them; a call that is taken back has no say."""
    code = f"""{TWO_GPUS}
both = planned()
asked = jaxgpu_tune.configure("fsdp", env={{"CUDA_VISIBLE_DEVICES": "1"}})
one = [planned(env={{"CUDA_VISIBLE_DEVICES": "1"}}), planned()]
asked.restore()
there = jaxgpu_tune.plan("fsdp", jaxlib=jaxgpu_tune.detect().jaxlib)
fresh, own = len(there.machine.gpus), len(jaxgpu_tune.detect().gpus)
tell([both, one, fresh, "xla" in both[1], own])
"""
    both, one, fresh, has_flags, left = told(code)
    assert both[0] == ["GPU-1", "GPU-2"] and both[2] is None and has_flags
    assert one == [[["GPU-2"], one[0][1], "1"]] * 2 and one[0][1] != both[1]
    assert fresh == left == 1


def test_the_schedulers_gpus_are_planned_for_whatever_is_asked_for() -> None:
    """R48: its variable is never overwritten."""
    code = f"{TWO_GPUS}tell(planned(env={{'CUDA_VISIBLE_DEVICES': '0,1'}}))"
    uuids, _, left = told(code, CUDA_VISIBLE_DEVICES="1")
    assert (uuids, left) == (["GPU-2"], "1")


def test_a_machine_file_replaces_detection_and_a_foreign_jaxlib_is_not_applied(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text(
        json.dumps(
            {"gpus": [{"compute_capability": "9.0", "memory_bytes": 85899345920, "count": 8}], "jaxlib": "0.5.1"}
        )
    )
    code = """
import os, jaxgpu_tune
report = jaxgpu_tune.configure("fsdp")
tell([report.applied, len(report.machine.gpus), "XLA_FLAGS" in os.environ, [f.code for f in report.findings if f.severity == "error"]])
"""
    assert told(code, JAXGPU_TUNE_MACHINE=str(file)) == [False, 8, False, ["other-machine"]]


def test_findings_reach_stderr_without_any_set_up_and_once() -> None:
    code = "import jaxgpu_tune; jaxgpu_tune.configure(); jaxgpu_tune.configure()"
    ended = run(code, XLA_FLAGS="--xla_gpu_no_such_thing=1")
    assert ended.status == 0 and ended.stderr.count("xla_gpu_no_such_thing") == 1


def test_only_the_first_process_of_a_host_speaks() -> None:
    code = "import jaxgpu_tune; jaxgpu_tune.configure()"
    slurm = {
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NODELIST": "n1",
        "SLURM_NTASKS": "2",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_NTASKS_PER_NODE": "2",
    }
    quiet = run(code, XLA_FLAGS="--xla_gpu_no_such_thing=1", SLURM_PROCID="1", SLURM_LOCALID="1", **slurm)
    loud = run(code, XLA_FLAGS="--xla_gpu_no_such_thing=1", SLURM_PROCID="0", SLURM_LOCALID="0", **slurm)
    assert "no_such_thing" not in quiet.stderr and "no_such_thing" in loud.stderr


def test_inherited_damage_does_not_end_the_process() -> None:
    code = "import jaxgpu_tune; jaxgpu_tune.configure(); import jax; tell(len(jax.devices()))"
    broken = "\u2013\u2013xla_gpu_autotune_level=2 stray --xla_gpu_enable_async_collectives=true --xla_tpu_x=1 --xla_gpu_triton_gemm_any-false"
    ended = run(code, XLA_FLAGS=broken, XLA_PYTHON_CLIENT_MEM_FRACTION="75%")
    assert ended.value == 1, ended.stderr


def test_the_probe_has_the_last_word(tmp_path: Path) -> None:
    code = """
import jaxgpu_tune
report = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2}, probe=True)
from jaxgpu_tune.host.probe import probe
tell([report.xla_flags, sorted(probe("--xla_gpu_autotune_level=2 --xla_no_such=1 --xla_other").refused)])
"""
    expected = ["--xla_gpu_autotune_level=2", ["xla_no_such", "xla_other"]]
    assert told(code, XDG_CACHE_HOME=str(tmp_path)) == expected


def test_options_of_an_earlier_call_stay_and_none_means_jaxs_default() -> None:
    code = """
import jax, jaxgpu_tune
jaxgpu_tune.configure("single_gpu", jax_config={"jax_enable_x64": True})
jaxgpu_tune.configure("single_gpu")
stays = jax.config.jax_enable_x64
jax.config.update("jax_numpy_dtype_promotion", "strict")
report = jaxgpu_tune.configure("single_gpu", jax_config={"jax_numpy_dtype_promotion": None, "jax_optimization_level": None})
removed = jax.config.jax_numpy_dtype_promotion
report.restore()
tell([stays, removed, jax.config.jax_numpy_dtype_promotion])
"""
    assert told(code) == [True, "standard", "strict"]


@pytest.mark.parametrize("imported", [True, False])
@pytest.mark.parametrize("level", ["allow", None])
def test_a_guard_that_no_variable_carries_leaves_the_users_umbrella_alone(imported: bool, level: str | None) -> None:
    code = f"""
import os
{"import jax" if imported else ""}
import jaxgpu_tune
report = jaxgpu_tune.configure("single_gpu", jax_config={{"jax_transfer_guard_host_to_device": {level!r}}})
import jax
guards = [jax.config.jax_transfer_guard_host_to_device, jax.config.jax_transfer_guard_device_to_host]
tell([os.environ["JAX_TRANSFER_GUARD"], guards, [f.code for f in report.findings if "without" in f.code]])
"""
    assert told(code, JAX_TRANSFER_GUARD="log") == ["log", [level, "log"], ["option-without-variable"]]


@pytest.mark.parametrize("state", ['{"Q":[5,null],"A=B":["1",null]}', "[" * 100_000, "{"])
def test_a_damaged_marker_is_no_marker_and_a_plan_restores_nothing(state: str) -> None:
    code = """
import os, jaxgpu_tune
report = jaxgpu_tune.configure("single_gpu", flags={"xla_gpu_autotune_level": 2})
jaxgpu_tune.plan("fsdp").restore()
still = os.environ["XLA_FLAGS"]
report.restore()
tell([still, "XLA_FLAGS" in os.environ])
"""
    assert told(code, JAXGPU_TUNE_STATE=state) == ["--xla_gpu_autotune_level=2", False]
