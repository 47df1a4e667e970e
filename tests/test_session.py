"""Calls that meet: launcher and script, library and application, parent and child; and taking each back."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.host.marker import MARKER, follow
from tests.child import ROOT, clean_environ, run, told

LEVEL = "xla_gpu_autotune_level"
AFTER = {
    "file": ("flags.txt", "--xla_dump_to=/u --xla_gpu_autotune_level=3"),
    "stray word": ("--xla_dump_to=/u stray --xla_gpu_autotune_level=3", ""),
    "en dash": ("\u2013\u2013xla_dump_to=/u --xla_gpu_autotune_level=3", ""),
    "quotes": ('"--xla_dump_to=/u --xla_gpu_autotune_level=3"', ""),
    "blanks": ("--xla_dump_to = /u --xla_gpu_autotune_level=3", ""),
    "comment": ("--xla_dump_to=/u --xla_gpu_autotune_level=3 # mine", ""),
}


def after(base: dict[str, str], preset: str = "auto", **arguments: object) -> dict[str, str]:
    """The environment after one more call."""
    return jaxgpu_tune.environ(preset, base=base, **arguments)


def flags_of(environ: dict[str, str]) -> list[str]:
    """Each flag."""
    return environ.get("XLA_FLAGS", "").split()


def launched(options: list[str], code: str, **environ: str) -> str:
    """What a program prints that ``jaxgpu-tune run`` starts."""
    command = [sys.executable, "-m", "jaxgpu_tune", "run", *options, "--", sys.executable, "-c", code]
    done = subprocess.run(command, env=clean_environ(**environ), capture_output=True, text=True, check=True)
    return done.stdout


def test_random_histories() -> None:
    """Launcher, libraries, application, child, and a user's edits of every kind, against what should be in force."""
    code = "from tests.calls_machine import main; main(25); tell(True)"
    assert told(code, JAX_PLATFORMS="cpu", timeout=600)


def test_random_lives_of_processes() -> None:
    """With the real jax, before and after its import and its start; the seeds are among those that found something."""
    assert told("from tests.lives import found; tell(found([1, 27, 35, 63, 1020]))", timeout=600) == []


O1, O2 = (["call", "configure", {"jax_config": {"jax_optimization_level": level}}] for level in ("O1", "O2"))
OTHER = ["call", "configure", {"flags": {"xla_gpu_autotune_level": "1"}}]
CHANGED, REMOVED = ["variable", 0, False], ["variable", 0, True]
UNREAD = (
    (["import"], O2, CHANGED, OTHER, ["child"], ["import"], OTHER),
    (O2, ["import"], CHANGED, OTHER, ["restore", 0], ["restore", 0]),
    (O2, ["import"], CHANGED, OTHER, ["child"], OTHER, ["import"]),
    (O2, ["import"], REMOVED, OTHER, ["child"], ["import"], OTHER),
    (O2, ["import"], CHANGED, OTHER, O1, ["child"], ["import"], OTHER),
)


@pytest.mark.slow
def test_a_variable_that_jax_does_not_read_again_changes_no_option_of_this_process() -> None:
    """It stays as the user has it, and a child reads it."""
    lives = [[["begin", {}, False], *life] for life in UNREAD]
    code = "import tempfile; from tests.lives import prepare, wrong_with; prepare(tempfile.mkdtemp()); "
    assert told(f"{code}tell(list(filter(None, map(wrong_with, {lives}))))", timeout=600) == []


def test_it_is_told_that_such_a_variable_is_not_read() -> None:
    code = """
import os, jaxgpu_tune
jaxgpu_tune.configure(jax_config={"jax_optimization_level": "O2"})
import jax
os.environ["JAX_OPTIMIZATION_LEVEL"] = "O1"
report = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
tell([jax.config.jax_optimization_level, "JAX_OPTIMIZATION_LEVEL" in report.environ, [(f.code, f.message) for f in report.findings]])
"""
    level, written, ((code, message),) = told(code)
    assert (level, written, code) == ("O2", False, "variable-after-import")
    assert "set to O1 after `import jax`" in message and "jax_optimization_level stays O2 here" in message


@pytest.mark.slow
def test_many_random_lives_of_processes() -> None:
    """The same, longer."""
    assert told("from tests.lives import found; tell(found(range(40)))", timeout=3000) == []


@pytest.mark.slow
def test_many_random_histories() -> None:
    """The same, longer."""
    assert told("from tests.calls_machine import main; main(100); tell(True)", JAX_PLATFORMS="cpu", timeout=3000)


def test_what_run_is_given_stays_under_a_configure_in_the_script(tmp_path: Path) -> None:
    code = """
import jaxgpu_tune as j, os, json
r = j.configure('auto')
print(json.dumps([r.preset, os.environ.get('XLA_CLIENT_MEM_FRACTION'), os.environ['XLA_FLAGS'], os.environ['JAX_COMPILATION_CACHE_DIR']]))
print([d.source for d in r.decisions if d.name == 'XLA_CLIENT_MEM_FRACTION'])
"""
    options = ["simulation", "--memory-fraction", "0.4", "--flag", f"{LEVEL}=2", "--compilation-cache", str(tmp_path)]
    first, sources = launched(options, code).splitlines()
    assert json.loads(first) == ["simulation", "0.4", f"--{LEVEL}=2", str(tmp_path)]
    assert sources == "['jaxgpu-tune run, argument memory_fraction']"


@pytest.mark.parametrize("form", ["sh", "docker"])
def test_what_env_prints_stays_under_a_configure_in_the_script(form: str) -> None:
    command = [sys.executable, "-m", "jaxgpu_tune", "env", "auto", "--memory-fraction", "0.4", "--format", form]
    printed = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, check=True).stdout
    if form == "docker":
        environ = dict(line.split("=", 1) for line in printed.splitlines())
    else:
        shown = subprocess.run(["sh", "-c", f"{printed}\nenv -0"], env={}, capture_output=True, text=True, check=True)
        environ = dict(line.split("=", 1) for line in shown.stdout.split("\0") if line)
    report = jaxgpu_tune.plan(environ=environ)
    assert report.environ["XLA_CLIENT_MEM_FRACTION"] == "0.4"
    undone = [sys.executable, "-m", "jaxgpu_tune", "env", "--undo", "--format", "json"]
    done = subprocess.run(undone, env={**clean_environ(), **environ}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == dict.fromkeys(["JAXGPU_TUNE_STATE", "XLA_CLIENT_MEM_FRACTION"])


def test_undo_takes_nothing_beside_it() -> None:
    for words in (["fsdp"], ["--format", "docker"], ["--flag", f"{LEVEL}=2"]):
        command = [sys.executable, "-m", "jaxgpu_tune", "env", "--undo", *words]
        done = subprocess.run(command, env=clean_environ(), capture_output=True, text=True, check=False)
        assert done.returncode == 2 and not done.stdout and "--undo" in done.stderr


def test_a_librarys_call_leaves_what_the_application_asked_for() -> None:
    """Here with a live jax, and after the backend has started; no variable carries the last option into a child but the marker."""
    code = """
import json, os, subprocess, sys, jax, jaxgpu_tune
app = jaxgpu_tune.configure("auto", memory_fraction=.4, jax_config={"jax_enable_x64": True, "jax_transfer_guard_host_to_device": "log"})
library = jaxgpu_tune.configure("simulation")
there = [os.environ["XLA_CLIENT_MEM_FRACTION"], jax.config.jax_enable_x64]
jax.devices()
jaxgpu_tune.configure("simulation")
jaxgpu_tune.configure()
child = "import jaxgpu_tune, jax; jaxgpu_tune.configure(); print(jax.config.jax_transfer_guard_host_to_device, jax.config.jax_enable_x64)"
carried = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout.split()
app.restore()
left = [os.environ.get("XLA_CLIENT_MEM_FRACTION"), jax.config.jax_enable_x64]
tell([there, library.preset, left, carried])
"""
    assert told(code, JAX_PLATFORMS="cpu") == [["0.4", True], "simulation", [None, False], ["log", "True"]]


def test_presets_of_calls(tmp_path: Path) -> None:
    """A named one takes the place of a named one, and says so; auto takes the place of none."""
    (tmp_path / "mine.toml").write_text('[[set]]\nflag = "xla_dump_to"\nvalue = "/mine"\nreason = "tried"\n')
    mine = str(tmp_path / "mine.toml")
    first = after({}, mine, flags={LEVEL: 2})
    assert flags_of(first) == ["--xla_dump_to=/mine", f"--{LEVEL}=2"]
    assert flags_of(after(first)) == flags_of(first)
    report = jaxgpu_tune.plan("simulation", environ=first)
    (told_of,) = [finding for finding in report.findings if finding.code == "preset-displaced"]
    assert told_of.severity == "warning"
    assert all(name in told_of.message for name in ("'simulation'", mine, "an earlier environ()"))
    assert report.xla_flags == f"--{LEVEL}=2"
    (tmp_path / "mine.toml").unlink()
    assert "earlier-call-lost" in {finding.code for finding in jaxgpu_tune.plan(environ=first).findings}


def test_a_later_request_wins_and_names_the_loser() -> None:
    made = after({}, flags={LEVEL: 2}, memory_fraction=0.4, layer_bytes=1 << 20)
    report = jaxgpu_tune.plan(environ=made, flags={LEVEL: 3}, memory_fraction=0.5, layer_bytes=1 << 21)
    lost = [finding.message for finding in report.findings if finding.code == "overruled"]
    assert [message.split(" was asked for by an earlier environ()")[0] for message in lost] == [
        "memory_fraction=0.4",
        "layer_bytes=1048576",
        f"--{LEVEL}=2",
    ]
    assert report.xla_flags == f"--{LEVEL}=3" and report.environ["XLA_CLIENT_MEM_FRACTION"] == "0.5"
    with pytest.raises(jaxgpu_tune.BadSetting, match=f"{LEVEL}=2 was asked for"):
        jaxgpu_tune.plan(environ=made, flags={LEVEL: 3}, strict=True)


def test_none_removes_and_stays_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[set]]\nflag = "xla_dump_to"\nvalue = "/mine"\nreason = "tried"\n')
    made = after({"XLA_FLAGS": "--xla_dump_to=/u"}, flags={"xla_dump_to": None})
    assert flags_of(made) == flags_of(after(made, str(tmp_path / "mine.toml"))) == []
    assert flags_of(after(made, flags={"xla_dump_to": "/again"})) == ["--xla_dump_to=/again"]


def test_prefer_concerns_what_others_set(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[set]]\nflag = "xla_dump_to"\nvalue = "/mine"\nreason = "tried"\n')
    mine = str(tmp_path / "mine.toml")
    assert flags_of(after({"XLA_FLAGS": "--xla_dump_to=/u"}, mine, prefer="preset")) == ["--xla_dump_to=/mine"]
    made = after({"XLA_FLAGS": "--xla_dump_to=/u"}, flags={"xla_dump_to": "/asked"})
    assert flags_of(after(made, mine, prefer="preset")) == ["--xla_dump_to=/asked"]


def test_what_is_to_be_computed_is_remembered_as_it_was_asked_for() -> None:
    """The share of the memory from the GPUs of the process that goes on; a change of a list from the list there."""
    made = after({}, memory_fraction="auto", processes_per_gpu=2, flags={"xla_gpu_enable_command_buffer": "+WHILE"})
    calls = json.loads(made[MARKER])["calls"]
    assert calls[0][2]["memory_fraction"] == "auto"
    assert calls[0][2]["flags"] == {"xla_gpu_enable_command_buffer": "+WHILE"}
    machine = jaxgpu_tune.Machine.from_dict(
        {"gpus": [{"compute_capability": "9.0", "memory_bytes": 80 << 30}], "jaxlib": jaxgpu_tune.detect().jaxlib}
    )
    again = jaxgpu_tune.plan(environ={**made, "XLA_FLAGS": "--xla_gpu_enable_command_buffer=FUSION"}, machine=machine)
    assert 0.4 < float(again.environ["XLA_CLIENT_MEM_FRACTION"] or 0) < 0.5
    more = jaxgpu_tune.plan(environ=made, flags={"xla_gpu_enable_command_buffer": "+CONDITIONAL"})
    assert "WHILE" in more.xla_flags and "CONDITIONAL" in more.xla_flags


@pytest.mark.parametrize("kind", AFTER)
def test_what_was_repaired_stays_when_the_program_appends(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, content = AFTER[kind]
    monkeypatch.chdir(tmp_path)
    if content:
        Path(text).write_text(content)
    base = {"XLA_FLAGS": text}
    made = after(base)
    whole = ["--xla_dump_to=/u", f"--{LEVEL}=3", "--xla_force_host_platform_device_count=2"]
    longer = {**made, "XLA_FLAGS": made["XLA_FLAGS"] + " --xla_force_host_platform_device_count=2"}
    assert sorted(flags_of(after(longer))) == sorted(whole)
    assert follow(made).environ == base
    damaged = {**made, "XLA_FLAGS": made["XLA_FLAGS"] + " \u2013\u2013xla_force_host_platform_device_count=2 # so"}
    report = jaxgpu_tune.plan(environ=damaged)
    assert sorted(report.xla_flags.split()) == sorted(whole)
    assert {"typographic-dash", "comment"} <= {finding.code for finding in report.findings}


def test_a_flag_put_before_loses_as_it_does_for_xla() -> None:
    """Whether the later one is the user's or was asked for; what was asked for is told."""
    made = after({"XLA_FLAGS": f"--{LEVEL}=2"}, flags={"xla_dump_to": "/o"})
    assert f"--{LEVEL}=2" in flags_of(after({**made, "XLA_FLAGS": f"--{LEVEL}=4 {made['XLA_FLAGS']}"}))
    made = after({}, flags={LEVEL: 2})
    report = jaxgpu_tune.plan(environ={**made, "XLA_FLAGS": f"--{LEVEL}=3 {made['XLA_FLAGS']}"})
    assert report.xla_flags == f"--{LEVEL}=2"
    (found,) = [finding.message for finding in report.findings if finding.code == "request-holds"]
    assert f"--{LEVEL}=3 was set already; --{LEVEL}=2" in found


def test_one_of_ours_that_is_edited_is_the_users_and_the_others_stay_ours() -> None:
    made = after({"XLA_FLAGS": "--xla_dump_hlo_pass_re=x"}, flags={LEVEL: 2, "xla_dump_to": "/o"})
    edited = {**made, "XLA_FLAGS": made["XLA_FLAGS"].replace(f"{LEVEL}=2", f"{LEVEL}=3")}
    report = jaxgpu_tune.plan(environ=edited)
    assert f"--{LEVEL}=3" in report.xla_flags and "--xla_dump_to=/o" in report.xla_flags
    assert [f"--{LEVEL}=2" in f.message for f in report.findings if f.code == "request-edited"] == [True]
    assert set(flags_of(dict(follow(edited).environ))) == {"--xla_dump_hlo_pass_re=x", f"--{LEVEL}=3"}


def test_a_flag_that_equals_ours_is_the_users_where_the_user_appends_it() -> None:
    made = after({}, flags={LEVEL: 2})
    assert follow({**made, "XLA_FLAGS": made["XLA_FLAGS"] + f" --{LEVEL}=2"}).environ == {"XLA_FLAGS": f"--{LEVEL}=2"}


def test_a_flag_glued_to_ours_is_read_and_ours_stays_ours() -> None:
    made = after({}, flags={LEVEL: 2})
    glued = {**made, "XLA_FLAGS": made["XLA_FLAGS"] + "--xla_dump_to=/u"}
    assert follow(glued).environ == {"XLA_FLAGS": "--xla_dump_to=/u"}
    assert flags_of(after(glued)) == ["--xla_dump_to=/u", f"--{LEVEL}=2"]


def test_too_late_names_the_flags_and_whose_they_are() -> None:
    code = f"""
import jax, os, jaxgpu_tune
first = jaxgpu_tune.configure("simulation", flags={{"{LEVEL}": 2}})
jax.devices()
said = []
for again in (dict(flags={{"{LEVEL}": 3}}), dict(flags={{"xla_dump_to": "/o"}}), dict(flags={{"{LEVEL}": 2}}), {{}}):
    try:
        said.append(jaxgpu_tune.configure(**again).applied)
    except jaxgpu_tune.TooLate as error:
        said.append(str(error))
twice = [jaxgpu_tune.configure(flags={{"xla_dump_to": "/o"}}, late="warn") for _ in range(2)]
late = [[f.code for f in r.findings if f.code == "too-late"] for r in twice]
jaxgpu_tune.configure()
tell([said, late, os.environ["XLA_FLAGS"]])
"""
    said, late, flags = told(code, JAX_PLATFORMS="cpu")
    assert f"--{LEVEL}" in said[0] and "XLA_FLAGS" not in said[0]
    assert "An earlier call has put" in said[0] and "'simulation'" in said[0]
    assert "--xla_dump_to" in said[1] and "An earlier call" not in said[1]
    assert said[2:] == [True, True] and late == [["too-late"]] * 2 and flags == f"--{LEVEL}=2"


def test_calls_of_several_threads_are_whole() -> None:
    """After each round, the state of one of the calls; and after the last is taken back, nothing."""
    code = """
import os, threading, jaxgpu_tune
def flags(n): return {"xla_gpu_autotune_level": n % 4, "xla_dump_to": f"/{n}", "xla_dump_hlo_pass_re": str(n)}
wrong, reports = [], []
def work(n):
    try:
        reports.append(jaxgpu_tune.configure(flags=flags(n), env={"NCCL_DEBUG_FILE": str(n)}))
    except BaseException as error:
        wrong.append(repr(error))
for _ in range(15):
    threads = [threading.Thread(target=work, args=[n]) for n in (1, 2, 3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    n = int(os.environ["NCCL_DEBUG_FILE"])
    if sorted(os.environ["XLA_FLAGS"].split()) != sorted(f"--{k}={v}" for k, v in flags(n).items()):
        wrong.append(os.environ["XLA_FLAGS"])
for report in reports[::2] + reports[1::2]:
    report.restore()
tell([wrong, [name for name in os.environ if name.startswith(("XLA_", "NCCL_", "JAXGPU"))]])
"""
    assert told(code, JAX_PLATFORMS="cpu") == [[], []]


def test_a_call_in_a_signal_handler_or_at_the_end_does_not_wait_for_itself() -> None:
    """The handler's call comes in the midst of others, at places spread over the whole call: both are whole."""
    code = """
import atexit, os, signal, sys, jaxgpu_tune
calls, wrong, seen = [], [], {"steps": 0, "interrupt": 0}
def handler(*_):
    calls.append(jaxgpu_tune.configure(env={"NCCL_DEBUG": "INFO"}))
signal.signal(signal.SIGALRM, handler)
def step(*_):
    seen["steps"] += 1
    if seen["steps"] == seen["interrupt"]:
        signal.raise_signal(signal.SIGALRM)
def called(level, interrupt):
    seen.update(steps=0, interrupt=interrupt)
    sys.setprofile(step)
    jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": level})
    sys.setprofile(None)
    return seen["steps"]
jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 1}, env={"NCCL_DEBUG": "INFO"})
jaxgpu_tune.configure(env={"NCCL_DEBUG": "INFO"})
steps = called(1, interrupt=0)
for n in range(24):
    level = n % 3 + 1
    called(level, interrupt=1 + n * steps // 24)
    if os.environ["XLA_FLAGS"] != f"--xla_gpu_autotune_level={level}" or os.environ["NCCL_DEBUG"] != "INFO":
        wrong.append([n, os.environ["XLA_FLAGS"], os.environ.get("NCCL_DEBUG")])
atexit.register(lambda: print(jaxgpu_tune.configure().applied))
tell([len(calls), wrong])
"""
    ended = run(code, JAX_PLATFORMS="cpu")
    assert ended.value == [24, []], ended.stderr
    assert ended.stdout.splitlines()[-1] == "True"


def test_a_forked_process_calls_though_another_thread_held_the_lock() -> None:
    code = """
import os, threading, jaxgpu_tune
from jaxgpu_tune import session
held, done = threading.Event(), threading.Event()
def hold():
    with session._lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
if os.fork() == 0:
    jaxgpu_tune.configure()
    os._exit(7)
status = os.wait()[1]
done.set()
tell(os.waitstatus_to_exitcode(status))
"""
    assert told(code, JAX_PLATFORMS="cpu", timeout=300) == 7


def test_a_loop_of_calls_does_not_lengthen_the_marker() -> None:
    code = """
import os, jaxgpu_tune
sizes = []
for _ in range(12):
    jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
    jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 3})
    sizes.append(os.environ["JAXGPU_TUNE_STATE"].count("configure()"))
tell(sizes)
"""
    assert max(told(code, JAX_PLATFORMS="cpu")) <= 4


def test_the_preset_variable_overrules_code_and_not_what_is_typed() -> None:
    code = "import jaxgpu_tune; print(jaxgpu_tune.configure().preset, jaxgpu_tune.configure('debug').preset)"
    assert launched(["simulation"], code, JAXGPU_TUNE_PRESET="decode").split() == ["simulation", "decode"]
    magic = "from jaxgpu_tune.notebook import configure_line; tell(configure_line('simulation').preset)"
    assert told(magic, JAXGPU_TUNE_PRESET="decode") == "simulation"


def test_the_options_of_one_function_are_its_own() -> None:
    """What other calls have put in force is in force already, and their presets are displaced by nothing here."""
    code = """
import jaxgpu_tune
jaxgpu_tune.configure("debug", flags={"xla_gpu_autotune_level": 2})
tell(jaxgpu_tune.compiler_options("simulation", flags={"xla_gpu_enable_triton_gemm": False}))
"""
    ended = run(code, JAX_PLATFORMS="cpu")
    assert ended.value == {"xla_gpu_enable_triton_gemm": False} and "displaced" not in ended.stderr
    assert "takes the place" not in ended.stderr, os.linesep.join(ended.stderr.splitlines())


def example(name: str, folder: Path) -> list[str]:
    """What a shipped example gives to ``jaxgpu-tune run``, up to the program."""
    text = (ROOT / "examples" / name).read_text()
    if name.endswith(".yaml"):
        words = json.loads(re.sub(r"[\w-]*[a-z-]\w*", r'"\g<0>"', re.search(r"command: (\[.*\])", text)[1]))  # type: ignore[index]
    else:
        words = shlex.split(re.search(r"srun (jaxgpu-tune .*) --", text)[1].replace("$PWD", str(folder)))  # type: ignore[index]
    return [word for word in words[2:] if word != "--"]


@pytest.mark.parametrize(
    ("name", "variable"),
    [("slurm_array.sh", "JAX_COMPILATION_CACHE_DIR"), ("kubernetes_job.yaml", "XLA_CLIENT_MEM_FRACTION")],
)
def test_the_shipped_examples_honour_what_the_launcher_is_given(name: str, variable: str, tmp_path: Path) -> None:
    """The real decorated entry point; in the training's place stands what tells of its environment."""
    (tmp_path / "decorated_training.py").write_text((ROOT / "examples" / "decorated_training.py").read_text())
    teller = f"import os\ndef size_from(): ...\ndef train(_): return os.environ.get({variable!r})"
    (tmp_path / "sharded_transformer.py").write_text(teller)
    code = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); runpy.run_path({str(tmp_path / 'decorated_training.py')!r}, run_name='__main__')"
    wanted = {"JAX_COMPILATION_CACHE_DIR": f"{tmp_path}/jax_cache", "XLA_CLIENT_MEM_FRACTION": "0.9"}
    assert launched(example(name, tmp_path), code).split() == [wanted[variable]]


def test_a_child_that_makes_its_parents_call_takes_back_its_own_alone() -> None:
    code = """
import jaxgpu_tune, json, os
before = dict(os.environ)
report = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
again = jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2})
made = dict(os.environ)
again.restore()
same = dict(os.environ) == made
report.restore()
tell([same, dict(os.environ) == before, os.environ.get("XLA_FLAGS")])
"""
    parent = after({}, flags={LEVEL: 2})
    parent = {**parent, MARKER: parent[MARKER].replace("environ()", "configure()")}
    assert told(code, **parent) == [True, True, f"--{LEVEL}=2"]
    assert told(code) == [True, True, None]
