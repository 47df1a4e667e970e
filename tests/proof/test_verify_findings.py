"""What verify() makes of the settings that it read back: one finding for each way of going wrong, and JAX on the wrong platform."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from platform import node
from types import SimpleNamespace

import pytest

from jaxgpu_tune.model import Machine
from jaxgpu_tune.proof import verify
from jaxgpu_tune.proof.flags_read_back import PLATFORM_MISFIT
from jaxgpu_tune.proof.verification import Verified
from tests.fleet import machine


def item(name: str, status: str, why: str = "so it is", value: str = "1") -> Verified:
    """A flag that was read back."""
    return Verified("xla_flag", name, value, status, why)  # type: ignore[arg-type]


@pytest.mark.parametrize("stray", [True, False])
def test_settings_that_went_wrong_in_one_way_are_one_finding(stray: bool) -> None:
    """What is proven, or cannot be, is none; flags of GPUs on a CPU that was asked for are a note."""
    items = [
        item("a", "ignored"),
        item("b", "effective"),
        item("c", "ignored", "so it is."),
        item("d", "ignored"),
        item("e", "unreadable"),
        item("f", "overridden"),
        item("g", "ignored", PLATFORM_MISFIT),
        item("h", "overwritten"),
    ]
    found = list(verify._findings(items, stray))
    hint = verify.HINTS["ignored"]
    on_cpu = ("setting-ignored", "warning", hint) if stray else ("setting-ignored", "note", "")
    assert [(one.code, one.severity, one.hint) for one in found] == [
        ("setting-ignored", "warning", hint),
        ("setting-ignored", "warning", hint),
        ("setting-overridden", "warning", verify.HINTS["overridden"]),
        on_cpu,
        ("setting-overwritten", "warning", verify.HINTS["overwritten"]),
    ]
    assert [one.message for one in found[:2]] == ["a, d (ignored): so it is.", "c (ignored): so it is."]


def test_a_folder_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    """As the plan does; where something else is wrong with it, that counts."""
    file = tmp_path / "file"
    file.touch()
    (unusable,) = verify.cache_folder_findings(str(file))
    name = "jax_compilation_cache_dir"
    assert verify._hint(item(name, "ignored", unusable.message, str(file))) == unusable.hint
    assert verify._hint(item(name, "ignored", "else", str(file))) == verify.HINTS["ignored"]
    assert verify._hint(item("other", "ignored", unusable.message, str(file))) == verify.HINTS["ignored"]


def test_the_log_that_nccl_writes_for_this_process(tmp_path: Path) -> None:
    """Its name may hold the host's and the process's; none is an empty one."""
    (tmp_path / f"log.{node()}.{os.getpid()}").write_bytes(b"NCCL INFO \xff")
    assert verify._nccl_log({"NCCL_DEBUG_FILE": f"{tmp_path}/log.%h.%p"}) == "NCCL INFO \ufffd"
    assert verify._nccl_log({"NCCL_DEBUG_FILE": f"{tmp_path}/gone"}) == verify._nccl_log({}) == ""


NO_GPU = Machine(gpus=(), plugins={})
PLUGIN = Machine(gpus=(), plugins={"jax-cuda13-plugin": "0.11.2"})


@pytest.mark.parametrize(
    ("platforms", "name", "where", "meant"),
    [
        (None, None, NO_GPU, False),
        (None, None, Machine(), False),
        (None, None, PLUGIN, True),
        (None, None, machine(), True),
        ("cpu", None, machine(), False),
        ("cpu,cuda", None, machine(), False),
        ("cuda,cpu", None, NO_GPU, True),
        ("tpu, gpu", None, NO_GPU, True),
        (None, "gpu", NO_GPU, True),
        (None, "cpu", machine(), False),
        ("cpu", "gpu", NO_GPU, False),
    ],
)
def test_whether_jax_is_meant_for_gpus(
    platforms: str | None, name: str | None, where: Machine, meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = SimpleNamespace(jax_platforms=platforms, jax_platform_name=name)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=config))
    assert verify._is_for_gpus(where) is meant
    told = verify._on_cpu(where)
    assert ("8 GPUs are here" if where.gpus else "it is meant to run on GPUs") in told.message
    assert (told.code, told.severity) == ("runs-on-cpu", "error")


def test_a_report_that_was_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify._is_strict(SimpleNamespace(inputs={"arguments": {"strict": True}})) is True  # type: ignore[arg-type]
    assert verify._is_strict(SimpleNamespace(inputs={"arguments": {}})) is False  # type: ignore[arg-type]
    assert verify._is_strict(SimpleNamespace(inputs={})) is False  # type: ignore[arg-type]
