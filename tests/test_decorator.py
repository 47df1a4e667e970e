"""``@configured``: what is decorated stays what it was, configures when its body begins, and is told early what is wrong."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import decorator
from tests.child import told

FLAG = {"xla_gpu_autotune_level": 2}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The presets that were configured, in order; nothing is applied to the process of the tests."""
    made: list[str] = []
    monkeypatch.setattr(decorator, "configure", lambda preset, **_: made.append(preset))
    return made


def test_the_decorator_configures_when_called_plain_and_async() -> None:
    code = f"""
import asyncio, os, jaxgpu_tune
@jaxgpu_tune.configured(flags={FLAG})
def train(x): return x, os.environ.get("XLA_FLAGS")
@jaxgpu_tune.configured(flags={FLAG})
async def serve(x): return x, os.environ.get("XLA_FLAGS")
decorated = os.environ.get("XLA_FLAGS")
tell([decorated, train(1), asyncio.run(serve(2)), train.__name__])
"""
    assert told(code) == [None, [1, "--xla_gpu_autotune_level=2"], [2, "--xla_gpu_autotune_level=2"], "train"]


def test_the_decorator_stands_above_and_below_those_of_methods() -> None:
    code = f"""
import os, jaxgpu_tune
configured = jaxgpu_tune.configured(flags={FLAG})
class Job:
    @configured
    @classmethod
    def one(cls, x): return cls.__name__, x
    @classmethod
    @configured
    def two(cls, x): return cls.__name__, x
    @configured
    @staticmethod
    def three(x): return "static", x
    @staticmethod
    @configured
    def four(x): return "static", x
    @configured
    def five(self, x): return type(self).__name__, x
    @configured
    @classmethod
    async def six(cls): return cls.__name__
import asyncio
decorated = os.environ.get("XLA_FLAGS")
job = Job()
tell([decorated, Job.one(1), job.one(1), job.two(2), job.three(3), Job.four(4), job.five(5), asyncio.run(Job.six()), os.environ["XLA_FLAGS"]])
"""
    made = [["Job", 1], ["Job", 1], ["Job", 2], ["static", 3], ["static", 4], ["Job", 5], "Job"]
    assert told(code) == [None, *made, "--xla_gpu_autotune_level=2"]


@pytest.mark.parametrize("thing", [None, 3, "train", property(lambda self: self)])
def test_what_cannot_be_called_is_refused(thing: object) -> None:
    with pytest.raises(TypeError, match="decorates a function, not"):
        jaxgpu_tune.configured("fsdp")(thing)  # type: ignore[type-var]


@pytest.mark.parametrize("decorate", [jaxgpu_tune.configured, jaxgpu_tune.configured("fsdp")])
def test_a_class_is_refused_and_told_where_the_decorator_belongs(decorate: Any) -> None:
    class Trainer:
        pass

    with pytest.raises(TypeError, match=r"not the class Trainer\. Put it on the method"):
        decorate(Trainer)


def test_without_parentheses_it_is_the_preset_auto(calls: list[str]) -> None:
    @jaxgpu_tune.configured
    def train(x: int) -> int:
        return x + 1

    class Job:
        @jaxgpu_tune.configured
        @staticmethod
        def run(x: int) -> int:
            return x + 2

    assert (train.__name__, calls) == ("train", [])
    assert (train(1), Job.run(1), calls) == (2, 3, ["auto", "auto"])


def test_a_generator_stays_one_and_configures_at_the_first_step(calls: list[str]) -> None:
    @jaxgpu_tune.configured("fsdp")
    def batches(first: int) -> Any:
        try:
            got = yield first
            yield got
        except KeyError:
            yield "caught"
        return "returned"

    made = batches(1)
    assert inspect.isgeneratorfunction(batches) and inspect.isgenerator(made) and calls == []
    assert (next(made), calls) == (1, ["fsdp"])
    assert made.send("sent") == "sent"
    assert made.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration, match="returned"):
        next(made)
    assert calls == ["fsdp"]


def test_an_async_generator_stays_one_with_all_that_can_be_done_to_it(calls: list[str]) -> None:
    closed = []

    @jaxgpu_tune.configured("fsdp")
    async def batches(first: int) -> Any:
        try:
            got = yield first
            yield got
        except KeyError:
            yield "caught"
        finally:
            closed.append(first)

    async def use() -> list[object]:
        made, left = batches(1), batches(2)
        before = list(calls)
        seen = [before, await made.__anext__(), await made.asend("sent"), await made.athrow(KeyError())]
        seen += [[x async for x in made], await left.__anext__()]
        await left.aclose()
        return seen

    assert inspect.isasyncgenfunction(batches)
    assert asyncio.run(use()) == [[], 1, "sent", "caught", [], 2]
    assert (calls, closed) == (["fsdp", "fsdp"], [1, 2])


def test_objects_that_can_be_called_stay_what_they_are(calls: list[str]) -> None:
    class Steps:
        def __call__(self) -> Iterator[int]:
            yield 1

    class AsyncSteps:
        async def __call__(self) -> AsyncIterator[int]:
            yield 1

    class Serve:
        async def __call__(self) -> int:
            return 1

    kinds = (inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.iscoroutinefunction)
    for thing, is_one in zip((Steps(), AsyncSteps(), Serve()), kinds, strict=True):
        assert is_one(jaxgpu_tune.configured(thing))
    assert calls == []


WRONG: tuple[tuple[str, dict[str, Any], type[Exception], str], ...] = (
    ("fsdp", {"prefer": "mine"}, jaxgpu_tune.BadSetting, "prefer"),
    ("fspd", {}, jaxgpu_tune.UnknownPreset, "Did you mean 'fsdp'"),
    ("fsdp+fspd", {}, jaxgpu_tune.UnknownPreset, "Did you mean 'fsdp'"),
    ("no-such-file.toml", {}, jaxgpu_tune.BadSetting, "no-such-file.toml"),
    ("fsdp", {"flags": {"xla_gpu_autotune_levl": 2}}, jaxgpu_tune.UnknownFlag, "xla_gpu_autotune_level"),
    ("fsdp", {"flags": {"xla_gpu_autotune_level": "high"}}, jaxgpu_tune.BadFlagValue, "xla_gpu_autotune_level"),
    ("fspd", {"prefer": "mine"}, jaxgpu_tune.BadSetting, "2 problems"),
)


@pytest.mark.parametrize(("preset", "arguments", "error", "match"), WRONG)
def test_what_is_wrong_is_told_when_decorating(
    preset: str, arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        jaxgpu_tune.configured(preset, **arguments)


@pytest.mark.parametrize(
    "arguments", [{"memory_fraction": "auto"}, {"strict": True}, {"devices": 8, "cuda_graphs": False}, {"pgle": "auto"}]
)
def test_what_hangs_on_the_machine_is_not_told_when_decorating(arguments: dict[str, Any]) -> None:
    """No GPU was looked at: nothing about one is said."""
    for preset in jaxgpu_tune.presets():
        assert jaxgpu_tune.configured(preset.name, **arguments)(len) is not len
