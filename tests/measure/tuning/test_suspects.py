"""What bisect suspects, and the environment of any part of it."""

from __future__ import annotations

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.host.observe import observe
from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.measure.search.trials import NOTHING
from jaxgpu_tune.measure.tuning.space import Space, space_of
from jaxgpu_tune.measure.tuning.suspects import of_flags, of_preset, of_upgrade
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.request import make_request


def space(jaxlib: str = "0.11.2", presets: tuple[str, ...] = ()) -> Space:
    told = {"jaxlib": jaxlib, "jax": jaxlib, "gpus": [{"compute_capability": "9.0"}]}
    seen = observe({"PATH": "/bin", "XLA_FLAGS": "--xla_dump_to=/x"}, Machine.from_dict(told), live=False)
    return space_of(make_request(), seen, presets)


def test_flags_stand_as_they_are_written_in_their_order() -> None:
    """What this build does not know, too: it may be what ends the process."""
    found = of_flags(space(), "--xla_no_such=1 --xla_gpu_enable_triton_gemm --xla_dump_to='/a b'")
    assert [one.name for one in found.parts] == ["xla_no_such", "xla_gpu_enable_triton_gemm", "xla_dump_to"]
    whole = found.environ(frozenset(found.parts))["XLA_FLAGS"]
    assert whole.startswith("--xla_no_such=1 --xla_gpu_enable_triton_gemm ")
    assert "/a b" in whole
    assert "XLA_FLAGS" not in found.environ(NOTHING)
    assert found.environ(frozenset(found.parts[1:2]))["XLA_FLAGS"] == "--xla_gpu_enable_triton_gemm"
    assert found.said(found.parts).startswith("--xla_no_such=1 --xla_gpu_enable_triton_gemm --xla_dump_to=")


def test_a_presets_settings_are_planned() -> None:
    found = of_preset(space(presets=("dreamerv3",)), "dreamerv3")
    assert len(found.parts) > 5
    one = next(part for part in found.parts if part.name == "xla_gpu_enable_triton_gemm")
    assert found.environ(frozenset([one]))["XLA_FLAGS"] == "--xla_dump_to=/x --xla_gpu_enable_triton_gemm=false"


def test_an_upgrade_is_taken_back_default_by_default() -> None:
    """All parts in force: nothing is set. None in force: each changed default is the old one."""
    found = of_upgrade(space(), "0.5.3")
    assert found.parts
    assert found.environ(frozenset(found.parts))["XLA_FLAGS"] == "--xla_dump_to=/x"
    taken_back = found.environ(NOTHING)["XLA_FLAGS"]
    for part in found.parts:
        assert part.name in taken_back or any(one.name in taken_back for one in found.undo[part])
        before, after = flags.flag(part.name, "0.5.3"), flags.flag(part.name, "0.11.2")
        assert after is not None
        assert before is None or before.effective != after.effective


def test_nothing_to_suspect_is_told() -> None:
    with pytest.raises(BadSetting, match="no flags are set") as raised:
        of_flags(space(), "  ")
    assert [(one.code, one.severity) for one in raised.value.findings] == [("nothing-to-bisect", "error")]
    with pytest.raises(BadSetting, match="sets nothing here"):
        of_preset(space(presets=("fsdp",)), "fsdp")
    with pytest.raises(BadSetting, match="no default"):
        of_upgrade(space(), "0.11.2")
