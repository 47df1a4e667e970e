"""What rules of advice go by, by GPUs whose numbers are known."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.advice import MEASURES
from jaxgpu_tune.measure.measures import OF_GRAPHS, mean, measures_of
from jaxgpu_tune.measure.profile import HostTimes, Watched
from jaxgpu_tune.measure.trace.reduction import Graphs
from tests.render.profiles import PARTS, collective, gpu

GATHER = {"kind": "all-gather", "ops": ("a", "b")}


def test_every_measure_of_the_tables_is_computed_and_no_other() -> None:
    assert set(measures_of(Watched(), [gpu(0)], 1)) == set(MEASURES)
    assert set(OF_GRAPHS) <= set(MEASURES)
    assert mean([]) == 0.0 and mean([1.0, 2.0]) == 1.5


def test_numbers_of_the_host() -> None:
    """The share of memory where both sides of it are known."""
    host = HostTimes(recompiled=3, recompile_s=1.5, compiled=7, compile_s=9.0)
    found = measures_of(Watched(host=host, peak_bytes=3, limit_bytes=4), [], 0)
    compiled = {"recompilations": 3.0, "recompile_seconds": 1.5, "compilations": 7.0, "compile_seconds": 9.0}
    assert found == {**compiled, "memory_share": 0.75}
    for known in ({"peak_bytes": 3}, {"limit_bytes": 4}, {}):
        assert measures_of(Watched(**known), [], 0)["memory_share"] is None


def test_sums_are_told_by_their_size() -> None:
    """All-reduces of up to 1 MiB and of more; without the time in which a GPU waits for the last to begin; a size that is not known is in neither."""
    total = {"kind": "all-reduce", "exposed_ms": 0.75, "waiting_ms": 0.25}
    mebibyte = 1 << 20
    one = gpu(
        0,
        collectives=(
            collective(1, runs=64.0, bytes=mebibyte, **total),
            collective(2, runs=2.0, bytes=mebibyte + 1, **total),
            collective(3, runs=2.0, bytes=None, **total),
            collective(4, runs=2.0, bytes=mebibyte),
        ),
    )
    found = measures_of(Watched(), [one], 2)
    assert (found["small_sums"], found["small_sums_ms"], found["large_sums_ms"]) == (64.0, 0.5, 0.5)
    assert found["small_sums_share"] == found["large_sums_share"] == 0.5 / one.step_ms


def test_numbers_of_the_gpus_are_means() -> None:
    one = gpu(
        0,
        launches=100.0,
        looped_launches=40.0,
        graphs=Graphs(launches=2.0, ms=1.0),
        float32_products_ms=3.0,
        collectives=(
            collective(1, runs=3.0, exposed_ms=0.5, **GATHER),
            collective(2, runs=4.0, **GATHER),
            collective(3),
        ),
    )
    two = gpu(
        1, step_ms=30.0, launches=0.0, looped_launches=0.0, waiting_ms=0.75, capability=8.0, gathered_transposes_ms=0.3
    )
    found = measures_of(Watched(), [one, two], 16)
    assert found["gpus"] == 16.0 and found["compute_capability"] == 8.0
    assert found["collectives"] == (3 + 4 + 4) / 2 and found["gathers"] == 3.5
    assert found["looped_gathers_ms"] == 0.375  # only of the one that runs more than once for each of its instructions
    assert found["waiting_ms"] == 0.5 and found["waiting_share"] == 0.5 / 20
    assert found["float32_products_ms"] == 1.5 and found["gathered_transposes_ms"] == pytest.approx(0.2)
    assert (found["launches"], found["looped_launches_share"]) == (50.0, 0.4)
    assert found["mean_kernel_us"] == 1e3 * 9.0 / 50
    assert (found["graph_launches"], found["in_graphs_share"]) == (1.0, 0.5 / 20)
    none = measures_of(Watched(), [two, gpu(0, launches=0.0, capability=None)], 2)
    assert (none["mean_kernel_us"], none["looped_launches_share"], none["compute_capability"]) == (None, None, None)


@pytest.mark.parametrize(("runs", "counted"), [(3.0, 0.0), (3.1, 0.75)])
def test_a_gather_in_a_loop_runs_more_than_once_for_each_of_its_instructions(runs: float, counted: float) -> None:
    found = measures_of(Watched(), [gpu(0, collectives=(collective(1, **{**GATHER, "runs": runs}),))], 1)
    assert found["looped_gathers_ms"] == counted


@pytest.mark.parametrize(
    ("step_s", "share"), [(None, 1.0), (0.010, 1.0), (0.011, 1.0), (0.0095, 0.5), (0.009, 0.0), (0.005, 0.0)]
)
def test_idle_time_that_the_tracer_added_does_not_count(step_s: float | None, share: float) -> None:
    """What it makes a step longer is taken off idle time, as far as there is any."""
    found = measures_of(Watched(step_s=step_s), [gpu(0)], 1)
    assert found["idle_host_ms"] == pytest.approx(share * PARTS["idle_host"])
    assert found["idle_launches_share"] == pytest.approx(share * PARTS["idle_launches"] / 10)
    busy = gpu(0, parts={**PARTS, "idle_host": 0.0, "idle_launches": 0.0, "idle_peer": 0.0})
    assert measures_of(Watched(step_s=step_s), [busy], 1)["idle_host_ms"] == 0.0
