"""memory_fraction="auto": what is left to whom, and when nothing can be computed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import Report, plan
from jaxgpu_tune.planning import fraction
from jaxgpu_tune.planning.settings.pool_variables import COLLECTIVE_POOL, NEW_FRACTION
from tests.fleet import GIB, decision, machine


def gpus(*sizes: int | None, **more: Any) -> list[dict[str, Any]]:
    """GPUs of these sizes in GiB, joined by NVLink."""
    everyone = range(len(sizes))
    return [
        {
            "index": i,
            "name": "GPU",
            "compute_capability": "9.0",
            "memory_bytes": size and size * GIB,
            "nvlink_peers": [j for j in everyone if j != i],
            **more,
        }
        for i, size in enumerate(sizes)
    ]


def auto(environ: dict[str, str] | None = None, count: int = 1, **more: Any) -> Report:
    """A plan that computes the fraction."""
    given_gpus = more.pop("gpus", None)
    here = machine(gpus=given_gpus) if given_gpus else machine(count=count)
    return plan("single_gpu", machine=here, environ=environ or {}, memory_fraction="auto", **more)


def share(report: Report) -> float:
    """The fraction that is set."""
    return float(report.environ[NEW_FRACTION] or 0)


@pytest.mark.parametrize("sizes", [(80, None), (None, 80), (None,), (0, 80)])
def test_one_unknown_size_is_enough_for_no_fraction(sizes: tuple[int | None, ...]) -> None:
    """It would be too much for the GPU that is smaller than those that are known."""
    report = auto(gpus=gpus(*sizes))
    assert NEW_FRACTION not in report.environ
    assert "the GPUs' memory is unknown" in decision(report, NEW_FRACTION).reason


@given(st.lists(st.integers(8, 192), min_size=1, max_size=4))
def test_the_smallest_gpu_keeps_what_is_left_to_others(sizes: list[int]) -> None:
    """1 GiB for CUDA's libraries, another for NCCL where there is more than one GPU; at most 92 %."""
    reserve = 1 if len(sizes) == 1 else 2
    exact = min(0.92, 1 - reserve / min(sizes))
    assert exact - 0.011 < share(auto(gpus=gpus(*sizes))) <= exact + 1e-9


@given(st.integers(8 * 1024, 40 * 1024), st.booleans())
def test_a_pool_for_collectives_is_left_out_of_the_fraction(mebibytes: int, asked: bool) -> None:
    """Whether it is set already or asked for now; the argument wins."""
    text = str(mebibytes)
    if asked:
        report = auto({COLLECTIVE_POOL: "1"}, count=8, env={COLLECTIVE_POOL: text})
    else:
        report = auto({COLLECTIVE_POOL: text}, count=8)
    exact = min(0.92, 1 - (2 + mebibytes / 1024) / 80)
    assert exact - 0.011 < share(report) <= exact + 1e-9


@pytest.mark.parametrize("text", ["", "many", "-5", "٣"])
def test_a_pool_that_is_no_number_counts_as_none(text: str) -> None:
    assert share(auto({COLLECTIVE_POOL: text}, count=1)) == share(auto(count=1))


@pytest.mark.parametrize("flag", ["xla_gpu_enable_nccl_user_buffers", "xla_gpu_enable_nccl_user_buffers=true"])
def test_registered_buffers_lie_outside(flag: str) -> None:
    assert share(auto({"XLA_FLAGS": f"--{flag}"}, count=8)) == 0.85
    assert share(auto({"XLA_FLAGS": f"--{flag.split('=', maxsplit=1)[0]}=false"}, count=8)) > 0.85
    assert share(auto(count=8, flags={flag.split("=", maxsplit=1)[0]: True})) == 0.85


@given(st.integers(1, 8))
def test_processes_share_a_gpu_in_equal_parts(processes: int) -> None:
    """Together no more than one alone would take."""
    alone, each = share(auto(count=1)), share(auto(count=1, processes_per_gpu=processes))
    assert alone - 0.01 * processes < each * processes <= alone + 0.01
    assert f"shared by {processes} processes" in decision(auto(processes_per_gpu=processes), NEW_FRACTION).reason


def test_a_desktop_keeps_something_where_no_other_process_has_to_agree() -> None:
    shown = gpus(24, display=True)
    assert share(auto(gpus=shown)) < share(auto(gpus=gpus(24)))
    several = machine(gpus=shown, processes={"count": 2, "local_count": 1, "launcher": "slurm"})
    plain = machine(gpus=gpus(24), processes={"count": 2, "local_count": 1, "launcher": "slurm"})
    both = [plan("auto", machine=one, environ={}, memory_fraction="auto") for one in (several, plain)]
    assert share(both[0]) == share(both[1])


def test_a_card_that_is_nearly_all_reserve_still_gives_a_tenth() -> None:
    assert share(auto(gpus=gpus(1))) == 0.1


def test_a_preset_may_ask_for_it(tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('memory_fraction = "auto"\n')
    report = plan(str(path), machine=machine(count=1), environ={})
    assert share(report) == share(auto(count=1)) and str(path) in decision(report, NEW_FRACTION).source
    path.write_text("memory_fraction = 0.6\n")
    assert share(plan(str(path), machine=machine(count=1), environ={})) == 0.6


@pytest.mark.parametrize(("names", "told"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_what_memory_is_left_to_is_listed(names: list[str], told: str) -> None:
    assert fraction._listed(names) == told
