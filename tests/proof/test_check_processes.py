"""Real processes, joined on the CPU: what differs is named, who does not come is named, and no backend is started."""

from __future__ import annotations

import threading
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.host.distributed import TIMED_OUT, Store
from jaxgpu_tune.host.phase import Joined
from jaxgpu_tune.model import Finding
from jaxgpu_tune.proof import check_processes as check
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
        assert seconds < 50
        assert (machine["processes"]["rank"], machine["processes"]["count"]) == (rank, 2)


@pytest.mark.slow
def test_of_four_the_odd_one_is_named_and_so_is_the_one_that_does_not_come() -> None:
    """Every process learns the same; what each may have of its own is no finding."""
    code = CHECK + "tell(findings())\n"
    code += "if rank != 2: tell(findings(1.5))\npart()"
    told_by = job(code, [{}, {}, ODD, {}])
    first = [each[0] for each in told_by]
    assert all(found == first[0][0] and seconds < 50 for found, seconds in first)
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
    return code, severity, message.partition(" did not come")[0], 1.5 <= seconds < 50


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


class Coordinator:
    """What the clients of a coordinator do, among threads of this process."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        self._changed = threading.Condition()

    def key_value_set(self, key: str, text: str) -> None:
        with self._changed:
            assert key not in self._kept
            self._kept[key] = text
            self._changed.notify_all()

    def blocking_key_value_get(self, key: str, milliseconds: int) -> str:
        with self._changed:
            if not self._changed.wait_for(lambda: key in self._kept, milliseconds / 1000):
                raise RuntimeError(f"{TIMED_OUT}: {key}")
            return self._kept[key]

    def key_value_dir_get(self, folder: str) -> list[tuple[str, str]]:
        with self._changed:
            return [(key, text) for key, text in self._kept.items() if key.startswith(f"{folder}/")]


def agreed(
    monkeypatch: pytest.MonkeyPatch, settings: list[dict[str, Any] | None], timeout: float = 20.0
) -> list[tuple[Finding, ...]]:
    """What each process that comes is told; one without settings does not come."""
    own: Any = threading.local()
    monkeypatch.setattr(check, "own_settings", lambda: own.settings)
    coordinator, told = Coordinator(), defaultdict[int, tuple[Finding, ...]](tuple)

    def come(rank: int, mine: dict[str, Any]) -> None:
        own.settings = mine
        job = Joined(rank, len(settings), coordinator)
        told[rank] = check._agreed(job, Store(job, "calls/0"), timeout)

    threads = [threading.Thread(target=come, args=(n, one)) for n, one in enumerate(settings) if one is not None]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [told[rank] for rank in sorted(told)]


ALIKE = {
    "host": {"name": "here"},
    "flags": {"xla_gpu_autotune_level": "4"},
    **{name: {} for name in ("versions", "gpus", "env", "options")},
}


@pytest.mark.parametrize("odd", [None, 0, 1, 2])
def test_all_are_told_the_same(odd: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever it is that differs; nothing where nobody does."""
    settings: list[dict[str, Any] | None] = [
        {**ALIKE, "flags": {} if rank == odd else ALIKE["flags"]} for rank in range(3)
    ]
    first, *others = agreed(monkeypatch, settings)
    assert all(one == first for one in others) and len(others) == 2
    assert [finding.code for finding in first] == ([] if odd is None else ["flags-differ"])
    assert odd is None or first[0].message.startswith(f"Process {odd} (here) and the other 2 processes")


def test_those_who_do_not_come_are_named_and_the_others_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those after them; where process 0 is missing, that is all that can be told."""
    told = agreed(monkeypatch, [ALIKE, None, {**ALIKE, "flags": {}}], timeout=1.5)
    assert len(told) == 2 and told[0] == told[1]
    assert [finding.code for finding in told[0]] == ["process-missing", "flags-differ"]
    assert told[0][0].message.startswith("Process 1 did not come to check_processes() within 1.5 s.")
    monkeypatch.setattr(check, "GRACE", 0.1)
    (alone,) = agreed(monkeypatch, [None, ALIKE], timeout=0.1)
    assert [finding.message.partition(" did")[0] for finding in alone] == ["Process 0"]


def test_an_answer_that_never_comes_is_told_as_process_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """It came, and then it ended."""
    monkeypatch.setattr(check, "GRACE", 0.1)
    job = Joined(1, 2, Coordinator())
    store = Store(job, "calls/0")
    store.put("here/0", "")
    (finding,) = check._agreed(job, store, 0.1)
    assert finding.message.startswith("Process 0 did not come")


def test_a_coordinator_that_is_gone_is_told_and_each_call_has_keys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def gone(key: str, _: str) -> None:
        keys.append(key.rpartition("/settings")[0])
        raise RuntimeError("UNAVAILABLE: connection refused")

    monkeypatch.setattr(check, "joined_job", lambda: Joined(0, 2, SimpleNamespace(key_value_set=gone)))
    for _ in range(2):
        with pytest.raises(jaxgpu_tune.JaxGpuTuneError, match="could not be compared: UNAVAILABLE") as raised:
            jaxgpu_tune.check_processes()
        assert [finding.code for finding in raised.value.findings] == ["coordinator-failed"]
    first, second = keys
    assert first != second and first.startswith("jaxgpu_tune/check_processes/")
