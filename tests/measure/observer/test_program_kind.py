"""The kind of program, told from what it compiles to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jaxgpu_tune.measure.observer.program_kind import SMALL, kinds_of


def test_the_kind_of_a_real_program_is_told_from_what_it_compiles_to() -> None:
    step = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ y), x))
    text = step.lower(jnp.ones((64, 64))).compile().as_text()
    assert {"loops", "products"} <= set(kinds_of(text))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("%a = f32[] add(x, y)", ()),
        ("%a = all-reduce(x)", ("collectives",)),
        ("%a = all-gather-start(x)", ("collectives",)),
        *((f"%a = {name}(x)", ("collectives",)) for name in ("reduce-scatter", "all-to-all", "collective-permute")),
        ("%w = while(x)", ("loops",)),
        ("%c = convolution(x)", ("convolutions",)),
        ('custom_call_target="__cudnn$convForward"', ("convolutions",)),
        ("%d = dot(x, y)", ("products",)),
        ('custom_call_target="__cublas$lt$matmul"', ("products",)),
        ("gemm_fusion_dot.1", ("products",)),
        ("%f = fusion(x)\n" * SMALL, ("small-kernels",)),
        ("%f = fusion(x)\n" * (SMALL - 1), ()),
        ("%w = while(x)\n%d = dot(x)\n%a = all-reduce(x)", ("collectives", "loops", "products")),
    ],
)
def test_what_kind_of_program_it_is(text: str, kinds: tuple[str, ...]) -> None:
    assert kinds_of(text) == kinds
