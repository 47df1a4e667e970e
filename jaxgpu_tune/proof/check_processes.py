"""Whether the processes of a job agree, asked before the first compile: what differs makes them wait for each other.

Process 0 reads what each process wrote to the coordinator's store, compares, and writes the findings for all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from time import monotonic

from ..errors import BadSetting, JaxGpuTuneError
from ..host.distributed import Store
from ..host.own_settings import own_settings
from ..host.phase import Joined, joined_job
from ..model import Finding
from ..planning.findings.agreement import disagreements, missing
from ..planning.settings.from_arguments import bad
from ..values import jsonable
from ..wording import is_above_zero

__all__ = ["check_processes"]

FIRST = 0
SETTINGS, HERE, FINDINGS = "settings", "here", "findings"
GRACE = 10.0
"""Seconds for process 0 to compare what it has read, after it has waited for the last."""
NOT_JOINED = Finding(
    "not-initialized",
    "error",
    "check_processes() compares the processes of a job, and this one has not joined any.",
    "Call it after jax.distributed.initialize(); in a program of one process leave it out.",
)
_calls = count()


def check_processes(timeout: float = 60.0) -> tuple[Finding, ...]:
    """What differs between the processes of the job, and which have not come within ``timeout`` seconds; empty: nothing.

    To be called in every process, after ``jax.distributed.initialize()`` and before the first computation; all get the
    same findings. Raises JaxGpuTuneError before ``initialize()`` and where the coordinator cannot be reached.
    """
    if not is_above_zero(timeout):
        raise BadSetting.of([bad("timeout", timeout, "a number of seconds above 0")])
    job = joined_job()
    if job is None:
        raise JaxGpuTuneError.of([NOT_JOINED])
    if job.count == 1:
        return ()
    try:
        return _agreed(job, Store(job, f"jaxgpu_tune/check_processes/{next(_calls)}"), timeout)
    except RuntimeError as error:
        message = f"The job's coordinator did not answer, so the processes could not be compared: {error}"
        hint = "It runs in process 0: look at what that printed."
        raise JaxGpuTuneError.of([Finding("coordinator-failed", "error", message, hint)]) from error


def _agreed(job: Joined, store: Store, timeout: float) -> tuple[Finding, ...]:
    store.put(f"{SETTINGS}/{job.rank}", json.dumps(own_settings()))
    store.put(f"{HERE}/{job.rank}", "")
    if job.rank == FIRST:
        findings = tuple(_compare(job, store, timeout))
        store.put(FINDINGS, json.dumps(jsonable(findings)))
        return findings
    if store.get(f"{HERE}/{FIRST}", timeout) is None:
        return tuple(missing([FIRST], timeout))
    text = store.get(FINDINGS, timeout + GRACE)
    return tuple(missing([FIRST], timeout) if text is None else (Finding(**each) for each in json.loads(text)))


def _compare(job: Joined, store: Store, timeout: float) -> Iterator[Finding]:
    ranks = set(range(job.count))
    here = _arrived(ranks, store, timeout)
    texts = {rank: store.get(f"{SETTINGS}/{rank}", GRACE) for rank in sorted(here)}
    found = {rank: json.loads(text) for rank, text in texts.items() if text is not None}
    yield from missing(sorted(ranks - set(found)), timeout)
    yield from disagreements(found)


def _arrived(ranks: set[int], store: Store, timeout: float) -> set[int]:
    """Those who come in time. Once time is up, who is there is read in one go: a wait of no time finds nobody."""
    end = monotonic() + timeout
    for rank in sorted(ranks):
        if store.get(f"{HERE}/{rank}", end - monotonic()) is None:
            return store.numbers(HERE)
    return ranks
