"""What is asked, as a value, and what is observed for it: before the stages of ``pipeline``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import FrameType
from typing import Any

from .arguments import Arguments
from .errors import BadSetting
from .host.detect import machine_file, machine_of_file
from .host.looked_up import named_by, written_out
from .host.observe import observe
from .model import Finding, Machine, Observation
from .planning.request import Request, make_request, preset_name

__all__ = ["caller", "observe_fresh", "request_of", "spell_out"]


def request_of(preset: Any, arguments: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Request:
    """The call as a value, with all that it names in files: read here, so that planning reads nothing.

    ``environ``: of the process that is planned for, if not this one.
    """
    around = os.environ if environ is None else environ
    described = arguments.get("machine") is not None or machine_file(around) is not None
    given, wrong = _with_machine(written_out(arguments, around, described=described))
    return make_request(preset, given, wrong, named_by(preset_name(preset), given, described=described))


def _with_machine(arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Finding, ...]]:
    """The arguments with the machine of the file that is named, and what is wrong with that file."""
    path = arguments.get("machine")
    if not isinstance(path, (str, os.PathLike)):
        return arguments, ()
    try:
        machine = machine_of_file(os.fspath(path), f"machine={os.fspath(path)!r}")
    except BadSetting as error:
        return {**arguments, "machine": None}, error.findings
    return {**arguments, "machine": machine}, ()


def observe_fresh(request: Request, environ: Mapping[str, str], jaxlib: str | None) -> Observation:
    """What a fresh process with that environment is planned from; ``jaxlib``: that release instead of the one here."""
    seen = observe(environ, request.machine, live=False, visible=request.visible)
    if jaxlib is None:
        return seen
    Machine.from_dict({"jaxlib": jaxlib})
    machine = seen.machine._replace(jaxlib=jaxlib, jax=jaxlib, plugins=None, libraries=None)
    return seen._replace(machine=machine)


def caller() -> str:
    """Who calls this library: a module by its name, where it is not the program itself."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way without importing inspect
    while frame is not None and _module_of(frame).partition(".")[0] == __name__.partition(".")[0]:
        frame = frame.f_back
    name = "" if frame is None else _module_of(frame)
    return "configure()" if name in ("", "__main__") else f"configure() in {name}"


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def spell_out(function: Callable[..., Any]) -> None:
    """Let ``help()``, editors and notebooks show each argument by its name and type, and not only ``**arguments``."""
    shown = signature(function)
    *own, _ = shown.parameters.values()
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Request, name, None), annotation=hint.__forward_arg__)
        for name, hint in Arguments.__annotations__.items()
    ]
    vars(function)["__signature__"] = shown.replace(parameters=[*own, *named])
