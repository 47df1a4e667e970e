"""``tune`` of one function in this process: what is tried, what it compiles to, its numbers, and a job of two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import jax
import jax.numpy as jnp
import pytest

import jaxgpu_tune
from jaxgpu_tune.errors import BadSetting, JaxGpuTuneError
from tests.child import ROOT, clean_environ, free_port


@jax.jit
def step(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 20, lambda _, y: jnp.tanh(y @ y) * 0.9, x)


def test_what_compiles_to_the_same_program_is_not_run(tmp_path: Path) -> None:
    """On a CPU there is next to nothing to try; a flag that makes it slower is tried, told, and not chosen."""
    found = jaxgpu_tune.tune(
        *(step, jnp.ones((64, 64))),
        budget="60s",
        out=tmp_path / "tuned.toml",
        seconds=0.05,
        flags={"xla_backend_optimization_level": 0, "xla_cpu_enable_fast_math": False},
    )
    assert isinstance(found, jaxgpu_tune.Tuned)
    did = {one.name: one for one in found.did}
    assert did["xla_backend_optimization_level=0"].tried >= 1
    assert "the compiled program stays the same" in did["level-o1"].why
    assert (
        "acts on the whole process" in did["cuda-async-allocator"].why or "No NVIDIA" in did["cuda-async-allocator"].why
    )
    assert json.loads((tmp_path / "tuned.json").read_text())["answer"] == found.sentence
    again = jaxgpu_tune.tune(
        *(step, jnp.ones((64, 64))),
        budget="60s",
        out=tmp_path / "tuned.toml",
        seconds=0.05,
        flags={"xla_backend_optimization_level": 0, "xla_cpu_enable_fast_math": False},
    )
    assert again.trials[: len(found.trials)] == found.trials


def test_what_is_wrong_is_told_all_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadSetting) as raised:
        jaxgpu_tune.tune("step", budget="soon", seconds=0, tolerance=2)  # type: ignore[arg-type]
    assert len(raised.value.findings) == 4
    with pytest.raises(JaxGpuTuneError, match="fails as it is"):
        jaxgpu_tune.tune(jax.jit(lambda x: x @ jnp.ones(3)), jnp.ones(5), out=tmp_path / "t.toml")
    with pytest.raises(ValueError, match="xla_gpu_autotune_level"):
        jaxgpu_tune.tune(step, jnp.ones((4, 4)), out=tmp_path / "t.toml", flags={"xla_gpu_autotune_leve": 1})
    assert list(tmp_path.iterdir()) == []


def test_a_search_that_is_interrupted_answers_with_what_it_knows(tmp_path: Path) -> None:
    """Ctrl-C in a notebook: the budget is not to blame, and the next call goes on."""

    class AsOfAnotherLibrary:
        """Traced for each set of options anew."""

        traced, lower = 0, None

        def __call__(self, x: jax.Array) -> jax.Array:
            self.traced += 1
            if self.traced == 2:
                raise KeyboardInterrupt
            return step(x)

    wanted = AsOfAnotherLibrary()
    asked = {"out": tmp_path / "tuned.toml", "seconds": 0.02, "flags": {"xla_backend_optimization_level": 0}}
    first = jaxgpu_tune.tune(wanted, jnp.ones((8, 8)), **asked)  # type: ignore[arg-type]
    assert [trial.purpose for trial in first.trials] == ["start", "start"]
    assert "it was interrupted" in first.sentence and "budget" not in first.sentence
    again = jaxgpu_tune.tune(wanted, jnp.ones((8, 8)), **asked)  # type: ignore[arg-type]
    assert again.trials[:2] == first.trials and len(again.trials) > 2


JOB = """
    import json, sys
    import jax, jax.numpy as jnp
    jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
    import jaxgpu_tune
    step = jax.jit(lambda x: jnp.tanh(x @ x))
    found = jaxgpu_tune.tune(step, jnp.ones((32, 32)), budget="20s", seconds=0.05, out=sys.argv[3],
                             flags={"xla_backend_optimization_level": 0})
    print("TOLD", json.dumps([[sorted(map(str, one.config)), one.ms, one.seconds] for one in found.trials]))
"""


@pytest.mark.slow
def test_the_processes_of_a_job_try_the_same_and_the_slowest_counts(tmp_path: Path) -> None:
    port = str(free_port())
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", dedent(JOB), port, str(rank), str(tmp_path / "tuned.toml")],
            env=clean_environ(JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [
        next(line for line in job.communicate(timeout=200)[0].splitlines() if line.startswith("TOLD")) for job in jobs
    ]
    assert told[0] == told[1]
    assert len(json.loads(told[0][5:])) >= 2
    assert (tmp_path / "tuned.json").exists()


LEAVES = """
    import sys
    import jax, jax.numpy as jnp
    jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
    import jaxgpu_tune
    def step(x):
        if sys.argv[2] == sys.argv[3]:
            raise ValueError("no such file: weights.npz")
        return jnp.tanh(x @ x)
    try:
        jaxgpu_tune.tune(step, jnp.ones((32, 32)), budget="20s", seconds=0.05, out=sys.argv[4])
    except jaxgpu_tune.JaxGpuTuneError as error:
        print("TOLD", error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("leaver", ["0", "1"])
def test_where_one_process_of_a_job_leaves_the_others_are_told_why_at_once(leaver: str, tmp_path: Path) -> None:
    """They had waited ten minutes for it."""
    port = str(free_port())
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", dedent(LEAVES), port, rank, leaver, str(tmp_path / "tuned.toml")],
            env=clean_environ(JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    told = [job.communicate(timeout=200)[0] for job in jobs]
    assert "step fails as it is: ValueError: no such file: weights.npz" in told[int(leaver)]
    assert f"TOLD Process {leaver} of the job has left the search: step fails as it is" in told[1 - int(leaver)]


def test_what_another_library_jits_is_tuned_too(tmp_path: Path) -> None:
    """equinox.filter_jit: modules with functions in them go in and come out."""
    equinox = pytest.importorskip("equinox")
    model = equinox.nn.MLP(4, 4, 8, 1, key=jax.random.key(0))

    @equinox.filter_jit
    def update(model: object, x: jax.Array) -> tuple[object, jax.Array]:
        loss, gradient = equinox.filter_value_and_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(model)
        return equinox.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradient)), loss

    found = jaxgpu_tune.tune(update, model, jnp.ones((8, 4)), budget="60s", seconds=0.02, out=tmp_path / "tuned.toml")
    assert found.trials[0].ms is not None
    assert any(one.tried for one in found.did)
