"""XLA's plan of a program's buffers: what goes in, what comes out, and the largest of what is between."""

from __future__ import annotations

from jaxgpu_tune.measure.trace.buffer_plan import MOST, Buffer, BufferPlan, buffer_plan
from tests.protobuf import field


def allocation(size: int, *buffers: int, **kinds: int) -> bytes:
    """Of so many bytes, for these buffers."""
    numbers = {"thread_local": 3, "parameter": 5, "live_out": 7, "constant": 12}
    told = b"".join(field(numbers[kind], value) for kind, value in kinds.items())
    return field(3, field(2, size) + told + b"".join(field(9, field(1, number)) for number in buffers))


def buffer(number: int, size: int, instruction: int) -> bytes:
    """Where an instruction writes."""
    return field(1, field(1, number) + field(2, size) + field(3, field(4, instruction)))


NAMES = {
    1: ("dot.1", "dot", "model.py:3"),
    2: ("add.2", "add", ""),
    3: ("tuple.3", "tuple", "model.py:4"),
    4: ("p", "parameter", ""),
}


def test_bytes_by_what_they_are_for() -> None:
    """A result that is also live is one; what is a thread's own or a constant is nobody's."""
    plan = allocation(100, parameter=1) + allocation(20, parameter=1, live_out=1) + allocation(7, live_out=1)
    plan += allocation(5) + allocation(6) + allocation(1000, thread_local=1) + allocation(1000, constant=1)
    assert buffer_plan(plan, NAMES) == BufferPlan(arguments=120, results=7, temporary=11)


def test_the_largest_temporaries_are_named_and_what_only_passes_on_is_not() -> None:
    plan = buffer(10, 64, 1) + buffer(11, 32, 2) + buffer(12, 999, 3) + buffer(13, 999, 4) + buffer(14, 999, 9)
    plan += buffer(20, 5000, 1)  # of the arguments
    plan += allocation(128, 10, 11, 12, 13, 14) + allocation(5000, 20, parameter=1)
    found = buffer_plan(plan, NAMES)
    assert found is not None
    assert found.largest == (Buffer(64, "dot.1", "model.py:3"), Buffer(32, "add.2", ""))


def test_of_many_a_few_are_told_each_once() -> None:
    """By size, then by name."""
    names = {number: (f"op{number:02}", "add", "") for number in range(1, 30)}
    plan = b"".join(buffer(number, 8, number) + buffer(100 + number, 8, number) for number in names)
    plan += allocation(8, *names, *(100 + number for number in names))
    found = buffer_plan(plan, names)
    assert found is not None
    assert [one.op for one in found.largest] == [f"op{number:02}" for number in range(1, MOST + 1)]


def test_without_a_plan_nothing_is_known() -> None:
    assert buffer_plan(b"", NAMES) is None and buffer_plan(buffer(1, 8, 1), NAMES) is None
