"""Plans for which the installed binaries are asked, in processes in which the installed jaxlib calls itself a nightly build."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from jaxgpu_tune.host import packages
from jaxgpu_tune.knowledge import flags as known
from tests.child import told
from tests.host.counted import REAL, count, counting

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and reads ELF files")
GOOD = "--xla_gpu_autotune_level=2"
NIGHTLY = "0.12.0.1.dev20260101+abc"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


PRETEND = f"""
import sys
import jaxgpu_tune
from jaxgpu_tune import api, pipeline
from jaxgpu_tune.host import detect, packages, probe
here = packages.installed_versions()._replace(jax={NIGHTLY!r}, jaxlib={NIGHTLY!r})
for module in (api, pipeline, detect, probe):
    module.installed_versions = lambda: here
def codes(report):
    return sorted({{f.code for f in report.findings}} & {{"unknown-build", "probe-failed", "unknown-flag", "not-probed"}})
"""


def pretending(code: str, tmp_path: Path, then: str = f'exec {REAL} "$@"') -> object:
    """What a process tells in which the installed jaxlib calls itself a nightly build."""
    prelude = f"{PRETEND}\nsys.executable = {str(counting(tmp_path, then))!r}\n"
    return told(prelude + code, XDG_CACHE_HOME=str(tmp_path / "cache"))


def test_a_build_in_no_table_is_asked(tmp_path: Path) -> None:
    code = """
report = jaxgpu_tune.plan("auto", flags={"xla_gpu_autotune_level": 2}, environ={})
tell([report.xla_flags, codes(report), any("were asked" in f.hint for f in report.findings)])
"""
    assert pretending(code, tmp_path) == [GOOD, ["unknown-build"], True]
    assert pretending(code, tmp_path) == [GOOD, ["unknown-build"], True]
    assert count(tmp_path) == 1


def test_a_build_in_no_table_is_not_asked_with_probe_false(tmp_path: Path) -> None:
    code = 'tell(jaxgpu_tune.plan(flags={"xla_gpu_autotune_level": 2}, environ={}, probe=False).xla_flags)'
    assert pretending(code, tmp_path) == GOOD and count(tmp_path) == 0


def test_what_the_binary_refuses_is_left_out(tmp_path: Path) -> None:
    """The nearest releases have the flag; a fake interpreter says that this build has not."""
    answer = '{"jaxlib": {"refused": ["xla_gpu_autotune_level"]}}'
    then = f"""if grep -q autotune_level; then echo '{answer}'; else echo '{{"jaxlib": {{"refused": []}}}}'; fi"""
    code = """
environ = {"XLA_FLAGS": "--xla_gpu_autotune_level=2 --xla_gpu_shape_checks=IGNORE"}
report = jaxgpu_tune.plan("auto", environ=environ)
tell([report.xla_flags, codes(report), [d.status for d in report.decisions if d.name == "xla_gpu_autotune_level"]])
"""
    assert pretending(code, tmp_path, then) == [
        "--xla_gpu_shape_checks=IGNORE",
        ["unknown-build", "unknown-flag"],
        ["dropped"],
    ]
    assert count(tmp_path) == 2  # the new text is asked about, too


def test_without_an_answer_the_nearest_releases_count(tmp_path: Path) -> None:
    code = """
report = jaxgpu_tune.plan("auto", flags={"xla_gpu_autotune_level": 2}, environ={})
try:
    jaxgpu_tune.plan("auto", flags={"xla_gpu_autotune_level": 2}, environ={}, probe=True)
except jaxgpu_tune.ProbeFailed as error:
    tell([report.xla_flags, codes(report), [f.severity for f in error.findings]])
"""
    assert pretending(code, tmp_path, "exit 3") == [GOOD, ["probe-failed", "unknown-build"], ["warning"]]


def test_another_jaxlib_than_the_installed_one_is_never_asked(tmp_path: Path) -> None:
    code = """
given = {"flags": {"xla_gpu_autotune_level": 2}, "environ": {}, "jaxlib": "0.9.2.dev20260101"}
tell([codes(jaxgpu_tune.plan("auto", **given)), codes(jaxgpu_tune.plan("auto", **given, probe=True))])
"""
    assert pretending(code, tmp_path) == [["unknown-build"], ["not-probed", "unknown-build"]]
    assert count(tmp_path) == 0


def test_a_release_in_the_table_is_asked_with_probe_true(tmp_path: Path) -> None:
    code = f"""
import sys, jaxgpu_tune
sys.executable = {str(counting(tmp_path))!r}
for probe in (None, False, True, True):
    assert jaxgpu_tune.plan(flags={{"xla_gpu_autotune_level": 2}}, environ={{}}, probe=probe).xla_flags == {GOOD!r}
tell("platformdirs" in sys.modules)
"""
    assert told(code, XDG_CACHE_HOME=str(tmp_path / "cache")) is True
    assert count(tmp_path) == 1


def test_a_flag_that_no_table_has_is_kept_where_the_binary_takes_it(tmp_path: Path) -> None:
    """As in a nightly build that is newer than the tables; inherited and asked for."""
    code = """
from jaxgpu_tune.knowledge import flags, tables
for name in ("xla_gpu_shape_checks", "xla_gpu_ftz"):
    del tables.read_lines(flags.FLAGS)[name]
environ = {"XLA_FLAGS": "--xla_gpu_shape_checks=IGNORE --xla_gpu_no_such_thing=1"}
report = jaxgpu_tune.plan("auto", environ=environ, flags={"xla_gpu_ftz": True})
try:
    jaxgpu_tune.plan("auto", environ={}, flags={"xla_gpu_no_such_thing": True})
except jaxgpu_tune.UnknownFlag as error:
    tell([report.xla_flags, codes(report), "no_such_thing" in str(error)])
"""
    told_by_child = pretending(code, tmp_path)
    assert told_by_child == [
        "--xla_gpu_ftz=true --xla_gpu_shape_checks=IGNORE",
        ["unknown-build", "unknown-flag"],
        True,
    ]


def test_where_the_tables_refuse_a_word_the_binary_has_the_last_one() -> None:
    """As if the table had not tried the words "all" and "none" of two parsers."""
    code = """
        import jaxgpu_tune
        from jaxgpu_tune.knowledge import flags
        known = flags._spec
        flags._spec = lambda *facts: known(*facts)._replace(aliases=(), ignored="")
        found = []
        for value in ("all", "allreduce,all", "nonsense"):
            text = f"--xla_enable_nccl_symmetric_buffers_for_collectives={value}"
            for probe in (False, True):
                report = jaxgpu_tune.plan("auto", environ={"XLA_FLAGS": text}, probe=probe)
                found.append([value, probe, report.xla_flags == text])
        tell(found)
    """
    release = known.resolve(packages.installed_versions().jaxlib or "").release
    if known.flag("xla_enable_nccl_symmetric_buffers_for_collectives", release) is None:
        pytest.skip("this jaxlib has no such flag")
    right = [["all", False, False], ["all", True, True], ["allreduce,all", False, False], ["allreduce,all", True, True]]
    assert told(dedent(code)) == [*right, ["nonsense", False, False], ["nonsense", True, False]]
