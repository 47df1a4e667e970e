"""What the functions that a program calls were compiled to."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgpu_tune.measure.observer.compiled import Compiled


@jax.jit
def looped_step(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ y), x)


@jax.jit
def other_step(x: jax.Array) -> jax.Array:
    return x + 1


def fingerprint(*names: str) -> str:
    found = Compiled()
    found.look(names, 1)
    return found.fingerprint


def test_it_is_the_same_for_the_same_programs_and_unknown_while_one_of_them_is() -> None:
    looped_step(jnp.ones((8, 8)))
    assert fingerprint("other_step_that_never_ran") == ""
    one = fingerprint("looped_step")
    assert one and one == fingerprint("looped_step")
    other_step(jnp.ones(8))
    assert len({one, fingerprint("other_step"), fingerprint("other_step", "looped_step")}) == 3
    assert fingerprint("looped_step", "other_step_that_never_ran") == ""
    looped_step(jnp.ones((9, 9)))
    assert fingerprint("looped_step") != one


def test_it_looks_again_only_after_a_compilation_or_at_other_functions() -> None:
    looped_step(jnp.ones((8, 8)))
    found = Compiled()
    assert not found.look([], 1)
    assert [found.look(["looped_step"], n) for n in (1, 1, 2)] == [True, False, True]
    assert "loops" in found.kinds


def test_a_function_without_a_name_of_its_own_is_found() -> None:
    """What no name of a program can hold stands there as an underscore, but not at its end."""
    nameless = jax.jit(lambda x: x * 3)
    nameless(jnp.ones(8))
    assert fingerprint("<lambda>")
