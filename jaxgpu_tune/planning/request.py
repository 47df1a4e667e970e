"""The arguments of a call as one frozen value, every problem of them found at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..arguments import Arguments
from ..errors import BadSetting, UnknownArgument, UnknownPreset
from ..model import Finding, Machine, Setting
from ..named import Files, Named
from ..values import EMPTY, Value, jsonable
from ..wording import nearest
from .base.wish import Problem
from .composing import compose
from .in_force import InForce
from .settings import from_arguments as given_as
from .settings.from_arguments import bad, booleans, choice
from .settings.pool_variables import meant_fraction
from .settings.setting_names import VISIBLE

__all__ = [
    "PRESET",
    "Request",
    "check_own",
    "check_switch",
    "chosen_preset",
    "is_off",
    "make_request",
    "preset_name",
    "raise_problems",
]

MOST = {"layer_bytes": 2**40, "processes_per_gpu": 100, "devices": 2**20}
"""Beyond these a number is a mistake of unit: a layer of 1 TiB, 100 processes on a GPU, a million GPUs."""
NOWHERE = Named()
OF_ONE_CALL = frozenset({"prefer", "strict", "probe", "late", "machine"})
SWITCH, PRESET = "JAXGPU_TUNE", "JAXGPU_TUNE_PRESET"
OFF, ON = ("off", "0", "false", "no"), ("", "on", "1", "true", "yes")


class Request(Value):
    """What a call asks for. ``settings`` are the explicit ones, in the order of the arguments; ``problems`` what is wrong.

    ``who`` asks. ``earlier``: settings that earlier calls asked for; ``remembered``: the arguments that are theirs, with who and
    which call; ``notes``: what is to be said of that. ``held``: what is in force with it, once that is known.
    ``named``: what is at the paths that it names.
    """

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
    unmeasured: bool = False
    machine: Machine | None = None
    arguments: Mapping[str, Any] = EMPTY
    problems: tuple[Problem, ...] = ()
    who: str = "configure()"
    earlier: tuple[Setting, ...] = ()
    remembered: Mapping[str, tuple[str, int]] = EMPTY
    notes: tuple[Finding, ...] = ()
    held: InForce = InForce()
    named: Named = NOWHERE

    @property
    def lasting(self) -> dict[str, Any]:
        """The arguments that go on holding after the call, a preset's file by its whole path; none that say nothing."""
        whole = {"preset": self.named.place} if self.named.place else {}
        given = {name: value for name, value in {**self.arguments, **whole}.items() if name not in OF_ONE_CALL}
        return {name: value for name, value in given.items() if (name, value) != ("preset", "auto")}

    @property
    def asked(self) -> tuple[Setting, ...]:
        """All that is asked for explicitly, by earlier calls and then by this one."""
        return (*self.earlier, *self.settings)

    @property
    def visible(self) -> str | None:
        """The CUDA_VISIBLE_DEVICES that is asked for: the GPUs to plan for, unless one is set already."""
        return {s.name: s.value for s in self.settings}.get(VISIBLE)


def make_request(
    preset: Any = "auto",
    arguments: Mapping[str, Any] = EMPTY,
    wrong: Iterable[Finding] = (),
    named: Named = NOWHERE,
) -> Request:
    """The arguments of ``configure()`` as a value, with everything that is wrong with their own form.

    ``wrong``: what is known already to be wrong. What is wrong is left out of the value, so that the plan can tell what else is.
    ``named``: what is at the paths that the call names.
    """
    problems = [*wrong]
    unknown = [Problem(_unknown(name), UnknownArgument) for name in arguments if name not in Arguments.__annotations__]
    given = {name: arguments.get(name) for name in Arguments.__annotations__}
    settings = _settings(given, problems, named)
    plain = {
        name: _sound(name, value, problems) for name, value in given.items() if name in CHECKS and value is not None
    }
    wrong_fraction = list(_fraction(given["memory_fraction"], given["processes_per_gpu"]))
    problems += wrong_fraction
    planned_for, name = _machine(given["machine"], problems), _preset(preset, problems)
    return Request(
        **plain,
        preset=name,
        settings=settings,
        memory_fraction=None if wrong_fraction else given["memory_fraction"],
        machine=planned_for,
        arguments={"preset": name} | {k: jsonable(v) for k, v in given.items() if v is not None and k != "machine"},
        problems=(*unknown, *(Problem(finding, BadSetting) for finding in problems)),
        named=named,
    )


def _settings(given: Mapping[str, Any], problems: list[Finding], named: Named) -> tuple[Setting, ...]:
    return (
        *given_as.flag_settings(given["flags"], problems),
        *given_as.env_settings(given["env"], problems),
        *given_as.guard_settings(given["transfer_guard"], problems),
        *given_as.config_settings(given["jax_config"], problems),
        *given_as.memory_settings(given["preallocate"], given["allocator"], problems),
        *given_as.cache_settings(given["compilation_cache"], problems),
        *given_as.graph_settings(given["cuda_graphs"], problems),
        *given_as.pgle_settings(given["pgle"], problems, named.profiles),
        *given_as.platform_settings(given["platform"], problems),
    )


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise all of them as one error: of their class where they have one, else BadSetting. Nothing is wrong: nothing happens."""
    found = tuple(problems)
    classes = {problem.error for problem in found}
    if found:
        mixed = UnknownArgument if UnknownArgument in classes else BadSetting
        raise (classes.pop() if len(classes) == 1 else mixed).of(problem.finding for problem in found)


def chosen_preset(environ: Mapping[str, str], preset: Any, files: Files = EMPTY) -> tuple[Any, tuple[Finding, ...]]:
    """What JAXGPU_TUNE_PRESET names, else ``preset``, and a note where the one takes the other's place. Raises UnknownPreset.

    ``files``: what each file holds that it names.
    """
    named = environ.get(PRESET)
    if not named:
        return preset, ()
    try:
        compose(named, files)
    except (UnknownPreset, BadSetting) as error:
        raise type(error).of(one._replace(message=f"{PRESET}: {one.message}") for one in error.findings) from None
    asked = str(getattr(preset, "value", preset))
    message = f"{PRESET}={named} replaces {asked!r}, which the program asks for."
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


def check_own(environ: Mapping[str, str], files: Files = EMPTY) -> Iterable[Finding]:
    """What is wrong with the values of this library's own variables: the switch, and the preset that one names."""
    yield from check_switch(environ)
    try:
        chosen_preset(environ, "auto", files)
    except (UnknownPreset, BadSetting) as error:
        yield from error.findings


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


def preset_name(given: Any) -> str:
    """The text of what is given as a preset; empty for what is none."""
    known = isinstance(given, (str, os.PathLike)) and os.fspath(given)
    return str(getattr(given, "value", known)) if known else ""


def _preset(given: Any, problems: list[Finding]) -> str:
    if name := preset_name(given):
        return name
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


def _unknown(name: str) -> Finding:
    """The finding for an argument that does not exist, with the nearest that does."""
    from ..knowledge.real_names import real_name

    real, near = real_name(name), nearest(name, Arguments.__annotations__)
    listed = f"The arguments are: {', '.join(Arguments.__annotations__)}."
    hint = real.sentence if real else f"Did you mean {near}=?" if near else listed
    return Finding("unknown-argument", "error", f"There is no argument {name!r}.", hint)


def _sound(name: str, value: Any, problems: list[Finding]) -> Any:
    """The value of an argument that is used as it is; its default where it is wrong."""
    found = list(CHECKS[name](name, value))
    problems += found
    return getattr(Request, name) if found else value


def _count(name: str, value: Any) -> Iterable[Finding]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST[name]:
        yield bad(name, value, f"a whole number from 1 to {MOST[name]}")


CHECKS: Mapping[str, Callable[[str, Any], Iterable[Finding]]] = {
    **dict.fromkeys(MOST, _count),
    **dict.fromkeys(("strict", "probe", "unmeasured"), lambda name, value: booleans(**{name: value})),
    "platform": lambda *_: (),  # told with the setting that it stands for
    "prefer": lambda name, value: choice(name, value, ("existing", "preset")),
    "late": lambda name, value: choice(name, value, ("raise", "warn", "reexec")),
}
"""What checks each argument that is used as it is."""
