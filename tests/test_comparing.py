"""``compare()`` on functions, in children: real compilations with other options, donation, failures, and wrong arguments."""

from __future__ import annotations

import pytest

import jaxgpu_tune
from jaxgpu_tune.errors import BadSetting
from tests.child import told

SLOWER = """
import jax, jax.numpy as jnp, jaxgpu_tune
def make_step(state, x):
    w, n = state
    return (sum(jnp.sort(w * x) for _ in range(20)) / 20, n + 1), jnp.mean(w)
state, x = (jnp.linspace(0, 1, 50_000), jnp.zeros((), int)), jnp.full((50_000,), 1.0)
slow = {"flags": {"xla_disable_hlo_passes": "cse"}}
"""


def test_a_variant_that_compiles_to_slower_code() -> None:
    """Twenty equal sorts that XLA does not merge are shown, in a function that takes its state over; the same settings again show nothing."""
    code = (
        SLOWER
        + """
step = jax.jit(make_step, donate_argnums=0)
variants = {"none": {}, "again": {}, "slow": slow}
found = jaxgpu_tune.compare(step, state, x, variants=variants, seconds=0.02)
tell([found.verdict, [v.verdict.word for v in found.variants], found.to_dict()["machine"]["jaxlib"], found.noise,
      found._repr_html_().count("<tr"), str(found), [v.peak_bytes for v in found.variants], bool(x.is_deleted())])
"""
    )
    best, words, jaxlib, noise, rows, text, memory, deleted = told(code)
    assert words[0] == "no-difference" and words[2] == "slower" and best == words[1]
    assert jaxlib and noise and rows == 4 and "in blocks of calls" in text
    assert all(memory) and not deleted


def test_a_variant_that_does_not_compile_is_a_result() -> None:
    """Its cause is told, and nothing else of it."""
    code = (
        SLOWER
        + """
found = jaxgpu_tune.compare(make_step, state, x, variants={"none": {}, "bad": {"flags": {"xla_cpu_prefer_vector_width": 7}}}, seconds=0.01)
tell([found.variants[1].verdict.word, found.variants[1].cause, len(found.variants[0].trials)])
"""
    )
    word, cause, _ = told(code)
    assert (word == "failed") == bool(cause)


def test_other_results_and_single_calls() -> None:
    """Less precise results are told; a percentile goes by single calls, of two shapes together; a static argument is one."""
    code = """
import jax, jax.numpy as jnp, jaxgpu_tune
step = jax.jit(lambda x, power: jnp.sum(jnp.exp(x) ** power), static_argnums=1)
more = [(jnp.ones((64,)), 3)]
found = jaxgpu_tune.compare(step, jnp.ones((32,)), 2, variants=["none", "fast_compile"], shapes=more, percentile=99, seconds=0.01, pairs=2)
tell([found.percentile, len(found.ratios), "percentile 99" in str(found), [one.message for one in found.findings]])
"""
    empty = "fast_compile sets nothing here, so it changes nothing: any difference is noise."
    assert told(code) == [99, 2, True, [empty]]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"variants": "none"}, "two or more, the reference first"),
        ({"variants": ["none"], "pairs": 0, "seconds": -1, "percentile": 100}, "4 problems"),
        ({"variants": ["none", "clean"]}, "jaxgpu-tune compare none clean"),
        ({"variants": {"none": {}, "m": {"env": {"NCCL_DEBUG": "INFO"}}}}, "NCCL_DEBUG act on the whole process"),
        ({"variants": ["none", "fsdpp"]}, "Did you mean 'fsdp'"),
    ],
)
def test_wrong_arguments_are_told_at_once(given: dict[str, object], says: str) -> None:
    """Before anything is compiled."""
    with pytest.raises(BadSetting if "fsdpp" not in says and "mean" not in says else ValueError, match=says):
        jaxgpu_tune.compare(len, **given)  # type: ignore[arg-type]
