"""Programs as XLA stores them, compiled here: which instructions are in loops whose number of turns is known only while they run."""

from __future__ import annotations

import base64

from jaxgpu_tune.measure.trace.hlo import COUNTING, TYPES, Module, module_of
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
