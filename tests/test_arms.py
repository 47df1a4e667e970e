"""Names of variants as environments: what each sets, what it leaves, and that a program in it can change nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.arms import NOTHING, arms_of, environ_of, python_arms
from jaxgpu_tune.errors import BadSetting, UnknownPreset
from jaxgpu_tune.host.marker import is_pinned
from jaxgpu_tune.knowledge.presets import load_preset
from tests.child import told

FLAG = "--xla_backend_optimization_level=0"
SHELL = {
    "PATH": "/usr/bin:/bin",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2 --xla_gpu_autotune_level=2",
    "NCCL_DEBUG": "INFO",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_PGLE": "true",
}


def test_none_leaves_what_is_set_and_clean_removes_it() -> None:
    """But for what says which devices there are."""
    none, clean = arms_of(["none", "clean"], ["true"], SHELL)
    assert {name: none.environ[name] for name in SHELL} == SHELL and not none.settings
    assert clean.environ["XLA_FLAGS"] == "--xla_force_host_platform_device_count=2"
    assert clean.environ["JAX_PLATFORMS"] == "cpu" and clean.environ["PATH"] == SHELL["PATH"]
    assert not {"NCCL_DEBUG", "JAX_ENABLE_PGLE"} & set(clean.environ)
    assert clean.settings["NCCL_DEBUG"] is None


def test_every_arm_is_pinned(tmp_path: Path) -> None:
    """A program that configures itself reports, and changes nothing."""
    (tmp_path / "mine.toml").write_text(f'[[set]]\nflag = "{FLAG[2:-2]}"\nvalue = 0\n')
    arms = arms_of(["none", "clean", str(tmp_path / "mine.toml")], ["true"], {"PATH": "/bin"})
    assert all(is_pinned(arm.environ) for arm in arms)
    code = "import os, jaxgpu_tune; jaxgpu_tune.configure('debug'); tell(os.environ.get('XLA_FLAGS'))"
    for arm in arms:
        ours = {name: text for name, text in arm.environ.items() if name.startswith(("JAXGPU", "XLA"))}
        assert told(code, **ours) == arm.environ.get("XLA_FLAGS")
    assert arms[2].environ["XLA_FLAGS"] == FLAG and arms[2].settings == {"XLA_FLAGS": FLAG}


def test_a_mapping_gives_each_name_its_arguments() -> None:
    """Without a preset it is nothing but the arguments."""
    how = {"none": {}, "flat": {"flags": {"xla_backend_optimization_level": 0}}, "quick": {"preset": "fast_compile"}}
    none, flat, quick = arms_of(how, ["true"], {})
    assert "XLA_FLAGS" not in none.environ
    assert flat.environ["XLA_FLAGS"] == FLAG and flat.name == "flat"
    assert quick.name == "quick" and not load_preset(NOTHING).settings


def test_a_name_that_comes_again_is_compared_with_itself() -> None:
    """Under another name."""
    assert [arm.name for arm in arms_of(["none", "none", "clean"], ["true"], {})] == ["none", "none#2", "clean"]


def test_wrong_names_and_a_switch_that_forbids_all() -> None:
    """As configure() tells them."""
    with pytest.raises(UnknownPreset, match="Did you mean 'fsdp'"):
        arms_of(["none", "fsdpp"], ["true"], {})
    with pytest.raises(BadSetting, match="Unset JAXGPU_TUNE"):
        environ_of("fsdp", {"JAXGPU_TUNE": "off"})


def test_interpreters_take_the_place_of_the_commands_own() -> None:
    """And are first on PATH for a script that starts one."""
    arms = python_arms([sys.executable], "none", ["python3", "t.py"], {"PATH": "/bin"})
    assert arms[0].command == (sys.executable, "t.py")
    assert arms[0].environ["PATH"] == f"{Path(sys.executable).parent}:/bin"
    assert json.dumps(arms[0].settings["jaxlib"]).startswith('"0.')
    script = python_arms([sys.executable], "none", ["./start.sh"], {"PATH": "/bin"})
    assert script[0].command == ("./start.sh",)
    with pytest.raises(BadSetting, match="there is no such command"):
        python_arms(["/nowhere/python"], "none", ["python"], {})
