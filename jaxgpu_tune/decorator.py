"""``@configured``: what it decorates stays what it was, and configures when its body begins to run."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import isasyncgenfunction, isclass, iscoroutinefunction, isgeneratorfunction
from typing import Any, TypeVar, overload

from .api import configure
from .arguments import Arguments, Unpack
from .asking import request_of, spell_out
from .host.packages import installed_versions
from .model import Machine, Observation
from .pipeline import composed, make_plan
from .planning.release.target import target_of
from .planning.request import Request, raise_problems

__all__ = ["configured"]

Function = TypeVar("Function", bound=Callable[..., Any])
METHODS = (classmethod, staticmethod)


@overload
def configured(preset: Function, /) -> Function: ...
@overload
def configured(
    preset: str | os.PathLike[str] = "auto", **arguments: Unpack[Arguments]
) -> Callable[[Function], Function]: ...
def configured(preset: Any = "auto", **arguments: Unpack[Arguments]) -> Any:
    """Decorator for a training entry point: configures when its body begins to run, not when decorated.

    The function may be plain, async, a generator or an async generator (these configure at the first step), and stays what it is.
    The decorator stands above or below ``@staticmethod`` and ``@classmethod``; ``@configured`` alone means the preset "auto".

    Args:
        preset: As for ``configure()``.
        **arguments: As for ``configure()``.

    Returns:
        The decorator; the decorated function where ``@configured`` stands without parentheses.

    Raises:
        UnknownPreset, UnknownFlag, BadFlagValue, BadSetting: An argument is wrong; told at decoration where it can be told without
            looking at the machine.
        TypeError: What is decorated is a class, or cannot be called.

    Examples:
        >>> @jaxgpu_tune.configured("fsdp")
        ... def main(): ...
    """
    alone = callable(preset) or isinstance(preset, METHODS)
    chosen = "auto" if alone else preset
    _check(request_of(chosen, arguments))

    def decorate(thing: Any) -> Any:
        if isinstance(thing, METHODS):
            return type(thing)(decorate(thing.__func__))
        _check_thing(thing)
        return _wrapped(thing, lambda: configure(chosen, **arguments))

    return decorate(preset) if alone else decorate


spell_out(configured)


def _check(request: Request) -> None:
    """Raise what is wrong with the call whatever the machine: of the arguments, the preset, and this jaxlib's flags."""
    here = installed_versions()
    machine = request.machine or Machine(
        nccl=here.nccl, jax=here.jax, jaxlib=here.jaxlib, plugins=here.plugins, libraries=here.libraries
    )
    if machine.jaxlib is None or target_of(machine).findings:  # the binaries would have to be asked
        raise_problems(composed(request)[0].problems)
    else:
        make_plan(request._replace(strict=False), Observation(machine))


def _check_thing(thing: object) -> None:
    if isclass(thing):
        raise TypeError(
            f"configured() decorates a function, not the class {thing.__name__}. "
            "Put it on the method that starts the work, such as __init__ or train."
        )
    if not callable(thing):
        raise TypeError(f"configured() decorates a function, not {thing!r}")


def _steps_async(function: Callable[..., Any], begin: Callable[[], object]) -> Callable[..., Any]:
    """An asynchronous generator, with all that is sent and thrown into it."""

    @wraps(function)
    async def steps(*args: Any, **kwargs: Any) -> Any:
        begin()
        inner = function(*args, **kwargs)
        try:
            given = await inner.__anext__()
            while True:
                try:
                    sent = yield given
                except BaseException as thrown:  # noqa: BLE001, PERF203 - the function's own to handle
                    given = await inner.athrow(thrown)
                else:
                    given = await inner.asend(sent)
        except StopAsyncIteration:
            return
        finally:
            await inner.aclose()

    return steps


def _wrapped(function: Callable[..., Any], begin: Callable[[], object]) -> Callable[..., Any]:
    """The function with ``begin`` before its body, as what it is."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        begin()
        return function(*args, **kwargs)

    @wraps(function)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        begin()
        return await function(*args, **kwargs)

    @wraps(function)
    def steps(*args: Any, **kwargs: Any) -> Any:
        begin()
        return (yield from function(*args, **kwargs))

    kinds = (
        (iscoroutinefunction, call_async),
        (isgeneratorfunction, steps),
        (isasyncgenfunction, _steps_async(function, begin)),
    )
    body = type(function).__call__  # of an object that can be called
    return next((wrapper for is_one, wrapper in kinds if is_one(function) or is_one(body)), call)
