"""From kernels to costs."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.pgle.program import Program, ScheduledInstruction
from jaxgpu_tune.pgle.samples import Sample, by_module, costs_of_samples, main_module


def ran(
    instruction: str, took: list[float], place: str = "gpu 0", kernel: str = "k", module: str = "jit_f"
) -> list[Sample]:
    """So many executions, one a microsecond."""
    return [Sample(module, instruction, place, kernel, 1e3 * n, 1e3 * one) for n, one in enumerate(took)]


def test_computing_is_the_median_of_all() -> None:
    samples = ran("fusion", [1, 2, 9]) + ran("fusion", [3, 4], "gpu 1")
    assert costs_of_samples(samples).by_name == {"fusion": 3}
    assert costs_of_samples(samples, 100).by_name == {"fusion": 9}


def test_a_collective_takes_what_the_last_to_come_takes() -> None:
    """The others' kernels wait: 10 of the 12 microseconds."""
    samples = ran("all-gather-start", [12, 2, 13]) + ran("all-gather-start", [2, 12, 3], "gpu 1")
    assert costs_of_samples(samples).by_name == {"all-gather-start": 2}


def test_a_collective_whose_executions_cannot_be_matched() -> None:
    """A trace that ends in the middle of a step: the shortest of the GPUs' medians."""
    samples = ran("all-reduce.3", [12, 12, 12]) + ran("all-reduce.3", [2, 3], "gpu 1")
    assert costs_of_samples(samples).by_name == {"all-reduce.3": 2}


def test_several_kernels_of_one_execution_add_up() -> None:
    """Told by the trace, or by how often each kernel ran."""
    split = ran("dot", [5, 5]) + ran("dot", [1, 1], kernel="reduce")
    assert costs_of_samples(split).by_name == {"dot": 6}
    twice = ran("dot", [5, 5]) + ran("dot", [1, 1, 2, 2], kernel="reduce")
    assert costs_of_samples(twice, 0).by_name == {"dot": 7} and costs_of_samples(twice, 100).by_name == {"dot": 9}
    joined = [Sample("m", "dot", "g", "a", 0, 5e3, 1), Sample("m", "dot", "g", "b", 6e3, 1e3, 1)]
    assert costs_of_samples(joined).by_name == {"dot": 7}


def test_the_names_are_the_schedulers() -> None:
    instructions = (ScheduledInstruction("all-gather.4", "all-gather-start", "all-gather", "main"),)
    program = Program("jit_f", "", instructions, frozenset({"main"}))
    samples = ran("all-gather.4", [2], kernel="ncclDevKernel") + ran("copy.21", [1])
    assert costs_of_samples(samples, program=program).by_name == {"all-gather-start": 2, "copy.21": 1}


def test_the_main_program_is_the_one_that_takes_most_time() -> None:
    samples = ran("a", [1] * 9, module="jit_small") + ran("b", [100], module="jit_step")
    assert main_module(samples) == "jit_step" and list(by_module(samples)) == ["jit_step", "jit_small"]
    assert main_module([]) == ""


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("01"), st.integers(1, 99)), min_size=1), st.randoms())
def test_the_order_of_the_file_does_not_matter(events: list[tuple[str, str, int]], random: Random) -> None:
    samples = [Sample("m", name, place, "k", float(n), float(took)) for n, (name, place, took) in enumerate(events)]
    turned = list(samples)
    random.shuffle(turned)
    assert costs_of_samples(turned) == costs_of_samples(samples)
    times = {name: [took / 1e3 for one, _, took in events if one == name] for name, _, _ in events}
    assert all(cost.us in times[cost.name] for cost in costs_of_samples(samples).costs)
