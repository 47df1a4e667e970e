"""What the hazards of decomposed collective permutes say, tried with the real GPU compiler for GPUs that are not there."""

from __future__ import annotations

import json
from importlib.metadata import version
from signal import SIGABRT

import pytest

from jaxgpu_tune.knowledge.hazards import hazards
from jaxgpu_tune.knowledge.versions import matches
from tests.absent_gpus import toolkit
from tests.child import ROOT, run, told

BY_CODE = {hazard.code: hazard for hazard in hazards()}
CODE = """
import jax, jax.numpy as jnp, jaxlib, numpy as np
from benchmarks.absent_gpus import devices
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

ring, chain = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (2, 3)]
mesh = Mesh(np.array(devices(4)), ("stage",))

def compiled(pairs, ticks, options):
    def total(weights, x):
        def tick(y, _):
            y = jax.lax.ppermute(jnp.tanh(y @ weights[0]), "stage", pairs)
            return y, y.sum()
        sums = jax.lax.scan(tick, x, length=ticks)[1] if ticks > 1 else tick(x, None)[1]
        return jax.lax.psum(sums.sum(), "stage")
    mapped = jax.shard_map(total, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P(), check_vma=False)
    shapes = ((4, 512, 512), P("stage")), ((64, 512), P())
    given = [jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec)) for shape, spec in shapes]
    return jax.jit(jax.grad(mapped)).lower(*given).compile(compiler_options=options).as_text()

def ending(pairs, options):
    try:
        return "compiled" if compiled(pairs, 9, options) else ""
    except Exception as error:
        return type(error).__name__

threshold, pipelined = {"xla_gpu_collective_permute_decomposer_threshold": "1024"}, {"xla_gpu_enable_pipelined_p2p": True}
both = threshold | pipelined
rings = compiled([(0, 1), (1, 0), (2, 3), (3, 2)], 1, both)
tell({"release": jaxlib.__version__, "both": ending(ring, both), "chain": ending(chain, both), "threshold": ending(ring, threshold),
      "pipelined": ending(ring, pipelined), "two rings are split": "{{0,1},{2,3}}" in rings})
"""


def test_rings_fail_with_both_flags_where_the_hazards_say_so() -> None:
    """Not with one of the two, and no chain; the range is to be changed where a newer release does otherwise."""
    flags = f"--xla_gpu_cuda_data_dir={toolkit()}"
    path = f"{ROOT}"
    found = told(CODE, JAX_PLATFORMS="cpu", XLA_FLAGS=flags, JAXGPU_TUNE="off", PYTHONPATH=path)
    release = found.pop("release")
    fails, splits = (
        matches(BY_CODE[code].when["jaxlib"], release) for code in ("permute-ring-fails", "permute-rings-wrong-numbers")
    )
    assert found == {
        "both": "IndexError" if fails else "compiled",
        "chain": "compiled",
        "threshold": "compiled",
        "pipelined": "compiled",
        "two rings are split": splits,
    }


CHAIN = (
    CODE.partition("both = threshold")[0]
    + """
import os
level = {"xla_gpu_experimental_pipeline_parallelism_opt_level": "PIPELINE_PARALLELISM_OPT_LEVEL_ENABLE"}
assert all(compiled(pairs, 4, threshold | level) for pairs in (ring, chain))
os.write(1, b"alone: compiled")
if BY_CODE_HOLDS:
    compiled(chain, 4, pipelined | level)
"""
)


def test_a_chain_ends_the_process_with_the_level_and_pipelining_where_the_hazard_says_so() -> None:
    """With the level alone, and beside the decomposer's threshold, chains and rings compile."""
    flags = f"--xla_gpu_cuda_data_dir={toolkit()}"
    fails = matches(BY_CODE["permute-chain-ends-process"].when["jaxlib"], version("jaxlib"))
    code = CHAIN.replace("BY_CODE_HOLDS", str(fails))
    ended = run(code, JAX_PLATFORMS="cpu", XLA_FLAGS=flags, JAXGPU_TUNE="off", PYTHONPATH=f"{ROOT}")
    assert "alone: compiled" in ended.stdout
    assert ended.status == (-SIGABRT if fails else 0)


HELD = json.loads((ROOT / "benchmarks" / "results" / "permute-rings-absent-gpus.json").read_text())["releases"]


@pytest.mark.parametrize("release", HELD)
def test_the_hazards_hold_for_the_releases_on_which_rings_were_tried(release: str) -> None:
    """A ring in a loop fails with both flags within their range only, and with one of the two nowhere."""
    tried = {case: found["outcome"] for case, found in HELD[release].items()}
    fails = matches(BY_CODE["permute-ring-fails"].when["jaxlib"], release)
    assert (tried["ring in a loop, both"] != "compiled") is fails
    assert {tried["ring in a loop, threshold"], tried["ring in a loop, pipelined p2p"]} == {"compiled"}
    pairs = HELD[release]["two rings, both"]["source_target_pairs"]
    assert pairs in ([], ["{{0,1},{2,3}}", "{{1,0},{3,2}}"]), "empty where the plugin's text does not tell them"


def test_the_hazards_count_the_releases_that_the_data_holds() -> None:
    """As many as are told to fail, and as many as are seen to split rings."""
    failed = [release for release, found in HELD.items() if found["ring in a loop, both"]["outcome"] != "compiled"]
    split = [release for release, found in HELD.items() if found["two rings, both"]["source_target_pairs"]]
    assert f"the {len(failed)} releases from {failed[0]} to {failed[-1]}" in BY_CODE["permute-ring-fails"].message
    assert f"the {len(split)} releases from {split[0]} to {split[-1]}" in BY_CODE["permute-rings-wrong-numbers"].message
