"""What calls name: files of presets, profiles, and the folder of the cache, as the environment planned for has them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.host import looked_up
from jaxgpu_tune.host.looked_up import named_by, named_by_layers, preset_files, written_out
from jaxgpu_tune.model import Preset
from jaxgpu_tune.state import Layer
from tests.fleet import machine

CACHE = "jax_compilation_cache_dir"


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("~/c", "/there/me/c"),
        ("~", "/there/me"),
        (Path("~/c"), "/there/me/c"),
        ("$SCRATCH/c", "/scratch/c"),
        ("${SCRATCH}/$SCRATCH", "/scratch//scratch"),
        ("$ABSENT/c", "$ABSENT/c"),
        ("a~/c", "a~/c"),
        ("gs://b/$SCRATCH", "gs://b/$SCRATCH"),
        (None, None),
        (False, False),
        (3, 3),
    ],
)
def test_the_caches_folder_is_written_out(value: object, meant: object) -> None:
    """In each of the three ways to name it; nothing else is."""
    around = {"HOME": "/there/me", "SCRATCH": "/scratch"}
    given = {"compilation_cache": value, "env": {CACHE.upper(): value, "OTHER": "~"}, "jax_config": {CACHE: value}}
    for described in (True, False):
        found = written_out(given, around, described=described)
        assert found == {
            "compilation_cache": meant,
            "env": {CACHE.upper(): meant, "OTHER": "~"},
            "jax_config": {CACHE: meant},
        }


def test_what_is_no_mapping_is_left_for_planning_to_tell() -> None:
    for given in ({}, {"env": 3, "jax_config": ["x"]}, {"env": {1: "~"}}):
        assert written_out(given, {}, described=False) == given


def test_without_home_the_users_own_counts_here_and_nobodys_elsewhere() -> None:
    user = pwd.getpwuid(os.getuid())
    for text in ("~/c", f"~{user.pw_name}/c"):
        given = {"compilation_cache": text}
        assert written_out(given, {}, described=False)["compilation_cache"] == f"{user.pw_dir.rstrip('/')}/c"
        assert written_out(given, {}, described=True) == given
    assert written_out({"compilation_cache": "~nobody-of-that-name/c"}, {}, described=False) == {
        "compilation_cache": "~nobody-of-that-name/c"
    }


@pytest.mark.parametrize("arguments", [{}, {"machine": machine(count=1)}])
def test_a_plan_for_another_environment_has_that_ones_folders(
    arguments: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRATCH", "/here")
    monkeypatch.setenv("HOME", "/home/here")
    there = {"SCRATCH": "/there", "HOME": "/home/there"}
    for text, meant in (("$SCRATCH/cache", "/there/cache"), ("~/cache", "/home/there/cache")):
        report = jaxgpu_tune.plan("auto", environ=there, compilation_cache=text, **arguments)
        assert report.jax_config[CACHE] == meant
        assert jaxgpu_tune.environ("auto", base=there, compilation_cache=text, **arguments)[CACHE.upper()] == meant


def test_presets_files_are_read_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a name names, and no others; what is wrong with one is kept to be told."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.toml", 'summary = "a"'), ("a+b.toml", 'summary = "ab"'), ("bad.toml", "x ="), ("fsdp", "")):
        (tmp_path / name).write_text(text)
    assert preset_files("fsdp+decode") == preset_files("fsdp") == preset_files("") == {}
    assert list(preset_files("fsdp+./a.toml + bad.toml")) == ["./a.toml", "bad.toml"]
    assert [one.summary for one in preset_files("a+b.toml").values() if isinstance(one, Preset)] == ["ab"]
    (wrong,) = preset_files("bad.toml").values()
    assert not isinstance(wrong, Preset) and "not TOML" in wrong[0].message
    assert named_by("fsdp+a.toml", {}, described=False).place == f"fsdp+{tmp_path / 'a.toml'}"
    assert named_by("a+b.toml", {}, described=False).place == str(tmp_path / "a+b.toml")
    assert named_by("fsdp", {}, described=False).place == "fsdp"


def test_what_is_at_a_profiles_path_is_looked_at_here_alone(tmp_path: Path) -> None:
    (tmp_path / "p.pb").write_bytes(b"")
    for path, kind in ((tmp_path, "folder"), (tmp_path / "p.pb", "file"), (tmp_path / "q.pb", "absent")):
        given = {"pgle": path}
        assert named_by("auto", given, described=False).profiles == {str(path): kind}
        assert named_by("auto", given, described=True).profiles == {}
        layer = Layer(1, "configure()", {"pgle": str(path)})
        assert named_by_layers([layer], described=False).profiles == {str(path): kind}
        assert named_by_layers([layer], described=True).profiles == {}
    for other in ("auto", "expect", 3, None):
        assert named_by("auto", {"pgle": other}, described=False).profiles == {}


def test_a_profile_that_is_gone_is_an_earlier_call_that_is_lost(tmp_path: Path) -> None:
    """On this machine; on another its place is not looked at."""
    profile = tmp_path / "p.pb"
    profile.write_bytes(b"")
    first = jaxgpu_tune.environ("auto", base={}, pgle=profile)
    profile.unlink()
    codes = [finding.code for finding in jaxgpu_tune.plan(environ=first).findings]
    assert "earlier-call-lost" in codes
    described = jaxgpu_tune.plan(environ=first, machine=machine(count=1))
    assert str(profile) in described.xla_flags and "earlier-call-lost" not in [f.code for f in described.findings]


def test_a_later_call_in_another_folder_finds_the_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file by another spelling takes no other's place."""
    (tmp_path / "mine.toml").write_text('[[set]]\nflag = "xla_dump_to"\nvalue = "/mine"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    first = jaxgpu_tune.environ("mine.toml", base={})
    monkeypatch.chdir(tmp_path / "elsewhere")
    for again in ("auto", "../mine.toml"):
        report = jaxgpu_tune.plan(again, environ=first)
        assert report.xla_flags == "--xla_dump_to=/mine"
        assert "preset-displaced" not in [finding.code for finding in report.findings]


def test_a_user_that_nobody_knows_stays_as_it_is_written() -> None:
    """As a shell leaves it; so does a name of this host's users on another machine."""
    assert (
        looked_up._home("no-such-user-here", {}, described=False) == looked_up._home("root", {}, described=True) == ""
    )
    assert looked_up._path("~no-such-user-here/cache", {"HOME": "/h"}, described=False) == "~no-such-user-here/cache"
    assert looked_up._path("~/cache", {"HOME": "/h/"}, described=True) == "/h/cache"
    assert looked_up._path("~", {"HOME": "/h"}, described=True) == "/h"
    assert looked_up._path("~/cache", {}, described=True) == "~/cache"
