"""The programs of people's libraries: each runs as a script, knows nothing of this library, and computes what it is for."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from benchmarks.workloads import WORKLOADS
from tests.child import FAST, ROOT, clean_environ, compiled_once, run_warm

ENOUGH = {"ppo": 40, "ode": 250, "convnet": 30, "vit": 40, "transformer": 40, "mcmc": 60}
"""Steps after which each has learned, at the tiny size."""


def printed(program: str, *given: str) -> str:
    """What a program prints that ends well on two CPU devices."""
    pytest.importorskip({"ode": "diffrax", "mcmc": "numpyro", "transformer": "equinox"}.get(program, "flax"))
    compiled = compiled_once(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="2", XLA_FLAGS=FAST)
    code = f"import runpy\nrunpy.run_module('benchmarks.programs.{program}', run_name='__main__', alter_sys=True)"
    done = run_warm(code, argv=given, cwd=ROOT, CUDA_VISIBLE_DEVICES="", **compiled)
    assert done.status == 0, done.stderr
    return done.stdout


def test_every_program_is_a_workload() -> None:
    """And each has a number that it is checked by."""
    assert {one.module for one in WORKLOADS.values() if one.module.startswith("programs.")} == {
        f"programs.{name}" for name in ENOUGH
    }


def test_no_program_knows_this_library() -> None:
    """Each is what a user has written already."""
    files = list((ROOT / "benchmarks" / "programs").glob("*.py"))
    assert len(files) > len(ENOUGH) and not [path.name for path in files if "jaxgpu" in path.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("program", ENOUGH)
def test_a_program_learns(program: str) -> None:
    """Its loss is printed every ten steps, and the number that it is for is right at the end."""
    said = printed(program, "--steps", str(ENOUGH[program]))
    losses = [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)$", said, re.MULTILINE)]
    assert len(losses) == ENOUGH[program] // 10 and (losses[-1] < losses[0] or program == "mcmc"), (
        "samples do not descend"
    )
    assert re.search(r"^check: .*: yes$", said, re.MULTILINE), said


@pytest.mark.slow
def test_what_is_not_learned_is_not_called_right() -> None:
    """After one step of the program; the check can fail."""
    assert re.search(r"^check: .*: not yet$", printed("ppo", "--steps", "1"), re.MULTILINE)


@pytest.mark.slow
def test_how_weights_are_cut_changes_no_loss() -> None:
    """Along the first dimension or the last, up to rounding."""
    first, last = (
        [
            float(loss)
            for loss in re.findall(
                r"loss (\S+)\n", printed("transformer", "--steps", "5", "--every", "1", "--cut", cut)
            )
        ]
        for cut in ("first", "last")
    )
    assert len(first) == 5 and first == pytest.approx(last, rel=5e-3)


@pytest.mark.slow
def test_wrong_use_of_a_program_is_told() -> None:
    """Before anything is computed."""
    command = [sys.executable, "-m", "benchmarks.programs.ppo", "--steps", "0"]
    environ = clean_environ(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="")
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2 and "0 is not a whole number from 1 on" in done.stderr
