"""What was applied: by the last call here, or by the parent that launched this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jaxgpu_tune
from jaxgpu_tune.model import Decision, Report
from jaxgpu_tune.proof import wanted
from jaxgpu_tune.proof.wanted import Wanted, applied_here, flag_values, left_by_parent
from tests.fleet import machine

if TYPE_CHECKING:
    import pytest


def test_each_flag_with_its_values_in_order() -> None:
    """A flag without a value is true; what is no flag goes by its text."""
    text = "--xla_a=1 --xla_b --xla_a=2 --xla_c="
    assert flag_values(text) == {"xla_a": ("1", "2"), "xla_b": ("true",), "xla_c": ("",)}
    assert flag_values("") == {}
    assert [Wanted("env", "A", values).text for values in ((), ("a",), ("a", "b"))] == [None, "a", "a b"]


def test_what_a_report_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set, kept, joined or removed holds; what came late says why; the rest was not applied."""
    monkeypatch.setattr(wanted, "last_applied", lambda: None)
    assert applied_here() is None

    def decided(kind: str, name: str, value: str | None, status: str) -> Decision:
        return Decision(kind, name, value, status, f"because of {name}", "argument")  # type: ignore[arg-type]

    decisions = (
        decided("xla_flag", "xla_a", "2", "set"),
        decided("xla_flag", "xla_b", "1", "late"),
        decided("xla_flag", "xla_c", None, "removed"),
        decided("env", "KEPT", "1", "kept"),
        *(decided("env", status.upper(), "1", status) for status in ("default", "absent", "unmet", "dropped")),
        decided("jax_config", "jax_enable_x64", "true", "merged"),
    )
    environ = {"XLA_FLAGS": "", "KEPT": "1", "OTHER": "x", "GONE": None, "JAX_ENABLE_X64": "true"}
    report = jaxgpu_tune.plan(machine=machine(), environ={})._replace(
        decisions=decisions, environ=environ, xla_flags="--xla_a=1 --xla_a=2 --xla_b=0"
    )
    monkeypatch.setattr(wanted, "last_applied", lambda: report)
    found = applied_here()
    assert found is not None and isinstance(found[0], Report)
    assert found[1] == (
        Wanted("xla_flag", "xla_a", ("1", "2")),
        Wanted("xla_flag", "xla_b", ("1",), "because of xla_b"),
        Wanted("xla_flag", "xla_c", ()),
        Wanted("env", "KEPT", ("1",)),
        Wanted("jax_config", "jax_enable_x64", ("true",)),
        Wanted("env", "OTHER", ("x",)),
        Wanted("env", "GONE", ()),
    )


def test_what_a_parent_left() -> None:
    """In the names of jax's options, where the jax here has them."""
    environ = jaxgpu_tune.environ(
        base={"NCCL_DEBUG": "INFO", "XLA_FLAGS": "--xla_dump_to=a"},
        machine=machine(),
        flags={"xla_gpu_autotune_level": 2},
        env={"NCCL_ALGO": "Ring", "NCCL_DEBUG": None},
        jax_config={"jax_enable_x64": True},
    )
    flags = (Wanted("xla_flag", "xla_dump_to", ("a",)), Wanted("xla_flag", "xla_gpu_autotune_level", ("2",)))
    variables = (Wanted("env", "NCCL_ALGO", ("Ring",)), Wanted("env", "NCCL_DEBUG", ()))
    assert left_by_parent(environ, machine()) == (*flags, Wanted("jax_config", "jax_enable_x64", ("true",)), *variables)
    assert left_by_parent({}, machine()) == ()
