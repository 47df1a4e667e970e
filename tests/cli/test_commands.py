"""The command line as a whole: wrong use, what cannot be read, older spellings, and what is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from tests.child import ROOT
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("env", "fdsp"), "fsdp"),
        (("env", "fsdp", "--flag", "xla_gpu_autotune_levle=1"), "xla_gpu_autotune_level"),
        (("env", "fsdp", "--flag", "xla_gpu_autotune_level"), "=VALUE"),
        (("env", "fsdp", "--format", "csh"), "fish"),
        (("flags", "--grep", "("), "regular expression"),
        (("run", "fsdp"), "COMMAND"),
        (("tune",), "COMMAND"),
        (("run", "--", "python"), "Name a preset first: jaxgpu-tune run auto -- python"),
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


@pytest.mark.parametrize(("option", "value"), [("--variable", "NCCL_DEBUG=INFO"), ("--no-variable", "NCCL_DEBUG")])
def test_an_older_spelling_works_with_a_note(option: str, value: str) -> None:
    """Once, on stderr; the newer one gives the same without."""
    old, new = (call("env", "fsdp", name, value) for name in (option, option.replace("variable", "env")))
    note = "--variable and --no-variable are called --env and --no-env now"
    assert (old.stdout, old.exit_code) == (new.stdout, new.exit_code)
    assert old.stderr.count(note) == 1 and note not in new.stderr
