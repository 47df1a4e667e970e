"""Programs as XLA stores them, compiled here: which instructions are in loops whose number of turns is known only while they run."""

from __future__ import annotations

import base64
from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.trace.hlo import COUNTING, ELEMENT_TYPE, SIZES, TUPLE, TYPES, Module, _leaves, module_of
from jaxgpu_tune.proof.wire import Message
from tests.child import told
from tests.protobuf import field

CODE = """
import base64, jax, jax.numpy as jnp
from jax import lax

def scanned(x):
    return lax.scan(lambda carry, _: (jnp.cos(carry) @ carry, None), x, None, length=1000)[0]

def searched(x):
    return lax.while_loop(lambda x: jnp.sum(x) < 1e6, lambda x: jnp.sin({inside}) + x, x)

def step(x):
    return {step}

compiled = jax.jit(step).lower(jnp.ones((8, 8))).compile()
tell(base64.b64encode(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()).decode())
"""


def program(step: str, inside: str = "x") -> Module:
    """The compiled program, within a message as a trace has it."""
    body = base64.b64decode(told(CODE.format(step=step, inside=inside), JAX_PLATFORMS="cpu"))
    return module_of(field(1, body))


def opens(module: Module, function: str) -> set[bool]:
    """Of all instructions that compute this."""
    return {one.open_loop for one in module.instructions.values() if function in one.does}


def test_what_a_while_loop_runs_is_in_an_open_loop_and_what_a_scan_runs_is_not() -> None:
    """A scan says how often it turns."""
    module = program("searched(jnp.tanh(x)) + scanned(x)")
    assert opens(module, "sine") == {True}
    assert opens(module, "cosine") == {False}
    assert opens(module, "tanh") == {False}


def test_a_scan_inside_of_a_while_loop_is_in_an_open_loop() -> None:
    """Whatever the loop calls, however deep."""
    assert opens(program("searched(x)", inside="scanned(x)"), "cosine") == {True}


def test_the_names_of_types_tell_their_bits() -> None:
    """Each once, those that count among them."""
    names = [name for name, _ in TYPES.values()]
    assert len(set(names)) == len(names) and set(names) >= COUNTING and all(name[0] in "pscufb" for name in names)
    for name, bits in TYPES.values():
        assert bits == 8 if name == "pred" or name.startswith("f8") else name.endswith(str(bits))


ARRAYS = st.tuples(st.sampled_from([3, 11, 16]), st.lists(st.integers(1, 9), max_size=2).map(tuple))
SHAPES = st.recursive(ARRAYS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def written(shape: Any) -> bytes:
    """A shape as XLA writes it: an array, or a tuple of shapes."""
    if isinstance(shape, list):
        return field(ELEMENT_TYPE, 13) + b"".join(field(TUPLE, written(one)) for one in shape)
    return field(ELEMENT_TYPE, shape[0]) + b"".join(field(SIZES, size) for size in shape[1])


def arrays(shape: Any) -> list[tuple[str, int]]:
    """Each array in it, with its bytes."""
    if isinstance(shape, list):
        return [leaf for one in shape for leaf in arrays(one)]
    kind, bits = TYPES[shape[0]]
    return [(kind, prod(shape[1]) * bits // 8)]


@given(SHAPES)
def test_a_shape_is_all_of_its_arrays_however_deep(shape: Any) -> None:
    assert list(_leaves(Message(written(shape)))) == arrays(shape)
