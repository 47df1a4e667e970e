"""The arguments of a call as one frozen value, every problem of them found at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ..errors import BadSetting, UnknownPreset
from ..model import NOTHING, Finding, Machine, Setting, jsonable
from ..values import Value
from .settings import arguments as given_as
from .settings.arguments import bad, booleans, choice
from .settings.memory import meant_fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Request", "check_switch", "chosen_preset", "is_off", "make_request"]

MOST = {"layer_bytes": 2**40, "processes_per_gpu": 100, "devices": 2**20}
"""Beyond these a number is a mistake of unit: a layer of 1 TiB, 100 processes on a GPU, a million GPUs."""
SWITCH, PRESET = "JAXGPU_TUNE", "JAXGPU_TUNE_PRESET"
OFF, ON = ("off", "0", "false", "no"), ("", "on", "1", "true", "yes")


class Request(Value):
    """What a call asks for. ``settings`` are the explicit ones, in the order of the arguments."""

    preset: str = "auto"
    settings: tuple[Setting, ...] = ()
    memory_fraction: float | str | None = None
    processes_per_gpu: int | None = None
    layer_bytes: int | None = None
    platform: str | None = None
    devices: int | None = None
    prefer: str = "existing"
    strict: bool = False
    probe: bool | None = None
    late: str = "raise"
    machine: Machine | None = None
    arguments: Mapping[str, Any] = NOTHING

    @property
    def visible(self) -> str | None:
        """The CUDA_VISIBLE_DEVICES that is asked for: the GPUs to plan for, unless one is set already (R48)."""
        return {s.name: s.value for s in self.settings}.get("CUDA_VISIBLE_DEVICES")


def make_request(
    preset: str | os.PathLike[str] = "auto",
    *,
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, Any] | None = None,
    jax_config: Mapping[str, Any] | None = None,
    memory_fraction: float | str | None = None,
    preallocate: bool | None = None,
    allocator: str | None = None,
    processes_per_gpu: int | None = None,
    transfer_guard: str | None = None,
    compilation_cache: str | os.PathLike[str] | bool | None = None,
    cuda_graphs: bool | None = None,
    pgle: str | os.PathLike[str] | None = None,
    layer_bytes: int | None = None,
    platform: str | None = None,
    devices: int | None = None,
    prefer: str = "existing",
    strict: bool = False,
    probe: bool | None = None,
    late: str = "raise",
    machine: Machine | Mapping[str, Any] | None = None,
) -> Request:
    """Check the arguments' own form. Raises BadSetting that lists every problem."""
    arguments = {name: value for name, value in locals().items() if name != "machine"}
    problems: list[Finding] = []
    settings = (
        *given_as.flag_settings(flags, problems),
        *given_as.env_settings(env, problems),
        *given_as.guard_settings(transfer_guard, problems),
        *given_as.config_settings(jax_config, problems),
        *given_as.memory_settings(preallocate, allocator, problems),
        *given_as.cache_settings(compilation_cache, problems),
        *given_as.graph_settings(cuda_graphs, problems),
        *given_as.pgle_settings(pgle, problems),
        *given_as.platform_settings(platform, problems),
    )
    problems += [
        *_counts(processes_per_gpu=processes_per_gpu, layer_bytes=layer_bytes, devices=devices),
        *_fraction(memory_fraction, processes_per_gpu),
        *choice("prefer", prefer, ("existing", "preset")),
        *choice("late", late, ("raise", "warn", "reexec")),
        *booleans(strict=strict, probe=probe),
    ]
    planned_for, name = _machine(machine, problems), _preset(preset, problems)
    if problems:
        raise BadSetting.of(problems)
    plain = {name: arguments[name] for name in Request._fields if name in arguments}
    return Request(
        **{
            **plain,
            "preset": name,
            "settings": tuple(map(given_as.expanded, settings)),
            "machine": planned_for,
            "arguments": {k: jsonable(v) for k, v in arguments.items() if v is not None},
        }
    )


def chosen_preset(environ: Mapping[str, str], preset: Any) -> tuple[Any, tuple[Finding, ...]]:
    """What JAXGPU_TUNE_PRESET names, else ``preset``, and a note where the one takes the other's place. Raises UnknownPreset."""
    named = environ.get(PRESET)
    if not named:
        return preset, ()
    from .select import compose

    try:
        compose(named)
    except UnknownPreset as error:
        raise UnknownPreset.of(one._replace(message=f"{PRESET}: {one.message}") for one in error.findings) from None
    asked = str(getattr(preset, "value", preset))
    message = f"{PRESET}={named} takes the place of {asked!r}, which the program asks for."
    note = Finding("preset-overruled", "note", message)
    return named, () if asked in (named, "auto") else (note,)


def is_off(environ: Mapping[str, str]) -> bool:
    """Whether JAXGPU_TUNE says that nothing is to be applied."""
    return _switch(environ) in OFF


def check_switch(environ: Mapping[str, str]) -> Iterable[Finding]:
    """Whether JAXGPU_TUNE says either; what says neither leaves everything on."""
    if _switch(environ) not in (*OFF, *ON):
        message = f"{SWITCH}={environ[SWITCH]!r} says neither on nor off, so it counts as on."
        yield Finding("bad-switch", "warning", message, f"To have nothing applied write {SWITCH}=off; else unset it.")


def _switch(environ: Mapping[str, str]) -> str:
    text = environ.get(SWITCH, "")
    if not text:
        return text
    from .base.stray import unwrapped

    return unwrapped(text).strip().lower()


def _machine(given: Any, problems: list[Finding]) -> Machine | None:
    if given is None or isinstance(given, Machine):
        return given
    try:
        return Machine.from_dict(given)
    except BadSetting as wrong:
        problems += wrong.findings
        return None


def _preset(given: Any, problems: list[Finding]) -> str:
    if isinstance(given, (str, os.PathLike)) and os.fspath(given):
        return str(getattr(given, "value", os.fspath(given)))
    problems.append(bad("preset", given, "a preset's name, several joined by '+', or the path of a TOML file"))
    return ""


def _fraction(value: Any, processes_per_gpu: Any) -> Iterable[Finding]:
    if value is None or value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = meant_fraction(value) if isinstance(value, str) else ""
        yield bad("memory_fraction", value, "a fraction of the GPU's memory such as 0.75, or 'auto'", hint)
    elif processes_per_gpu is not None:
        yield bad(
            "memory_fraction", value, "'auto' or nothing together with processes_per_gpu, which sets the fraction"
        )


def _counts(**values: Any) -> Iterable[Finding]:
    for name, value in values.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST[name]
        ):
            yield bad(name, value, f"a whole number from 1 to {MOST[name]}")
