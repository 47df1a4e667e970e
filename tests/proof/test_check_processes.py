"""Real processes, joined on the CPU: what differs is named, who does not come is named, and no backend is started."""

from __future__ import annotations

import pytest

from tests.child import run, told
from tests.jobs import job

CHECK = """
import time
join()
import jaxgpu_tune
def findings(timeout=60.0):
    start = time.monotonic()
    found = jaxgpu_tune.check_processes(timeout)
    return [[f.code, f.severity, f.message] for f in found], time.monotonic() - start
"""
BACKENDS = "from jax._src import xla_bridge\n"
ODD = {
    "XLA_FLAGS": "--xla_gpu_enable_triton_gemm=false --xla_dump_to=/tmp/2",
    "NCCL_PROTO": "LL",
    "NCCL_SOCKET_IFNAME": "eth7",
    "JAX_ENABLE_X64": "1",
    "JAX_LOG_COMPILES": "1",
}


def test_two_processes_alike() -> None:
    """Nothing to say, within seconds, without a backend; the job is now a fact of the machine, and stays usable."""
    code = CHECK + BACKENDS + "tell([*findings(), len(xla_bridge._backends), jaxgpu_tune.detect().to_dict()])\n"
    code += "import jax\njaxgpu_tune.configure()\ntell(jax.process_count())"
    both = job(code, [{}, {"JAX_LOG_COMPILES": "1"}])
    for rank, ((found, seconds, backends, machine), processes) in enumerate(both):
        assert (found, backends, processes) == ([], 0, 2)
        assert seconds < 10
        assert (machine["processes"]["rank"], machine["processes"]["count"]) == (rank, 2)


@pytest.mark.slow
def test_of_four_the_odd_one_is_named_and_so_is_the_one_that_does_not_come() -> None:
    """Every process learns the same; what each may have of its own is no finding."""
    code = CHECK + "tell(findings())\n"
    code += "if rank != 2: tell(findings(1.5))\npart()"
    told_by = job(code, [{}, {}, ODD, {}])
    first = [each[0] for each in told_by]
    assert all(found == first[0][0] and seconds < 10 for found, seconds in first)
    by_code = {code: (severity, message) for code, severity, message in first[0][0]}
    assert set(by_code) == {"flags-differ", "environment-differs", "options-differ"}
    for severity, message in by_code.values():
        assert severity == "error" and message.startswith("Process 2 (") and "the other 3 processes" in message
    assert "xla_gpu_enable_triton_gemm: false instead of not set." in by_code["flags-differ"][1]
    assert "NCCL_PROTO: LL instead of not set." in by_code["environment-differs"][1]
    assert "jax_enable_x64: True instead of False." in by_code["options-differ"][1]
    assert not [m for _, m in by_code.values() if "dump" in m or "IFNAME" in m or "log_compiles" in m]
    for rank in (0, 1, 3):
        assert missing(told_by[rank][1]) == ("process-missing", "error", "Process 2", True)


def missing(told_by_one: tuple[list[list[str]], float]) -> tuple[str, str, str, bool]:
    """The only finding (code, severity, who did not come), and whether it came when its time was up and not long after."""
    ((code, severity, message),), seconds = told_by_one
    return code, severity, message.partition(" did not come")[0], 1.5 <= seconds < 10


def test_where_process_0_does_not_come_the_others_do_not_wait_for_its_answer() -> None:
    """It compares for all."""
    _, (second,) = job(CHECK + "if rank: tell(findings(1.5))\npart()", [{}, {}])
    assert missing(second) == ("process-missing", "error", "Process 0", True)


def test_a_difference_is_logged_for_those_who_ignore_the_findings() -> None:
    """By both processes of the two, whose host nothing tells."""
    code = CHECK + "import io, contextlib\nwith contextlib.redirect_stderr(io.StringIO()) as said: findings()\n"
    both = job(code + "tell(said.getvalue())", [{}, {"XLA_FLAGS": "--xla_gpu_autotune_level=2"}])
    assert all("differ in XLA flags: xla_gpu_autotune_level: 2 instead of not set." in each[0] for each in both)


def test_before_initialize_it_is_an_error_that_says_what_to_do() -> None:
    """Not an empty answer: nothing was compared."""
    code = "import jaxgpu_tune\ntry:\n    jaxgpu_tune.check_processes()\nexcept jaxgpu_tune.JaxGpuTuneError as e:\n"
    assert "after jax.distributed.initialize()" in told(code + "    tell(str(e))")


def test_one_process_has_nothing_to_compare() -> None:
    """Joined, but alone."""
    assert job(CHECK + "tell(findings()[0])", [{}]) == [[[]]]


@pytest.mark.parametrize("timeout", ["0", "-1", "True", "'9'", "float('nan')", "float('inf')"])
def test_a_wrong_timeout(timeout: str) -> None:
    """Is refused before anything else."""
    ended = run(f"import jaxgpu_tune\njaxgpu_tune.check_processes(timeout={timeout})")
    assert ended.status != 0 and "BadSetting" in ended.stderr and "a number of seconds above 0" in ended.stderr
