"""The whole of it with the real GPU compiler, for two H200 that are not there: which profile serves is XLA's own word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.pgle import words
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, is_communication
from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.program import Program, read_program
from jaxgpu_tune.pgle.recording import RECORDING
from tests.absent_gpus import toolkit
from tests.child import clean_environ

pytestmark = pytest.mark.slow

COMPILE = """
import sys
import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from benchmarks.absent_gpus import devices

mesh = Mesh(np.array(devices(2)), ("d",))
cut, rows = NamedSharding(mesh, P(None, None, "d")), NamedSharding(mesh, P("d"))

def step(w, x):
    def loss(w):
        h, _ = jax.lax.scan(lambda h, one: (jnp.tanh(h @ one), None), x, w)
        return (h.astype(jnp.float32) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(w)
    return value, w - 0.1 * gradient

arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((4, 512, 512), (256, 512))]
lowered = jax.jit(step, in_shardings=(cut, rows), out_shardings=(None, cut)).lower(*arguments)
open(sys.argv[1], "w").write(lowered.compile().as_text())
"""
PAGE = {
    **RECORDING,
    "xla_gpu_enable_latency_hiding_scheduler": False,
    "xla_gpu_enable_analytical_sol_latency_estimator": False,
}


def flags_text(flags: dict[str, object]) -> str:
    def text(value: object) -> str:
        return ",".join(value) if isinstance(value, list) else str(value).lower()

    return " ".join(f"--{name}={text(value)}" for name, value in flags.items())


def compiled(folder: Path, name: str, flags: dict[str, object]) -> tuple[Program, list[str]]:
    """The program that these flags lead to, and what XLA said."""
    tools = toolkit()
    file = folder / f"{name}.txt"
    environ = clean_environ(
        JAX_PLATFORMS="cpu",
        PATH=f"{tools / 'bin'}:{os.environ['PATH']}",
        XLA_FLAGS=f"--xla_gpu_cuda_data_dir={tools} {flags_text(flags)}",
        TF_CPP_MIN_LOG_LEVEL="0",
    )
    command = [sys.executable, "-c", COMPILE, str(file)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=300)
    return read_program(file), done.stderr.splitlines()


def used(folder: Path, names: set[str]) -> words.Use:
    """What XLA says of a profile with a cost for each of these names."""
    profile = write_profile(CostProfile(tuple(Cost(name, 12.5) for name in sorted(names))), folder / "profile.pbtxt")
    _, said = compiled(folder, "used", {"xla_gpu_pgle_profile_file_or_directory_path": str(profile)})
    uses, failed = words.uses_in(said)
    found = words.main_use(uses)
    assert not failed and found is not None
    return found


def test_what_is_recorded_serves_and_the_pages_way_misses_every_collective(tmp_path: Path) -> None:
    """Names as a trace tells them of the program that ran, turned into those that the scheduler looks up."""
    plain, _ = compiled(tmp_path, "plain", {})
    collectives = {name for name in plain.looked_up if is_communication(name)}
    recorded, _ = compiled(tmp_path, "recorded", RECORDING)
    assert recorded.looked_up == plain.looked_up and len(collectives) == 3
    whole = used(tmp_path, set(recorded.scheduled_names.values()))
    assert whole.measurable == ()
    by_page, _ = compiled(tmp_path, "page", PAGE)
    lacking = used(tmp_path, {one.name for one in by_page.instructions})
    assert set(lacking.collectives) == collectives


def test_what_is_looked_up_is_what_this_compiler_misses(tmp_path: Path) -> None:
    plain, _ = compiled(tmp_path, "plain", {})
    assert set(used(tmp_path, {"nothing of it"}).measurable) == plain.looked_up


def test_a_profile_of_another_fingerprint_is_dropped(tmp_path: Path) -> None:
    """In silence: the flags that it was taken with change the fingerprint."""
    plain, _ = compiled(tmp_path, "plain", {})
    recorded, _ = compiled(tmp_path, "recorded", RECORDING)
    assert plain.fingerprint != recorded.fingerprint
    names = plain.looked_up
    assert used(tmp_path, {f"{plain.fingerprint}::{name}" for name in names}).measurable == ()
    assert set(used(tmp_path, {f"{recorded.fingerprint}::{name}" for name in names}).measurable) == names
