"""Options of jax.config, read back: here, in other threads, and what was settled when the backend started."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jaxgpu_tune.proof.config import _runs_on, verified_option
from jaxgpu_tune.proof.verification import Verified
from jaxgpu_tune.proof.wanted import Wanted

JAX = "0.11.2"


class Config:
    """A jax.config with one option, as far as it is read; ``here``: what this thread has instead."""

    def __init__(self, name: str, value: object, here: object = None, old: bool = False) -> None:
        self.values = {name: value}
        holder = SimpleNamespace(_value=value) if old else SimpleNamespace(get_global=lambda: value)
        self._value_holders = {name: holder}
        if here is not None:
            setattr(self, name, here)


def verified(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, value: object, platform: str = "gpu", **more: Any
) -> Verified:
    """The option with ``value`` in a live jax."""
    late = more.pop("late", "")
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=Config(name, value, **more)))
    wanted = Wanted("jax_config", name, () if text is None else (text,), late)
    return verified_option(wanted, JAX, platform)


@pytest.mark.parametrize("old", [True, False])
def test_what_holds_is_effective_and_what_was_changed_is_not(old: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where None asks for jax's own default."""
    name = "jax_enable_x64"
    for text, value, found in (("true", True, "true"), (None, False, "false")):
        held = verified(monkeypatch, name, text, value, old=old)
        assert held == Verified("jax_config", name, text, "effective", "jax.config holds it", found)
    changed = verified(monkeypatch, name, "true", False, old=old)
    assert (changed.status, changed.found) == ("overwritten", "false")
    assert changed.why == "jax.config was changed to False after configure(), which counts"
    late = verified(monkeypatch, "jax_platforms", "cuda", "cpu", old=old)
    assert late.why.endswith("; it counts if that was before the backend started")


def test_a_context_manager_holds_in_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verified(monkeypatch, "jax_enable_x64", "false", False, here=True)
    assert (found.status, found.found) == ("overridden", "true")
    assert found.why == "a context manager sets it to True in this thread"
    assert verified(monkeypatch, "jax_enable_x64", "true", False, here=True).status == "overwritten"


def test_what_came_late_or_is_unknown_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    late = verified(monkeypatch, "jax_enable_x64", "true", True, late="too late")
    assert (late.status, late.why, late.found) == ("ignored", "too late", "true")
    unknown = verified(monkeypatch, "jax_no_such", "1", 1)
    assert unknown == Verified("jax_config", "jax_no_such", "1", "ignored", "this jax has no such option")
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=SimpleNamespace()))
    gone = verified_option(Wanted("jax_config", "jax_enable_x64", ("true",)), JAX, "gpu")
    assert gone.why == "this jax has no such option"


@pytest.mark.parametrize(
    ("platforms", "platform", "there"),
    [
        ("cuda", "gpu", True),
        ("gpu", "gpu", True),
        ("cuda,cpu", "gpu", True),
        (" cuda , cpu", "gpu", True),
        ("gpu", "cuda", True),
        ("cpu,cuda", "gpu", False),
        ("cuda", "cpu", False),
        ("cpu", "cpu", True),
        ("tpu", "gpu", False),
        ("tpu", "tpu", True),
    ],
)
def test_the_first_platform_is_the_one_jax_runs_on(
    platforms: str, platform: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU goes by two names."""
    assert _runs_on(platforms, platform) is there
    found = verified(monkeypatch, "jax_platforms", platforms, platforms, platform)
    assert found.status == ("effective" if there else "ignored")
    assert there or found.why.startswith(f"JAX runs on {platform}: ")


def test_a_folder_that_cannot_be_used_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held is not enough; other options may name what they like."""
    (tmp_path / "file").touch()
    for folder, status in ((str(tmp_path), "effective"), (str(tmp_path / "file"), "ignored")):
        assert verified(monkeypatch, "jax_compilation_cache_dir", folder, folder).status == status
    assert (
        verified(monkeypatch, "jax_platforms", str(tmp_path / "file"), str(tmp_path / "file"), "cpu").why[:4] == "JAX "
    )
