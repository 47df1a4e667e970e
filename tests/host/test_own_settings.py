"""What the processes of a job are compared by."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxgpu_tune.host import own_settings as own
from jaxgpu_tune.host.packages import Installed
from jaxgpu_tune.model import Gpu


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this library's, and no jax."""
    for name in ("XLA_FLAGS", "NCCL_DEBUG", "NCCL_ALGO"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", {}),
        ("--xla_a=1 --xla_b", {"xla_a": "1", "xla_b": "true"}),
        ("--xla_a=1 --xla_b=2 --xla_a=3", {"xla_a": "1, then 3", "xla_b": "2"}),
        ("--xla_a=1 -x", {"xla_a": "1", "(other text)": "-x"}),
        ("--xla_a=", {"xla_a": ""}),
    ],
)
def test_flags_with_all_their_values_in_order(text: str, flags: dict[str, str]) -> None:
    assert own._flags(text) == flags


def test_the_flags_of_the_file_that_xla_flags_names(tmp_path: Path) -> None:
    (tmp_path / "flags").write_text("--xla_a=1\n--xla_b=2\n")
    assert own._flags(str(tmp_path / "flags")) == {"xla_a": "1", "xla_b": "2"}
    assert own._flags(str(tmp_path / "gone")) == {}


def test_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that matter, options of a live jax that are plain, versions that are known, the host's name."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("SOMETHING", "else")
    values = {"jax_enable_x64": True, "jax_level": SimpleNamespace(_value_=1, value=1, name="HIGH"), "odd": object()}
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=SimpleNamespace(values=values)))
    found = own.own_settings()
    assert list(found) == ["host", "flags", "env", "options", "versions", "gpus"]
    assert found["flags"] == {"xla_a": "1"} and found["host"]["name"]
    assert found["env"]["NCCL_ALGO"] == "Ring" and "SOMETHING" not in found["env"]
    assert found["options"] == {"jax_enable_x64": "True", "jax_level": "'high'"}
    assert found["versions"]["jaxlib"] and None not in found["versions"].values()


def test_kinds_of_gpus_not_how_many() -> None:
    one, other = (Gpu(0, name=name, compute_capability="9.0") for name in ("H100", "A100"))
    assert own._kinds((one, one)) == own._kinds((one,)) == {"kind": "H100 (compute capability 9.0)"}
    assert own._kinds((one, other))["kind"] == "A100 (compute capability 9.0), H100 (compute capability 9.0)"
    assert own._kinds(()) == own._kinds(None) == {"kind": "none"}


def test_versions_by_the_names_that_findings_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there is left out."""
    found = Installed(jax="1", jaxlib="2", nccl="3", plugins={"jax-cuda13-pjrt": "4"}, libraries={"left-out": "5"})
    monkeypatch.setattr(own, "installed_versions", lambda: found)
    told = {"jax": "1", "jaxlib": "2", "NCCL": "3", "jax-cuda13-pjrt": "4"}
    assert own._versions("580.1") == {**told, "driver": "580.1"} and own._versions(None) == told
    monkeypatch.setattr(own, "installed_versions", Installed)
    assert own._versions(None) == {}
