"""The tool that reads flags off binaries finds in the installed jaxlib what is committed for its release."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.tables import DATA
from tools.read_flags.committed import BUILDS, FLAGS, HELP, Tables, builds_text, flags_text, tables_of, texts
from tools.read_flags.merge import UnfitError, merged
from tools.read_flags.wheels import UnknownReleaseError, Wheel, chosen, fetch, order

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
def test_the_wheel_of_the_first_release_reads_as_committed(tmp_path: Path) -> None:
    assert_reads_as_committed("0.4.18", fetch(Wheel("jaxlib", "0.4.18"), tmp_path), tmp_path / "read.json")


def assert_reads_as_committed(release: str, library: Path, out: Path) -> None:
    """Every flag of the binary is in the table with all that the binary answers about it, and no other is."""
    command = [sys.executable, "-m", "tools.read_flags.read", str(library), str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    read = by_name(flags_of({release: json.loads(out.read_text())}))
    assert set(read) == set(known.flags(release))
    committed = by_name((ROOT / "jaxgpu_tune/knowledge/data/flags.tsv").read_text())
    for name, entry in read.items():
        assert state(committed[name]["history"], release) == entry["history"][0][1], name


def flags_of(jaxlib: dict[str, Any]) -> str:
    """The table of flags, had nothing but these releases ever been read."""
    return flags_text(merged(Tables(), {"jaxlib": jaxlib}))


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
    told = by_name(flags_of(jaxlib))
    assert told == {
        "a": {"type": "bool", "history": [["1.0", {"default": "true"}], ["1.2", {"default": "false"}]]},
        "b": {"type": "bool", "history": [["1.1", {"default": "true"}], ["1.2", None]]},
    }
    assert list(told) == ["a", "b"]
    assert json.loads(builds_text(merged(Tables(), {"jaxlib": jaxlib})))["options_without_flag"] == {
        "bare": [["1.0", True]]
    }


def test_a_plugin_is_held_against_its_jaxlib() -> None:
    assert differences(read("true")) == {}
    found = differences(read("false", "b"))
    assert found == {"1.0": {"a": {"default": "false"}, "b": {"default": "false"}}}


def differences(plugin: dict[str, object]) -> Any:
    told = builds_text(merged(Tables(), {"jaxlib": {"1.0": read("true")}, "jax-cuda12-pjrt": {"1.0": plugin}}))
    return json.loads(told)["plugin_differences"]["jax-cuda12-pjrt"]


def committed() -> dict[str, str]:
    return {name: Path(DATA, name).read_text() for name in (BUILDS, FLAGS, HELP)}


def test_what_is_committed_is_in_the_canonical_form() -> None:
    """Also one that nothing is lost of on the way through what holds in each release."""
    assert texts(tables_of(committed())) == committed()


releases = st.dictionaries(
    st.sampled_from(["0.9.1", "0.10.0", "0.10.1", "0.11.0"]),
    st.builds(lambda default, names: read(default, *names), st.sampled_from(["true", "false"]), st.sets(st.just("b"))),
)


@given(releases, releases, st.booleans())
def test_in_whatever_steps_releases_are_read_the_tables_are_the_same(
    first: dict[str, Any], then: dict[str, Any], plugin: bool
) -> None:
    """Also a release between others, and one that is read again and is otherwise now."""
    more = {"jax-cuda12-pjrt": then} if plugin else {}
    before = texts(merged(Tables(), {"jaxlib": first}))
    stepwise = merged(tables_of(before), {"jaxlib": then, **more})
    assert texts(stepwise) == texts(merged(Tables(), {"jaxlib": {**first, **then}, **more}))


def test_a_release_that_is_read_changes_what_is_said_of_it_alone() -> None:
    before = tables_of(committed())
    after = tables_of(texts(merged(before, {"jaxlib": {"0.10.5": read("true")}})))
    assert {r: there for r, there in after.releases.items() if r != "0.10.5"} == before.releases
    assert set(after.releases["0.10.5"].states) == {"a"}
    assert after.plugins == before.plugins
    assert {name: text for name, text in after.help.items() if name != "a"} == before.help


def test_the_help_is_of_the_newest_release_that_has_the_flag() -> None:
    def told(text: str) -> dict[str, Any]:
        facts: dict[str, Any] = read("true")
        return facts | {"flags": [flag | {"help": text} for flag in facts["flags"]]}

    new = merged(Tables(), {"jaxlib": {"1.1": told("new")}})
    assert merged(new, {"jaxlib": {"1.0": told("old")}}).help == {"a": "new"}
    assert merged(new, {"jaxlib": {"1.2": told("newer")}}).help == {"a": "newer"}


def test_what_the_tables_have_no_place_for_is_refused_by_name() -> None:
    with pytest.raises(UnfitError, match=r"jax-cuda13-pjrt 1\.0: .* read it too"):
        merged(Tables(), {"jax-cuda13-pjrt": {"1.0": read("true")}})
    facts: dict[str, Any] = read("true")
    other = facts | {"flags": [flag | {"type": "string"} for flag in facts["flags"]]}
    for one in ({"1.0": facts, "1.1": other}, {"1.1": other}):
        with pytest.raises(UnfitError, match=r"flags\.tsv holds one type a flag.*: a$"):
            merged(merged(Tables(), {"jaxlib": {"1.0": facts}}), {"jaxlib": one})


def test_an_unknown_release_is_told_with_the_nearest() -> None:
    assert chosen(["0.9.0"], known.releases(), "jaxlib") == {"0.9.0"}
    with pytest.raises(
        UnknownReleaseError, match=r"no jaxlib 0\.12\.00\. Nearest: .*0\.12\.0.*newest: 0\.12\.0\.1\."
    ) as told:
        chosen(["0.12.00", "7"], known.releases(), "jaxlib")
    assert "no jaxlib 7." in str(told.value)


def command(*words: str, tool: str = "read_flags") -> subprocess.CompletedProcess[str]:
    """The command itself, with nobody there to answer."""
    return subprocess.run(
        [sys.executable, "-m", f"tools.{tool}", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
def test_a_committed_release_read_anew_changes_nothing(tmp_path: Path) -> None:
    """Its wheel and that of a CUDA plugin, off the index, from an empty cache; also where a binary leaves a value undefined."""
    done = command("0.8.1", "--only", "jaxlib", "jax-cuda13-pjrt", "--cache", str(tmp_path), "--yes")
    assert done.returncode == 0, done.stderr
    assert [f"{name}: unchanged" in done.stdout for name in (BUILDS, FLAGS, HELP)] == [True] * 3


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["read_flags", "read_jax_options"])
def test_a_release_that_does_not_exist_writes_nothing(tool: str, tmp_path: Path) -> None:
    done = command("0.99.7", "--cache", str(tmp_path), "--yes", tool=tool)
    assert done.returncode == 2 and "has no jax" in done.stderr and "Nothing is written." in done.stderr
    assert list(tmp_path.iterdir()) == [] and "Traceback" not in done.stderr


@pytest.mark.parametrize("tool", ["read_flags", "read_jax_options"])
def test_without_a_release_the_tool_asks_for_one(tool: str) -> None:
    done = command(tool=tool)
    assert done.returncode == 2 and "name the releases" in done.stderr


@pytest.mark.parametrize("release", ["0.4.34", "0.8.1", "0.9.0.1"])
@pytest.mark.parametrize("looked", [{"fields": []}, {"undefined": True}, {"fields": ["a"], "effective": "true"}, {}])
def test_what_a_binary_leaves_undefined_is_never_a_fact(release: str, looked: dict[str, object]) -> None:
    """However one run looked, by chance, the table says the same."""
    found = by_name(flags_of({release: unrolling(looked)}))["xla_gpu_enable_while_loop_unrolling"]
    assert found["history"] == [[release, {"default": "AUTO", "effective": False, "undefined": True}]]


@pytest.mark.parametrize("release", ["0.9.1", "0.12.0.1"])
def test_what_is_defined_again_is_read(release: str) -> None:
    found = by_name(flags_of({release: unrolling({"fields": []})}))["xla_gpu_enable_while_loop_unrolling"]
    assert found["history"] == [[release, {"default": "AUTO", "fields": []}]]


def unrolling(looked: dict[str, object]) -> dict[str, object]:
    name = "xla_gpu_enable_while_loop_unrolling"
    flag = {"name": name, "type": "string", "default": "AUTO", "help": "", "fields": [name], "compile_option": True}
    return {"flags": [flag | looked], "options": {name: "enum"}, "rules": {}}
