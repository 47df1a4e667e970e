"""XLA_FLAGS inside files of every kind: what is old is rewritten or named, and nothing else is touched."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.planning.files.file_kinds import file_kind
from jaxgpu_tune.planning.files.rewrite import rewrite
from jaxgpu_tune.render.patch import unified
from tests.planning.files.flags_in_files import OLD, migrate, rewritten

FILES = Path(__file__).parent / "samples"
NAMES = sorted(path.name.removesuffix(".txt") for path in FILES.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_applies_and_is_needed_once(name: str, tmp_path: Path) -> None:
    """Both with patch and with git; what comes out needs no further change."""
    text = (FILES / f"{name}.txt").read_text(encoding="utf-8")
    kind = file_kind(name, text)
    assert kind is not None
    new = rewritten(text, kind)
    patch = unified(name, text, new)
    commands = [command for command in (["patch", "-p0"], ["git", "apply", "-p0", "-"]) if shutil.which(command[0])]
    assert commands
    for command in commands:
        (tmp_path / name).write_text(text, encoding="utf-8")
        subprocess.run(command, cwd=tmp_path, input=patch, text=True, encoding="utf-8", check=True, capture_output=True)
        assert (tmp_path / name).read_text(encoding="utf-8") == new
    assert rewrite(new, kind, migrate).changes == ()


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_the_ends_of_lines_stay(ending: str, tmp_path: Path) -> None:
    """Also where the file does not end with one."""
    text = ending.join(["FROM x", "ENV XLA_FLAGS=--xla_gpu_graph_level=0", "ENV A=1"])
    new = rewritten(text, "dockerfile")
    assert new == text.replace("--xla_gpu_graph_level=0", "--xla_gpu_enable_command_buffer=")
    (tmp_path / "Dockerfile").write_bytes(text.encode())
    patch = unified("Dockerfile", text, new).encode()
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=patch, check=True, capture_output=True)
    assert (tmp_path / "Dockerfile").read_bytes() == new.encode()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_old_is_rewritten_or_named(name: str) -> None:
    """Outside comments no flag of another time is passed over in silence, and comments stay as they are."""
    text = (FILES / f"{name}.txt").read_text(encoding="utf-8")
    kind = file_kind(name, text)
    assert kind is not None
    found = rewrite(text, kind, migrate)
    told = {change.place.line for change in found.left}
    for number, line in enumerate(found.text.split("\n"), 1):
        if "graph_level" in line and not line.lstrip().startswith("#"):
            assert number in told, line
    comments = re.compile(r"#[^\n\"']*$", re.MULTILINE)
    assert comments.findall(found.text) == comments.findall(text)


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("python", "import os\nos.environ['XLA_FLAGS'] = f'--xla_gpu_graph_level={n}'\n", "only when the program runs"),
        ("python", "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_graph' '_level=0'\n", "several parts"),
        ("python", "import sys\nsys.argv.append('--xla_gpu_graph_level=0')\n", "cannot be told"),
        ("shell", "echo 'XLA_FLAGS=--xla_gpu_graph_level=0 python'\n", "within quotes"),
        ("shell", "XLA_FLAGS=--xla_gpu_no_such=1\n", "no XLA flag of jaxlib 0.11.2 has that name"),
        ("shell", "cat <<E\nrun XLA_FLAGS=--xla_gpu_graph_level=0\nE\n", "here-document"),
        ("shell", 'if [[ "$XLA_FLAGS" != *"--xla_gpu_graph_level="* ]]; then x; fi\n', "cannot be told"),
    ],
)
def test_what_cannot_be_sure_is_left_and_named(kind: str, text: str, why: str) -> None:
    """With its line."""
    found = rewrite(text, kind, migrate)
    assert found.text == text and found.changes == ()
    (left,) = found.left
    assert why in left.why and text.split("\n")[left.place.line - 1].count("xla_gpu")


GRAPHS = "--xla_gpu_graph_level=0"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("python", "import os\nos.environ['XLA_FLAGS'] = (os.getenv('XLA_FLAGS', '') + ' GRAPHS').strip()\n"),
        (
            "python",
            "import os\nB = \"\"\"\nGRAPHS\n--xla_gpu_autotune_level=2\n\"\"\"\nos.environ['XLA_FLAGS'] = B.replace('\\n', ' ')\n",
        ),
        ("python", "flags = [\n    # one\n    'GRAPHS',\n]\nenv_vars['XLA_FLAGS'] += ' '.join(flags)\n"),
        ("python", "job(env={'XLA_FLAGS': 'GRAPHS'}, XLA_FLAGS='GRAPHS')\n"),
        ("python", "import os\nos.environ['XLA_FLAGS'] = ' '.join(base + ['GRAPHS'])\n"),
        ("python", "import os\nos.environ['XLA_FLAGS'] = ' '.join(['GRAPHS', *more] + base)\n"),
        ("python", "import os\nos.environ['XLA_FLAGS'] = mine or 'GRAPHS'\n"),
        ("python", "import os\nall = []\nall.append('GRAPHS')\nos.environ['XLA_FLAGS'] = ' '.join(all)\n"),
        ("python", "monkeypatch.setenv('XLA_FLAGS', 'GRAPHS' if a else f'{b} GRAPHS')\n"),
        ("shell", 'out=$(XLA_FLAGS="GRAPHS" python x.py | grep y)\n'),
        (
            "shell",
            'export XLA_FLAGS="--xla_gpu_all_reduce_combine_threshold_bytes=$((A/B))\n     GRAPHS\n  ${XLA_FLAGS:-}"\n',
        ),
        (
            "shell",
            "cat <<EOF > env.txt\nA=1\nXLA_FLAGS=--xla_gpu_autotune_level=1 \\\nGRAPHS \\\n--xla_dump_to=$D\nEOF\n",
        ),
        ("shell", "BASE='GRAPHS'\nALL=\"$BASE --xla_gpu_autotune_level=1\"\nXLA_FLAGS=$ALL python x.py\n"),
        ("shell", "singularity exec --env XLA_FLAGS='GRAPHS' x.sif y\n"),
        ("dockerfile", "FROM x\nARG XLA_FLAGS=GRAPHS\nENV A=b \\\n    # why\n    XLA_FLAGS='GRAPHS' \\\n    C=d\n"),
        ("yaml", "data:\n  XLA_FLAGS: >-\n    GRAPHS\n\n    --xla_gpu_autotune_level=2\n  B: c\n"),
        ("yaml", "env:\n- value: GRAPHS\n  name: XLA_FLAGS\n- name: B\n  value: x\n"),
        ("yaml", "env:\n{{- if x }}\n  - name: \"XLA_FLAGS\"\n    value: '{{ y }} GRAPHS'\n"),
    ],
)
def test_forms_that_people_write(kind: str, text: str) -> None:
    """As seen in public scripts, recipes and charts; every flag is found, the rest stays."""
    found = rewrite(text.replace("GRAPHS", GRAPHS), kind, migrate)
    assert found.text == text.replace("GRAPHS", OLD[GRAPHS])
    assert found.left == ()


@pytest.mark.parametrize(
    ("release", "value", "halves"),
    [
        ("0.6.2", "+WHILE,-FUSION", ("+WHILE", "-FUSION")),
        ("0.11.2", "FUSION,CONDITIONALS", ("FUSION,CONDITIONAL,WHILE",)),
        ("0.11.2", "+CONDITIONALS", ("+CONDITIONAL,+WHILE",)),
    ],
)
def test_a_flag_that_keeps_its_name_is_said_as_the_text_form_says_it(
    release: str, value: str, halves: tuple[str, ...]
) -> None:
    """What a shell puts before it holds on, so a change of a list stays a change."""
    flag = "--xla_gpu_enable_command_buffer="
    found = rewrite(f'XLA_FLAGS="$XLA_FLAGS {flag}{value}"\n', "shell", lambda one: jaxgpu_tune.migrate(one, release))
    said = " ".join(flag + half for half in halves)
    assert found.text == f'XLA_FLAGS="$XLA_FLAGS {said}"\n' and found.left == ()
    assert jaxgpu_tune.migrate(f"{flag}{value}", release).xla_flags == said
    assert "given again" not in "".join(change.why for change in found.changes)


@pytest.mark.parametrize(
    "text", ["os.environ['XLA_FLAGS'] = f'--xla_gpu_autotune_level={n}'\n", "# --xla_gpu_graph_level=0\n", ""]
)
def test_nothing_is_said_where_nothing_has_to_change(text: str) -> None:
    """A value that is not known does not matter where the flag is still there."""
    found = rewrite(text, "python", migrate)
    assert (found.text, found.changes, found.left) == (text, (), ())


@pytest.mark.parametrize(
    ("name", "first", "kind"),
    [
        ("Dockerfile", "", "dockerfile"),
        ("gpu.Dockerfile", "", "dockerfile"),
        ("a/b.ipynb", "", "notebook"),
        (".env.local", "", "dotenv"),
        ("job", "#!/bin/bash", "shell"),
        ("job", "#!/usr/bin/env python3", "python"),
        ("job", "", None),
    ],
)
def test_the_kind_of_a_file(name: str, first: str, kind: str | None) -> None:
    """By its name, else by its first line."""
    assert file_kind(name, f"{first}\n") == kind


GOES = "--xla_gpu_enable_async_collectives=true"
TURNS = ("--xla_gpu_graph_level=0", "--xla_gpu_enable_command_buffer=")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("devcontainer.json", '{{"containerEnv": {{"XLA_FLAGS": "{}"}}, "runArgs": ["-e", "XLA_FLAGS={}"]}}'),
        ("pixi.toml", "[activation.env]\nXLA_FLAGS = \"{}\"\nA = 'XLA_FLAGS={}'\n"),
        ("jax.lua", 'setenv("XLA_FLAGS", "{}")\npushenv("XLA_FLAGS", \'{}\')\n'),
        ("Makefile", "train:\n\tXLA_FLAGS='{}' XLA_FLAGS=\"{}\" python train.py\n"),
        ("image.def", '%environment\n    export XLA_FLAGS="{}"\n    export XLA_FLAGS={}\n'),
    ],
)
def test_other_files_are_known_by_their_names(name: str, text: str) -> None:
    """A table's value, a module file's call, what a recipe hands to the shell."""
    old, new = TURNS
    kind = file_kind(name, text)
    assert kind and rewritten(text.format(old, old), kind) == text.format(new, new)


@pytest.mark.parametrize(
    ("kind", "text", "new"),
    [
        ("python", "f = (\n    '--xla_a=1 '\n    '{} '\n    '--xla_b=1'\n)\nXLA_FLAGS = f\n", "f = (\n    '--xla_a=1 '\n    '--xla_b=1'\n)\nXLA_FLAGS = f\n"),
        ("shell", 'XLA_FLAGS="--xla_a=1 \\\n  {} \\\n  --xla_b=1"\n', 'XLA_FLAGS="--xla_a=1 \\\n  --xla_b=1"\n'),
        ("yaml", "env:\n- name: XLA_FLAGS\n  value: >-\n    --xla_a=1\n    {}\n    --xla_b=1\n", "env:\n- name: XLA_FLAGS\n  value: >-\n    --xla_a=1\n    --xla_b=1\n"),
        ("text", "--xla_a=1\n{}\n--xla_b=1\n", "--xla_a=1\n--xla_b=1\n"),
    ],
)  # fmt: skip
def test_a_line_of_which_nothing_is_left_goes(kind: str, text: str, new: str) -> None:
    """No empty quotes, no lone backslash, no blank line; also of two flags on that line."""
    assert rewritten(text.format(GOES), kind) == new
    assert rewritten(text.format(f"{GOES} {GOES}"), kind) == new


@pytest.mark.parametrize(
    ("kind", "text", "line", "why"),
    [
        ("shell", 'X=1\nexport XLA_FLAGS="--xla_gpu_graph_level=$L"\n', 2, "no such flag"),
        ("shell", "export XLA_FLAGS=--xla_gpu_no_such=1\n", 1, "no XLA flag"),
        ("python", "jit(f,\n  compiler_options={'xla_gpu_graph_level': 0})\n", 2, "--xla_gpu_enable_command_buffer="),
    ],
)
def test_what_would_end_the_process_is_named_as_fatal(kind: str, text: str, line: int, why: str) -> None:
    """With its line; the file is left as it is."""
    found = rewrite(text, kind, migrate)
    assert found.text == text and [(c.place.line, c.fatal) for c in found.left] == [(line, True)]
    assert why in found.left[0].why


def test_what_is_left_and_harmless_is_not_fatal() -> None:
    """A word that is no flag is told; a value known only at run time of a flag that is there is nothing."""
    text = 'XLA_FLAGS="--xla_gpu_autotune_level=$L intra_op_parallelism_threads=1 --xla_dump_to=x"\n'
    found = rewrite(text, "shell", migrate)
    assert [(c.before, c.fatal) for c in found.left] == [("intra_op_parallelism_threads=1", False)]


@pytest.mark.parametrize(
    ("flag", "left"),
    [
        ("--xla_gpu_enable_async_collectives=true", []),
        ("--xla_gpu_graph_level=0", [("--xla_gpu_enable_command_buffer=", False)]),
        ("--xla_gpu_autotune_level=2", [("--xla_gpu_autotune_level=2", False)]),
    ],
)
def test_a_missing_blank_is_told_of_what_stays(flag: str, left: list[tuple[str, bool]]) -> None:
    """What goes needs none, and what is put in its place ends no process."""
    found = rewrite(f'XLA_FLAGS="$XLA_FLAGS{flag}"\n', "shell", migrate)
    assert [(one.before, one.fatal) for one in found.left] == left
