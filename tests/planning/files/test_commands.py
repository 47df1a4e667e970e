"""Commands in quotes are read as the shell reads them; what is set for no program is told."""

from __future__ import annotations

import json
import subprocess
from functools import partial

import pytest

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.planning.files.commands import is_command, is_lost, keeps, lost_in
from jaxgpu_tune.planning.files.file_faults import file_faults
from tests.planning.files.flags_in_files import rewritten
from tests.planning.files.test_shell import values

A, B = "--xla_a=1", "--xla_b=2"
RUNNERS = (
    "bash -c {}",
    "sh -ec {}",
    "/bin/bash -lc {}",
    "srun -n 2 bash -c {}",
    "docker exec -it box bash -lc {}",
    "su - user -c {}",
    "ssh -p 22 host {}",
    "eval {}",
    "sbatch --wrap={}",
    "gcloud compute ssh vm --command={}",
    'CMD ["bash", "-c", {}]',
)
OTHERS = ("echo {}", "python -c {}", "grep {} file", "x={}", "awk {} file")


def found(text: str, kind: str = "shell") -> list[tuple[int, str]]:
    """(line, code) of each fault, for jaxlib 0.11.2."""
    reader = partial(file_faults, check=checker("0.11.2"), migrate=migrator("0.11.2"))
    return [(one.place.line, one.finding.code) for one in reader(text, kind)]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    "quoted", [f"'XLA_FLAGS=\"{A} {B}\" python t.py'", f"\"cd x; export XLA_FLAGS='{A} {B}' && python t.py\""]
)
def test_a_command_in_quotes_is_read_as_a_shell_s(runner: str, quoted: str) -> None:
    assert values(f"first\n{runner.format(quoted)}\nlast\n") == [f"{A} {B}"]


@pytest.mark.parametrize("other", OTHERS)
def test_what_else_is_in_quotes_is_no_command(other: str) -> None:
    """It may be said, searched for or kept."""
    assert values(other.format(f"'XLA_FLAGS=\"{A}\" python'")) == ["XLA_FLAGS is set within quotes"]


@pytest.mark.parametrize(
    "inner", ["XLA_FLAGS='{}' run", 'XLA_FLAGS=\\"{}\\" run', "XLA_FLAGS={} run; XLA_FLAGS={} run"]
)
def test_a_flag_in_a_command_in_quotes_is_written_as_those_quotes_ask(inner: str) -> None:
    """The shells read the new text as they read the old one."""
    old = f'bash -c "{inner.replace("{}", "--xla_gpu_graph_level=1")}"\n'
    show = "run() { printf '%s|' \"$XLA_FLAGS\"; }; export -f run; "
    done = subprocess.run(["bash", "-c", show + rewritten(old, "shell")], capture_output=True, text=True, check=True)
    assert done.stdout == "--xla_gpu_enable_command_buffer=FUSION|" * inner.count("{}")


@pytest.mark.parametrize(
    "call",
    ["os.system({})", "os.popen({}).read()", "subprocess.run({}, shell=True)", "getoutput({})", "run(f{}, shell=True)"],
)
def test_what_python_hands_to_a_shell_is_read_as_a_shell_s(call: str) -> None:
    old = call.format('"XLA_FLAGS=\'--xla_gpu_graph_level=1 --xla_gpu_autotune_level=2\' python \\"t.py\\""')
    assert rewritten(old, "python") == old.replace("--xla_gpu_graph_level=1", "--xla_gpu_enable_command_buffer=FUSION")
    assert found(f"\n{old}\n", "python") == [(2, "flag-translated")]


@pytest.mark.parametrize(
    "around",
    [
        "command: [bash, -c]\nargs: [{}]\n",
        "command:\n- bash\n- -c\nargs:\n- {}\n",
        "args:\n- -c  # so\n- {}\ncommand: [sh]\n",
        "entrypoint: [{}]\n",
        "script:\n  - cd x\n  - {}\n",
    ],
)
@pytest.mark.parametrize("export", ["", "export "])
@pytest.mark.parametrize("command", ["\"{}XLA_FLAGS='{}' {}python t.py\"", "'{}XLA_FLAGS=\"{}\" {}python t.py'"])
def test_an_item_of_what_a_container_runs_is_read_as_a_shell_s(around: str, export: str, command: str) -> None:
    """With the shell in another item, before it or behind it, or as the image has it."""
    old = around.format(command.format(export, "--xla_gpu_graph_level=1 --xla_dump_to=x", "&& " if export else ""))
    assert [code for _, code in found(old, "yaml")] == ["flag-translated"]
    assert rewritten(old, "yaml") == old.replace("--xla_gpu_graph_level=1", "--xla_gpu_enable_command_buffer=FUSION")


def test_an_item_without_quotes_is_read_as_a_shell_s() -> None:
    assert found("args:\n- XLA_FLAGS='--xla_gpu_graph_level=1 --xla_dump_to=x' python t.py\n", "yaml") == [
        (2, "flag-translated")
    ]


def test_an_item_of_flags_alone_is_one_setting() -> None:
    """As of ``command: [env]``; so is an item of a list of variables."""
    for key in ("args", "environment"):
        text = f"{key}:\n- XLA_FLAGS=--xla_gpu_autotune_level=2 --xla_gpu_graph_level=1\n"
        assert [code for _, code in found(text, "yaml")] == ["flag-translated"]


def test_each_quoted_command_has_its_line_and_its_variables() -> None:
    text = "bash -c '\nexport NCCL_DEBUGG=INFO\nXLA_FLAGS=--xla_gpu_graph_level=0 python t.py'\n"
    assert found(text) == [(2, "unknown-variable"), (3, "flag-translated")]
    through = 'F=--xla_gpu_graph_level=0\nbash -c "XLA_FLAGS=$F python"\n'
    assert found(through) == [(1, "flag-translated")]


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("export X=1", True),
        ("X=1", True),
        ("export -n A=2 X=1 B='a b' # so", True),
        ("cd a; export X=1; echo $X", True),
        ("export X=1; mkdir -p /x && cd /x", True),
        ("export X=1; pip install .", False),
        ("export X=1 && true &&\\\n unset Y", True),
        ("X=1 python t.py", False),
        ("export X=1; python t.py", False),
        ("export X=1 && ./echo", False),
        ("docker run -e X=1", False),
        ("env X=1 python", False),
        ("export X=1; exec bash", False),
    ],
)
def test_what_ends_with_its_shell_is_lost(text: str, lost: bool) -> None:
    assert is_lost(text, text.index("X=1")) is lost


@pytest.mark.parametrize(
    ("text", "shell", "stays"), [("bash -c 'x'", True, False), ("eval 'x'", True, True), ("echo 'x'", False, False)]
)
def test_which_shell_runs_it(text: str, shell: bool, stays: bool) -> None:
    at = text.index("'")
    assert (is_command(text, at), keeps(text, at)) == (shell, stays)


def notebook(*lines: str) -> str:
    """One cell of code."""
    return json.dumps({"cells": [{"cell_type": "code", "source": "\n".join(lines)}]})


IN_VAIN = (
    ("notebook", notebook("!export {}")),
    ("notebook", notebook("%%bash", "cd x", "export {}")),
    ("dockerfile", "FROM a\nRUN pip install jax && \\\n  export {}\n"),
    ("makefile", "train:\n\t@export {}\n\tpython t.py\n"),
    ("shell", "bash -c 'export {}'\npython t.py\n"),
    ("shell", 'ssh host "export {}"\n'),
    ("shell", "(export {})\npython t.py\n"),
    ("shell", "(cd x && export {} A='(' B=$(pwd))\npython t.py\n"),
    ("yaml", "command: [bash, -c]\nargs: ['export {}']\n"),
    ("python", "import os\nos.system('export {}')\n"),
    ("python", "import subprocess\nsubprocess.run(f'cd {d}; export {}', shell=True)\n".replace("{d}", "{{d}}")),
)
IN_FORCE = (
    ("notebook", notebook("!export {} && python t.py")),
    ("notebook", notebook("%env {}")),
    ("notebook", notebook("%%bash", "export {}", "python t.py")),
    ("dockerfile", "FROM a\nENV {}\n"),
    ("dockerfile", "FROM a\nRUN export {} && python t.py\n"),
    ("makefile", "train:\n\t@export {}; \\\n\tpython t.py\n"),
    ("makefile", ".ONESHELL:\ntrain:\n\texport {}\n\tpython t.py\n"),
    ("python", "import os\nos.system('export {}; python t.py')\n"),
    ("python", "import subprocess\nsubprocess.run('export {}')\n"),
    ("shell", "export {}\n"),
    ("shell", "(export {}; python t.py)\n"),
    ("shell", "(export {}; echo $(python t.py))\n"),
    ("shell", '(export {}; [ -n "$(python t.py)" ])\n'),
    ("shell", '(export {}; N="$(python t.py)"; M=$(python u.py))\n'),
    ("shell", "(export {}; echo `python t.py`)\n"),
    ("shell", "f() { export {}; }\nf\npython t.py\n"),
    ("yaml", "script:\n- 'export {}'\n- python t.py\n"),
    ("yaml", "environment:\n- {}\nargs: [train]\n"),
    ("shell", "eval 'export {}'\npython t.py\n"),
)


@pytest.mark.parametrize("setting", ["XLA_FLAGS=--xla_gpu_autotune_level=2", "NCCL_DEBUG=INFO"])
def test_what_is_set_in_vain_is_told_and_nothing_else_is(setting: str) -> None:
    """Of XLA_FLAGS and of the other variables."""
    for kind, text in IN_VAIN:
        assert [code for _, code in found(text.replace("{}", setting), kind)] == ["set-in-vain"], text
    for kind, text in IN_FORCE:
        assert found(text.replace("{}", setting), kind) == [], text


def test_what_is_lost_counts_beside_nothing() -> None:
    """Both names of the fraction would be an error."""
    text = "bash -c 'export XLA_CLIENT_MEM_FRACTION=0.5'\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=0.5\n"
    assert found(text) == [(1, "set-in-vain")]


def test_no_line_around_a_place_loses_nothing() -> None:
    import re

    assert list(lost_in("x", [], re.compile("(?P<body>x)"), "y")) == []
