"""One profile of several processes: who is told of, who is slow, and what could not be seen."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.measure.assembly import profile_of
from jaxgpu_tune.measure.profile import Rank, Watched
from jaxgpu_tune.measure.trace.reduction import GpuStep, Reduction
from tests.render.profiles import PARTS, collective, gpu


def watched(rank: int | None, *gpus: GpuStep, step_s: float | None = 0.009, **more: Any) -> Watched:
    """One process, and what its trace was reduced to."""
    reduction = Reduction(gpus, ("/device:GPU:9",), {}) if gpus else None
    return Watched(**{"rank": rank, "step_s": step_s, "reduction": reduction, **more})


def parts(**changes: float) -> dict[str, float]:
    """Where the step of a GPU goes."""
    return {**PARTS, **changes}


def test_it_tells_of_the_first_rank_that_ran_steps() -> None:
    """With all that was seen of that process; ranges are over the GPUs of all."""
    one = gpu(0, collectives=(collective(1),), parts=parts(computing=5.0), hidden_ms=1.0)
    two = gpu(1, parts=parts(computing=7.0), step_ms=12.0, hidden_ms=2.0)
    three = gpu(0, parts=parts(computing=9.0, copies=0.0))
    first = watched(1, one, two, clock="marks", function="f", error=0.1, peak_bytes=3, limit_bytes=4, jax="0.11.2")
    found = profile_of([watched(2, three), first, watched(0, step_s=None)], ["python", "x"], unnamed_s=0.007)
    assert (found.command, found.step_ms, found.traced_ms, found.unnamed_ms) == (("python", "x"), 9.0, 11.0, 7.0)
    assert (found.clock, found.function, found.error, found.peak_bytes, found.limit_bytes) == ("marks", "f", 0.1, 3, 4)
    assert (found.parts["computing"], found.ranges["computing"], found.ranges["copies"]) == (
        6.0,
        (5.0, 9.0),
        (0.0, 1.0),
    )
    assert (found.hidden_ms, found.communicating_ms, found.waiting_ms) == (1.5, 4.0, 0.25)
    assert (found.collectives, found.gpus, found.silent_gpus) == (one.collectives, (one, two), ("/device:GPU:9",))
    assert (found.device, found.jax) == ("NVIDIA H200", "0.11.2")
    assert {found.measures[name] for name in ("idle_host_ms", "graph_launches")} == {None}
    assert found.measures["gpus"] == 3.0


def test_without_a_trace_there_is_the_hosts_side() -> None:
    found = profile_of([watched(None, device="cpu", why_not_traced="it ended")])
    assert (found.step_ms, found.traced_ms, found.device, found.gpus, dict(found.parts)) == (9.0, None, "cpu", (), {})
    assert found.ranks == (Rank(0, 9.0),) and found.notes == ("There is no trace: it ended.",)
    empty = profile_of([])
    assert (empty.step_ms, empty.ranks) == (None, ()) and empty.unnamed_ms is None
    only_traced = profile_of([watched(0, step_s=None), watched(1, gpu(0), step_s=None)])
    assert only_traced.traced_ms == 10.0


def test_each_rank_with_work_of_its_own() -> None:
    """All but what it communicates openly and waits for peers; processes without a rank come last, by number."""
    found = profile_of([watched(None, gpu(0)), watched(3, gpu(0), gpu(1, step_ms=14.0, waiting_ms=0.75))])
    three, nobody = found.ranks
    own = 12.0 - PARTS["exposed_communication"] - PARTS["idle_peer"]
    assert three == Rank(3, 9.0, 12.0, own, 0.5, parts())
    assert (nobody.rank, nobody.traced_ms) == (1, 10.0)


@pytest.mark.parametrize(("more", "slow"), [(0.0, None), (0.29, None), (0.4, 1)])
def test_a_rank_is_slow_where_its_own_work_stands_out(more: float, slow: int | None) -> None:
    """By more than three hundredths of a step; of one alone nothing is told."""
    ranks = [watched(0, gpu(0)), watched(1, gpu(0, step_ms=10.0 + more)), watched(2)]
    found = profile_of(ranks)
    assert found.slow_rank == slow and found.skew_ms == pytest.approx(more)
    assert (profile_of(ranks[:1]).slow_rank, profile_of(ranks[:1]).skew_ms) == (None, None)


@pytest.mark.parametrize(
    ("seen", "notes"),
    [
        (watched(0, gpu(0)), []),
        (watched(0, gpu(0), step_s=None), ["No steady state was found"]),
        (watched(0, reduction=Reduction((), (), {})), ["No GPU ran anything"]),
        (watched(0, gpu(0, steps=0)), ["Nothing repeats in the trace"]),
        (watched(0, gpu(0, parts=parts(cuda_graphs=1.0))), []),
        (watched(0, gpu(0, parts=parts(cuda_graphs=1.1))), ["11% of the step run inside CUDA graphs"]),
        (watched(0, why_not_traced="no space"), ["There is no trace: no space."]),
    ],
)
def test_what_could_not_be_seen_is_told(seen: Watched, notes: list[str]) -> None:
    found = profile_of([seen]).notes
    assert len(found) == len(notes) and all(one.startswith(note) for one, note in zip(found, notes, strict=True))


def test_advice_knows_the_flags_that_are_set() -> None:
    """What is set already is not advised; what is set and does nothing is."""
    idle = watched(0, gpu(0), xla_flags="--xla_gpu_all_gather_combine_threshold_bytes=1 --xla_dump_to=/x")
    assert "no-collectives-to-set" in {one.code for one in profile_of([idle]).advice}
    assert "no-collectives-to-set" not in {one.code for one in profile_of([idle._replace(xla_flags="")]).advice}
