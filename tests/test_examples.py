"""The examples, run as a user runs them: each form trains on two host devices, or as many processes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.child import COMPILED, FAST, ROOT, clean_environ, compiled_once, free_port, told

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SMALL = ("--layers", "4", "--width", "64", "--batch", "2", "--sequence", "32", "--steps", "8")
LOSS = re.compile(r"loss (\d+\.\d+) -> (\d+\.\d+), on (\d+) x ")

TWO_DEVICES = "--xla_force_host_platform_device_count=2"

pytestmark = pytest.mark.slow


def output_of(*command: str, cwd: Path = EXAMPLES, **environ: str) -> str:
    """What a process prints that ends well, without a GPU."""
    flags = f"{FAST} {environ.pop('XLA_FLAGS', '')}".strip()
    compiled = compiled_once(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", XLA_FLAGS=flags)
    clean = clean_environ(**{**compiled, **environ})
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(output: str) -> tuple[float, float, int]:
    """(first loss, last loss, devices) that a training printed."""
    found = LOSS.search(output)
    assert found, output
    return float(found[1]), float(found[2]), int(found[3])


def trained(*command: str, **environ: str) -> tuple[float, float, int, str]:
    """(first loss, last loss, devices, output) of a training in Python."""
    output = output_of(sys.executable, *command, **environ)
    return *losses(output), output


@pytest.fixture
def on_path(tmp_path: Path) -> str:
    """A PATH on which ``python`` and ``jaxgpu-tune`` are those of this environment, also where nothing is installed."""
    for name, command in (("python", ""), ("jaxgpu-tune", "-m jaxgpu_tune")):
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {command} "$@"\n')
        script.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def test_the_script_and_the_decorated_entry_point_train_the_same() -> None:
    """On two host devices; the loss falls, and the script prints its report. Flags that the other inherits are kept when it is called."""
    first, last, devices, output = trained("fsdp_training.py", *SMALL)
    assert last < first and devices == 2
    assert "fsdp: applied" in output and "xla_force_host_platform_device_count" in output
    assert trained("decorated_training.py", *SMALL, XLA_FLAGS=TWO_DEVICES)[:3] == (first, last, devices)


def test_the_script_trains_on_as_many_devices_as_are_asked_for() -> None:
    """XLA_FLAGS says how many host devices."""
    assert trained("fsdp_training.py", *SMALL, XLA_FLAGS="--xla_force_host_platform_device_count=4")[2] == 4


@pytest.mark.parametrize("library", ["flax", "equinox"])
def test_other_libraries_train(library: str) -> None:
    """With Flax and Equinox, and Optax; data split over the devices."""
    pytest.importorskip(library, reason="in the extra 'examples'")
    first, last, devices, _ = trained(f"{library}_training.py", XLA_FLAGS=TWO_DEVICES)
    assert last < first and devices == 2


def test_a_ray_worker_starts_with_what_was_planned() -> None:
    """A real local Ray; the worker's devices come from the variables that the driver planned."""
    pytest.importorskip("ray", reason="in the extra 'examples'")
    first, last, devices, _ = trained("ray_training.py", *SMALL, XLA_FLAGS=TWO_DEVICES)
    assert last < first and devices == 2


def test_several_processes_train_as_one(on_path: str) -> None:
    """Two real processes: each prints what it should, and together they are one training."""
    job = ("multi_process_training.py", *SMALL, "--coordinator", f"localhost:{free_port()}", "--processes", "2")
    with ThreadPoolExecutor() as pool:
        first, other = pool.map(lambda rank: output_of(sys.executable, *job, "--process", rank), ("0", "1"))
    begin, end, devices = losses(first)
    assert end < begin and devices == 2 and not LOSS.search(other)


def test_the_slurm_array_trains(on_path: str) -> None:
    """There is no SLURM here: srun is the one task that it would start; array indices choose the size."""
    runs_here = {"BASH_FUNC_srun%%": '() {  "$@"\n}', "SLURM_SUBMIT_DIR": str(EXAMPLES), "PATH": on_path}
    environ = {**runs_here, "SLURM_ARRAY_TASK_ID": "0", "XLA_FLAGS": TWO_DEVICES}
    script = (EXAMPLES / "slurm_array.sh").read_text().replace("$PWD/jax_cache", os.environ[COMPILED])
    first, last, devices = losses(output_of("bash", "-c", script, "slurm_array.sh", *SMALL[2:], **environ))
    assert last < first and devices == 2
    assert "#SBATCH --array=0-3" in script and "layers=(4 8 12 16)" in script


def test_the_kubernetes_job_trains(on_path: str) -> None:
    """The container's command, arguments and variables, run here."""
    yaml = pytest.importorskip("yaml", reason="in the extra 'examples'")
    job = yaml.safe_load((EXAMPLES / "kubernetes_job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    environ = {**variables, "PATH": on_path, "XLA_FLAGS": TWO_DEVICES}
    first, last, devices = losses(output_of(*container["command"], *container["args"], *SMALL, **environ))
    assert last < first and devices == 2


def test_the_notebook_trains() -> None:
    """In a real Jupyter kernel, at the small size; the first cell shows the report."""
    nbformat = pytest.importorskip("nbformat", reason="in the extra 'test'")
    nbclient = pytest.importorskip("nbclient", reason="in the extra 'test'")
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    (training,) = (cell for cell in notebook.cells if "size_from([])" in cell.source)
    training.source = training.source.replace("size_from([])", f"size_from({list(SMALL)})")
    compiled = compiled_once(JAX_PLATFORMS="cpu", XLA_FLAGS=f"{FAST} {TWO_DEVICES}")
    kernel = clean_environ(CUDA_VISIBLE_DEVICES="", **compiled)
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(EXAMPLES)}})
    client.execute(env=kernel)
    first, second = (cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    assert "fsdp: applied" in first[-1]["data"]["text/plain"]
    assert '<div class="jaxgpu-tune">' in first[-1]["data"]["text/html"]
    begin, end, devices = losses(second[-1]["text"])
    assert end < begin and devices == 2


def test_the_decoder_gives_the_same_with_padded_rows() -> None:
    """One sequence in eight rows: the same up to bfloat16's rounding, after several tokens that went into the cache."""
    code = """
import decode, jax, numpy as np
from jax.sharding import Mesh
from jaxgpu_tune.comms import AllReduce
mesh = Mesh(np.array(jax.devices()), ("tp",))
comm = AllReduce(mesh, "tp")
plain, padded = (decode.decode(decode.Size(layers=2, pad_to=rows), mesh, comm, "fused", 6)[1] for rows in (0, 8))
tell([padded.shape, float(np.linalg.norm(padded - plain) / np.linalg.norm(plain))])
"""
    shape, error = told(code, cwd=EXAMPLES, JAX_PLATFORMS="cpu", PYTHONPATH=f"{ROOT}:{EXAMPLES}", XLA_FLAGS=FAST)
    assert shape == [1, 256] and error < 0.02


def test_the_decoder_tells_its_tokens_a_second_by_each_path() -> None:
    """On two host devices each path is lax.psum, says so, and ends with the same activations."""
    output = output_of(sys.executable, "decode.py", "--layers", "2", "--tokens", "8")
    assert "AllReduce over 'tp', 2 ranks: lax.psum, since the devices are cpu, not NVIDIA GPUs." in output
    found = re.findall(r"^(\w+): ([\d.]+) tokens/s, [\d.]+ ms a step, mean square ([\d.]+)$", output, re.MULTILINE)
    assert [path for path, _, _ in found] == ["psum", "kernel", "fused"]
    assert all(float(tokens) > 0 for _, tokens, _ in found)
    assert len({round(float(square), 2) for _, _, square in found}) == 1


def test_the_decoder_runs_on_as_many_devices_as_are_asked_for() -> None:
    """XLA_FLAGS says how many host devices; eight share the default size evenly."""
    flags = "--xla_force_host_platform_device_count=8"
    output = output_of(
        sys.executable, "decode.py", "--path", "fused", "--layers", "1", "--tokens", "1", XLA_FLAGS=flags
    )
    assert "8 ranks" in output and "fused: " in output


def test_the_decoder_refuses_sizes_that_do_not_divide() -> None:
    """All at once."""
    code = "import decode; tell([decode.Size().problems(4), decode.Size(heads=7, batch=0).problems(3)])"
    fine, wrong = told(code, cwd=EXAMPLES, JAX_PLATFORMS="cpu", PYTHONPATH=f"{ROOT}:{EXAMPLES}")
    assert fine == [] and wrong[0] == "--batch is too small"
    assert [problem.split(":")[1] for problem in wrong[1:]] == [
        " --groups by the number of devices",
        " --inner by the number of devices",
        " --heads by --groups",
        " --width by --heads",
    ]
