"""The command line: what each command prints, where it prints it, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import jaxgpu_tune
from jaxgpu_tune.cli.group import COMMANDS, group

ROOT = Path(__file__).resolve().parents[2]
H100 = {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "memory_bytes": 85899345920, "count": 8}
OURS = ("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "TF_", "CUDA_")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight H100s and a clean environment; 140 columns."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"gpus": [H100], "jax": "0.11.2", "jaxlib": "0.11.2"}))
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", str(file))
    monkeypatch.setenv("COLUMNS", "140")
    return file


def call(*arguments: str) -> Result:
    """Run one command in this process."""
    return CliRunner().invoke(group, arguments, prog_name="jaxgpu-tune")


def program(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; ``code``: a Python program that ``run fsdp`` starts."""
    started = ["run", "fsdp", *arguments, "--", sys.executable, "-c", code, "a b", "--c"] if code else arguments
    command = [sys.executable, "-m", "jaxgpu_tune", *started]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str) -> None:
    """And shows in the list of all."""
    assert call(name, "--help").exit_code == 0
    assert f"\n  {name} " in call("--help").output


def test_env_is_code_that_a_shell_evaluates() -> None:
    """With it evaluated, a program finds the flags, and the marker that tells where they come from."""
    code = call("env", "fsdp").stdout
    done = subprocess.run(["sh", "-c", f"{code}\nenv -0"], env={}, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert "--xla_gpu_pipeline_all_gather=on" in found["XLA_FLAGS"]
    assert json.loads(found["JAXGPU_TUNE_STATE"])["calls"] == [[1, "jaxgpu-tune env", {"preset": "fsdp"}]]


def test_env_in_json_agrees_with_the_code() -> None:
    """``--json`` and ``--format json`` are the same."""
    changes = json.loads(call("env", "fsdp", "--json").stdout)
    assert changes == json.loads(call("env", "fsdp", "--format", "json").stdout)
    assert f"export XLA_FLAGS={shlex.quote(changes['XLA_FLAGS'])}" in call("env", "fsdp").stdout


def test_env_takes_every_kind_of_setting() -> None:
    """Flags, variables and options, set and removed; typed where options are."""
    given = ("--flag", "xla_gpu_autotune_level=2", "--variable", "NCCL_DEBUG=INFO", "--config", "jax_debug_nans=true")
    changes = json.loads(call("env", "fsdp", *given, "--memory-fraction", "0.5", "--json").stdout)
    assert "--xla_gpu_autotune_level=2" in changes["XLA_FLAGS"]
    assert changes["NCCL_DEBUG"] == "INFO"
    assert changes["JAX_DEBUG_NANS"].lower() in ("1", "true")
    assert "0.5" in {value for name, value in changes.items() if "MEM_FRACTION" in name}


@pytest.mark.parametrize("line", ["env fsdp --cuda-graphs --format json", "env fsdp --no-cuda-graphs --format json"])
def test_env_for_another_jaxlib_speaks_its_words(line: str) -> None:
    """As plan(jaxlib=) does."""
    code = json.loads(call(*line.split(), "--jaxlib", "0.5.1").stdout)
    wanted = "--no-" not in line
    assert code["XLA_FLAGS"] == jaxgpu_tune.plan("fsdp", jaxlib="0.5.1", cuda_graphs=wanted).xla_flags
    assert ("--xla_gpu_enable_command_buffer=" in code["XLA_FLAGS"].split()) is not wanted


def test_env_removes_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ``unset`` for a shell, null in JSON."""
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    assert "unset NCCL_DEBUG" in call("env", "fsdp", "--no-variable", "NCCL_DEBUG").stdout.split("\n")
    assert json.loads(call("env", "fsdp", "--no-variable", "NCCL_DEBUG", "--json").stdout)["NCCL_DEBUG"] is None


def test_env_keeps_findings_off_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to stderr, where no shell evaluates them."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_no_such_flag=1")
    result = call("env", "fsdp")
    assert "xla_gpu_no_such_flag" in result.stderr
    assert "no_such_flag" not in result.stdout.replace("JAXGPU_TUNE_STATE=", "\n").split("\n")[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("env", "fdsp"), "fsdp"),
        (("env", "fsdp", "--flag", "xla_gpu_autotune_levle=1"), "xla_gpu_autotune_level"),
        (("env", "fsdp", "--flag", "xla_gpu_autotune_level"), "=VALUE"),
        (("env", "fsdp", "--format", "csh"), "fish"),
        (("flags", "--grep", "("), "regular expression"),
        (("run", "fsdp"), "COMMAND"),
        (("run", "--", "python"), "COMMAND"),
        (("run", "fsdp", "--", ""), "name of the command is empty"),
        (("env", "--processes-per-gpu", "0"), "processes_per_gpu=0"),
        (("env", "--devices", "0"), "devices=0"),
        (("env", "--layer-bytes", "0"), "layer_bytes=0"),
        (("nonsense",), "nonsense"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_is_right(arguments: tuple[str, ...], told: str) -> None:
    """On stderr, without a traceback and with nothing on stdout."""
    result = call(*arguments)
    assert result.exit_code == 2 and told in result.stderr and not result.stdout
    assert "Traceback" not in result.stderr


def test_check_names_what_is_wrong_and_ends_with_1() -> None:
    """A text that begins with dashes is the text, not an option."""
    result = call("check", "--xla_gpu_autotune_levle=2", "--jaxlib", "0.11.2")
    assert "xla_gpu_autotune_levle" in result.output
    assert result.exit_code == (1 if "error" in result.output else 0)


def test_check_warns_of_a_text_that_xla_reads_in_part() -> None:
    """Of several changes to a list it applies the first, and the process lives: no 1."""
    result = call("check", "--xla_gpu_enable_command_buffer=+WHILE,-FUSION", "--jaxlib", "0.6.2")
    assert result.exit_code == 0 and "warning (flag-half-read)" in result.output
    assert call("check", "--xla_gpu_ftz=1", "--jaxlib", "0.4.19").exit_code == 1


def test_check_finds_nothing_wrong_in_a_good_text() -> None:
    """Given, or in the environment."""
    result = call("check", "--xla_gpu_autotune_level=2 --xla_dump_to=/tmp/x")
    assert (result.exit_code, result.output) == (0, "Nothing is wrong.\n")
    assert json.loads(call("check", "--json", "--xla_gpu_autotune_level=2").output) == []


def test_flags_are_those_of_the_release() -> None:
    """A flag that a release lacks is not listed; the objects have at least the four keys of the contract."""
    names = {release: _flags(release) for release in ("0.4.30", "0.11.2")}
    assert "xla_gpu_graph_level" in names["0.4.30"] and "xla_gpu_graph_level" not in names["0.11.2"]
    entry = names["0.11.2"]["xla_gpu_autotune_level"]
    assert entry["type"] == "int32" and entry["default"] == "4" and entry["compile_option"] is True


def _flags(release: str) -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in json.loads(call("flags", "--jaxlib", release, "--json").stdout)}


def test_flags_takes_the_installed_release_and_a_pattern() -> None:
    """The pattern may be written with the dashes."""
    lines = call("flags", "--grep", "--xla_gpu_autotune_level$").stdout.split("\n")
    assert [line.split() for line in lines if line] == [
        ["flag", "type", "default"],
        ["--xla_gpu_autotune_level", "int32", "4"],
    ]


def test_flags_says_where_no_name_matches() -> None:
    """Not on stdout, which is the list."""
    result = call("flags", "--grep", "GRAPH")
    assert result.exit_code == 0 and not result.stdout and "No flag of jaxlib 0.11.2 matches 'GRAPH'" in result.stderr


def test_presets_are_listed_with_their_kind() -> None:
    """In the table and in JSON."""
    found = {entry["name"]: entry["kind"] for entry in json.loads(call("presets", "--json").stdout)}
    assert found["fsdp"] == "maintained" and found["jax-toolbox"] == "published"
    assert all(name in call("presets").stdout for name in found)


def test_detect_writes_what_it_reads(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its JSON serves as a machine file."""
    first = call("detect", "--json").stdout
    machine.write_text(first)
    assert call("detect", "--json").stdout == first
    assert "8 x NVIDIA H100" in call("detect").stdout


DEEP = "[" * 100_000


@pytest.mark.parametrize("text", [DEEP, "{", "\udcff", None])
def test_a_machine_that_cannot_be_read_is_wrong_use(text: str | None, tmp_path: Path) -> None:
    """With one reader for the option and the variable."""
    file = tmp_path / "given.json"
    if text is not None:
        file.write_bytes(text.encode(errors="surrogateescape"))
    done = call("env", "fsdp", "--machine", str(file))
    assert done.exit_code == 2 and f"--machine '{file}' cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.toml", f"summary = {DEEP}", ("env", "{file}")),
        ("x.ipynb", DEEP, ("migrate", "--file", "{file}")),
        ("x.py", f"x = {'-' * 100_000}1", ("migrate", "--file", "{file}")),
        ("x", "", ("env", "fsdp", "--config", f"jax_debug_nans={DEEP}")),
    ],
)
def test_what_is_nested_without_end_is_wrong_use(name: str, text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    done = call(*(word.replace("{file}", str(tmp_path / name)) for word in words))
    assert done.exit_code == 2 and done.stderr.startswith("jaxgpu-tune: "), done


def test_the_version_is_told_by_the_library_itself() -> None:
    """Installed or not: a tree beside the program is enough."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxgpu_tune", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"jaxgpu-tune, version {jaxgpu_tune.__version__}\n"


@pytest.fixture
def this_jaxlib(machine: Path) -> None:
    """Eight H100s with the jaxlib that is installed: `run` changes nothing for another one."""
    machine.write_text(json.dumps({"gpus": [H100], "jax": version("jax"), "jaxlib": version("jaxlib")}))


@pytest.mark.usefixtures("this_jaxlib")
def test_run_is_the_program_itself() -> None:
    """Its arguments, output and exit code; its environment holds the flags."""
    code = "import os, sys; print(sys.argv[1:], os.environ['XLA_FLAGS'], os.getpid()); sys.exit(7)"
    command = [sys.executable, "-m", "jaxgpu_tune", "run", "fsdp", "--", sys.executable, "-c", code, "a b", "--c"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        told = process.communicate(timeout=600)[0]
    assert process.returncode == 7
    assert told.startswith("['a b', '--c'] ") and "double_buffering=true" in told
    assert told.split()[-1] == str(process.pid)


def test_run_passes_signals_on() -> None:
    """The program dies of its own signal."""
    code = f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})"
    assert program(code=code).returncode == -signal.SIGTERM


def test_run_tells_the_plan_as_json_on_stderr() -> None:
    """So that stdout is the program's own."""
    done = program("--json", code="print('mine')")
    assert done.stdout == "mine\n" and json.loads(done.stderr)["preset"] == "fsdp"


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/", 126)])
def test_run_ends_as_shells_do_where_nothing_can_be_run(command: str, code: int) -> None:
    """127: not found, 126: not executable."""
    done = program("run", "fsdp", "--", command)
    assert done.returncode == code and command in done.stderr


IMPORTS = """
import sys
from jaxgpu_tune.cli import main
for line in LINES:
    try:
        main(line.split())
    except SystemExit as end:
        assert not end.code, (line, end)
print(sorted({"jax", "jaxlib", "numpy", "rich", "click"} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("lines", "loaded"), [(("env fsdp", "check --xla_dump_to=x"), "[]"), (("presets", "detect"), "['click']")]
)
def test_no_command_loads_jax_and_those_in_a_hurry_load_neither_click_nor_rich(lines: list[str], loaded: str) -> None:
    """The command line must work where JAX is broken, and every shell and job waits for `env` and `check`."""
    code = IMPORTS.replace("LINES", repr(lines))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split("\n")[-2] == loaded


def test_explain_takes_a_name_as_one_types_it() -> None:
    """With dashes or without; JSON holds what the text tells."""
    assert call("explain", "--xla_gpu_autotune_level").output == call("explain", "xla_gpu_autotune_level").output
    told = json.loads(call("explain", "xla_gpu_autotune_level", "--json").output)
    assert told["name"] == "xla_gpu_autotune_level" and told["type"] == "int32"


def test_migrate_prints_the_text_and_nothing_else_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line or from the environment."""
    result = call("migrate", "--to", "0.11.2", "--xla_gpu_graph_level=0")
    assert result.stdout == "--xla_gpu_enable_command_buffer=\n"
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_graph_level=0")
    assert call("migrate", "--to", "0.11.2").stdout == result.stdout
    assert json.loads(call("migrate", "--to", "0.11.2", "--json").stdout)["xla_flags"] + "\n" == result.stdout


def test_diff_of_a_release_that_is_in_no_table_is_wrong_use() -> None:
    """It would compare another one."""
    result = call("diff", "9.9.9", "0.11.2")
    assert result.exit_code == 2 and "jaxlib 9.9.9 is in no table." in result.stderr and "0.12.0.1" in result.stderr


def test_diff_of_my_flags_where_none_are_set_says_so() -> None:
    """Not that nothing changed."""
    assert call("diff", "0.5.1", "0.11.2", "--mine").stdout == "There are no flags to look at: none are set.\n"
    unchanged = call("diff", "0.5.1", "0.11.2", "--flags=--xla_gpu_autotune_level=2").stdout
    assert unchanged == "Nothing changed from 0.5.1 to 0.11.2 about these flags.\n"


def test_diff_names_the_flags_that_neither_release_has() -> None:
    """That nothing changed about them would sound as if they were fine."""
    result = call("diff", "0.5.1", "0.11.2", "--flags=--xla_gpu_autotune_levle=2 --xla_gpu_graph_level=0")
    assert result.stderr == "Neither of the two has --xla_gpu_autotune_levle.\n"


def test_a_variable_of_which_only_its_reader_is_known_is_explained() -> None:
    """By what reads it."""
    result = call("explain", "NCCL_IB_HCA")
    assert result.exit_code == 0 and "NCCL reads a variable of this name." in result.stdout
    assert call("explain", "NCCL_IB_HCAS").exit_code == 2


def test_what_is_like_no_flag_gets_no_suggestion() -> None:
    """A beginning in common is not enough; a slip of the finger is found."""
    assert "Did you mean" not in call("explain", "xla_gpu_nope").stderr
    assert "Did you mean xla_gpu_autotune_level?" in call("explain", "xla_gpu_autotune_lvl").stderr


def test_bytes_that_are_no_text_are_not_offered_another_format() -> None:
    """None could carry them."""
    result = call("env", "single_gpu", "--variable", "FOO=\udcff", "--format", "dotenv")
    assert result.exit_code == 2 and "Change the value." in result.stderr and "--format json" not in result.stderr


@pytest.mark.parametrize(
    ("text", "status"), [("XLA_FLAGS=--xla_gpu_graph_level=0", 0), ("XLA_FLAGS=--xla_gpu_graph_level=$L", 1)]
)
def test_migrate_fails_while_a_fatal_flag_stays(text: str, status: int, tmp_path: Path) -> None:
    """The exit code says whether the file can be used; ``--as`` says what it is."""
    file = tmp_path / "settings"
    file.write_text(text)
    done = call("migrate", "--to", "0.11.2", "--file", str(file))
    assert done.exit_code == 2 and "--as sh|docker" in done.stderr
    done = call("migrate", "--to", "0.11.2", "--as", "sh", "--file", str(file))
    assert done.exit_code == status and ("would end the process" in done.stderr) is bool(status)


def test_migrate_reads_no_pipe(tmp_path: Path) -> None:
    """Which would wait for whoever writes to it."""
    os.mkfifo(tmp_path / "job.sh")
    result = call("migrate", "--to", "0.11.2", "--file", str(tmp_path / "job.sh"))
    assert result.exit_code == 2 and "no regular file" in result.output


@pytest.mark.parametrize(("option", "value"), [("--variable", "NCCL_DEBUG=INFO"), ("--no-variable", "NCCL_DEBUG")])
def test_an_older_spelling_works_with_a_note(option: str, value: str) -> None:
    """Once, on stderr; the newer one gives the same without."""
    old, new = (call("env", "fsdp", name, value) for name in (option, option.replace("variable", "env")))
    note = "--variable and --no-variable are called --env and --no-env now"
    assert (old.stdout, old.exit_code) == (new.stdout, new.exit_code)
    assert old.stderr.count(note) == 1 and note not in new.stderr


def test_a_misspelt_command_is_told_with_the_nearest_of_its_group() -> None:
    for line, near in ((("plam", "fsdp"), "'plan'"), (("pgle", "reccord"), "'record'")):
        told = call(*line)
        assert told.exit_code == 2
        assert f"Did you mean {near}?" in told.output
        assert "allowed: " in told.output


def test_run_without_a_preset_is_told_to_name_one_first() -> None:
    told = program("run", "--", "sh", "train script.sh")
    assert told.returncode == 2
    assert "Name a preset first: jaxgpu-tune run auto -- sh 'train script.sh'" in told.stderr
    assert "There is no preset" in program("run", "fsddp", "--", "true").stderr


def test_what_is_no_version_is_told_as_it_was_given() -> None:
    for line in (("migrate", "--to", "zzz", "--", "--xla_gpu_graph_level=0"), ("diff", "0.5.1", "zzz")):
        told = call(*line)
        assert told.exit_code == 2
        assert "'zzz' is no version of jaxlib. Allowed: a version such as" in told.output
