"""Where steps begin and end."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.trace.events import Event
from jaxgpu_tune.measure.trace.reduction import reduce_trace
from jaxgpu_tune.measure.trace.steps import calls_of
from tests.measure.trace.reducing import reduced
from tests.traces import called, ran, repeated, trace


def test_no_gpu_at_all_leaves_the_hosts_clock() -> None:
    """As on a CPU: the calls' pace, counted once although JAX writes two events a call."""
    calls = [event for number in range(5) for event in called("train_step", 20.0 * number)]
    found = reduce_trace(trace(*calls, gpus=0))
    assert found.gpus == ()
    assert found.host == {"train_step": (5, pytest.approx(20))}


def test_loops_inside_a_step_do_not_count_as_steps() -> None:
    """What runs eight times a step repeats more often than the step; the host's calls, where seen, say so too."""
    layers = [ran("layer", 1 + number, 1) for number in range(8)]
    step = [ran("embed", 0, 1), *layers, ran("loss", 9, 1)]
    calls = [event for number in range(4) for event in called("step", 10.0 * number)]
    for events in (repeated(step), [*repeated(step), *calls]):
        found = reduced(*events)
        assert (found.steps, found.by, found.step_ms) == (4, "embed", pytest.approx(10))


def test_what_does_not_repeat_is_one_step() -> None:
    """All that ran, and it is said that no step was found."""
    step = reduced(ran("dot", 0, 6), ran("fusion", 7, 3))
    assert (step.steps, step.by, step.step_ms) == (0, "", pytest.approx(10))


@pytest.mark.parametrize(
    ("function", "module"),
    [("<lambda>", "jit__lambda"), ("<lambda>", "jit__lambda_"), ("step_", "jit_step"), ("a.b-c", "jit_a.b-c")],
)
def test_a_program_has_the_name_of_its_function(function: str, module: str) -> None:
    """With what cannot stand in it as an underscore; newer releases of JAX take those at its end off."""
    call = Event("/host:CPU", "python", f"PjitFunction({function})", 0, 1, {})
    assert calls_of(module, {"other": (), function: (call, call)}) == 2
    assert calls_of("jit_none", {function: (call,)}) is None
