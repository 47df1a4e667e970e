"""``jaxgpu_tune.profile(step, *args)`` in a process of its own: what is taken over is replaced, the caller's arrays stay."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

import jaxgpu_tune
from tests.child import told

CODE = """
    import jax, jax.numpy as jnp
    from functools import partial
    import jaxgpu_tune

    @partial(jax.jit, donate_argnums=0)
    def step(state, x):
        return {"w": state["w"] - 1e-3 * x.mean(), "n": state["n"] + 1}, (x @ state["w"]).mean()

    state, x = {"w": jnp.ones((64, 64)), "n": jnp.zeros((), jnp.int32)}, jnp.ones((64, 64))
    found = jaxgpu_tune.profile(step, state, x, seconds=0.3)
    whole = found.to_dict()

    @partial(jax.jit, donate_argnums=0)
    def lost(x):
        return {"state": {"x": x + 1}}

    try:
        jaxgpu_tune.profile(lost, x)
        message = ""
    except jaxgpu_tune.BadSetting as error:
        message = str(error)
    tell({
        "step_ms": found.step_ms, "function": found.function, "calls": whole["measures"], "text": str(found),
        "html": found._repr_html_()[:25], "kept": float(state["w"].sum()) + float(x.sum()), "message": message,
        "compiled": whole["host"]["compiled"], "recompiled": whole["host"]["recompiled"], "notes": whole["notes"],
    })
"""


def test_a_training_step_is_profiled_in_a_notebook() -> None:
    """With donated state, which is carried on; the caller's own arrays are still there."""
    found: dict[str, Any] = told(dedent(CODE), JAX_PLATFORMS="cpu")
    assert found["function"] == "step" and 0 < found["step_ms"] < 100
    assert found["kept"] == 2 * 64 * 64
    assert (found["compiled"], found["recompiled"]) == (1, 0)
    assert found["text"].startswith(f"{found['step_ms']:.2f} ms a step") and found["html"].startswith("<div")
    assert any("no device part" in note for note in found["notes"])
    assert "takes over the memory of argument 0" in found["message"]


def test_wrong_arguments_come_together() -> None:
    """What was given, and what is allowed; nothing is called before."""
    with pytest.raises(jaxgpu_tune.BadSetting) as caught:
        jaxgpu_tune.profile("step", traced=1, seconds=-1.0)  # type: ignore[arg-type]
    for part in ("3 problems", "step='step'", "traced=1", "at least 3", "seconds=-1.0"):
        assert part in str(caught.value)
