"""The tool that reads flags off binaries finds in the installed jaxlib what is committed for its release."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.knowledge import flags as known
from tools.read_flags import merge
from tools.read_flags.wheels import Wheel, fetch, order

ROOT = Path(__file__).parents[2]


def installed() -> tuple[str, Path]:
    """(release, shared object with the flags) of the installed jaxlib."""
    from importlib.metadata import version

    spec = importlib.util.find_spec("jaxlib")
    if spec is None or spec.origin is None:
        pytest.skip("no jaxlib is installed")
    folder = Path(spec.origin).parent
    return version("jaxlib"), next(
        folder / n for n in ("libjax_common.so", "xla_extension.so") if (folder / n).exists()
    )


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
def test_the_installed_jaxlib_reads_as_committed(tmp_path: Path) -> None:
    release, library = installed()
    if release not in known.releases():
        pytest.skip(f"jaxlib {release} is in no table")
    assert_reads_as_committed(release, library, tmp_path / "read.json")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
@pytest.mark.parametrize("release", ["0.4.18", "0.4.26", "0.4.30", "0.5.3", "0.6.2", "0.7.1", "0.8.1", "0.10.2"])
def test_the_wheel_of_a_release_reads_as_committed(release: str, tmp_path: Path) -> None:
    assert_reads_as_committed(release, fetch(Wheel("jaxlib", release), tmp_path), tmp_path / "read.json")


def assert_reads_as_committed(release: str, library: Path, out: Path) -> None:
    """Every flag of the binary is in the table with all that the binary answers about it, and no other is."""
    command = [sys.executable, "-m", "tools.read_flags.read", str(library), str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    read = by_name(merge.flags_text({release: json.loads(out.read_text())}))
    assert set(read) == set(known.flags(release))
    committed = by_name((ROOT / "jaxgpu_tune/knowledge/data/flags.tsv").read_text())
    for name, entry in read.items():
        assert state(committed[name]["history"], release) == entry["history"][0][1], name


def by_name(text: str) -> dict[str, dict[str, Any]]:
    return {name: json.loads(entry) for name, entry in (line.split("\t") for line in text.splitlines())}


def state(history: list[list[object]], release: str) -> dict[str, object]:
    now: dict[str, object] = {}
    for since, change in history:
        if order(str(since)) <= order(release):
            now = {} if change is None else now | dict(change)  # type: ignore[call-overload]
    return {key: value for key, value in now.items() if value is not None}


def read(default: str, *more: str) -> dict[str, object]:
    flags = [{"name": n, "type": "bool", "default": default, "help": n, "fields": [n]} for n in ("a", *more)]
    return {"flags": flags, "options": {"a": 8, "bare": 8}, "rules": {"bool_digits": True}}


def test_merging_tells_each_change_once() -> None:
    jaxlib = {"1.0": read("true"), "1.1": read("true", "b"), "1.2": read("false")}
    told = by_name(merge.flags_text(jaxlib))
    assert told == {
        "a": {"type": "bool", "history": [["1.0", {"default": "true"}], ["1.2", {"default": "false"}]]},
        "b": {"type": "bool", "history": [["1.1", {"default": "true"}], ["1.2", None]]},
    }
    assert list(told) == ["a", "b"]
    assert json.loads(merge.builds_text({"jaxlib": jaxlib}))["options_without_flag"] == {"bare": [["1.0", True]]}


def test_a_plugin_is_held_against_its_jaxlib() -> None:
    assert merge.differences({"1.0": read("true")}, {"1.0": read("true")}) == {}
    found = merge.differences({"1.0": read("true")}, {"1.0": read("false", "b")})
    assert found == {"1.0": {"a": {"default": "false"}, "b": {"default": "false"}}}


@pytest.mark.parametrize("release", ["0.4.34", "0.8.1", "0.9.0.1"])
@pytest.mark.parametrize("looked", [{"fields": []}, {"undefined": True}, {"fields": ["a"], "effective": "true"}, {}])
def test_what_a_binary_leaves_undefined_is_never_a_fact(release: str, looked: dict[str, object]) -> None:
    """However one run looked, by chance, the table says the same."""
    found = by_name(merge.flags_text({release: unrolling(looked)}))["xla_gpu_enable_while_loop_unrolling"]
    assert found["history"] == [[release, {"default": "AUTO", "effective": False, "undefined": True}]]


@pytest.mark.parametrize("release", ["0.9.1", "0.12.0.1"])
def test_what_is_defined_again_is_read(release: str) -> None:
    found = by_name(merge.flags_text({release: unrolling({"fields": []})}))["xla_gpu_enable_while_loop_unrolling"]
    assert found["history"] == [[release, {"default": "AUTO", "fields": []}]]


def unrolling(looked: dict[str, object]) -> dict[str, object]:
    name = "xla_gpu_enable_while_loop_unrolling"
    flag = {"name": name, "type": "string", "default": "AUTO", "help": "", "fields": [name], "compile_option": True}
    return {"flags": [flag | looked], "options": {name: "enum"}, "rules": {}}
