"""The arguments of a call as one frozen value, every problem of them found at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ..errors import BadSetting
from ..model import NOTHING, Finding, Machine, Setting
from ..values import Value
from .memory import meant_fraction
from .xla_flags import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Request", "make_request"]

GUARD_LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
GUARD_OPTIONS = (
    "jax_transfer_guard_host_to_device",
    "jax_transfer_guard_device_to_device",
    "jax_transfer_guard_device_to_host",
)
THRESHOLD_FLAGS = tuple(
    f"xla_gpu_{collective}_combine_threshold_bytes" for collective in ("all_gather", "reduce_scatter", "all_reduce")
)
PROFILE_FLAG = "xla_gpu_pgle_profile_file_or_directory_path"
PROFILE_ENDINGS = (".pb", ".pbtxt")
CACHE_OPTION = "jax_compilation_cache_dir"
CUDA_GRAPHS_FLAG = "xla_gpu_enable_command_buffer"
OWN_VARIABLES = ("JAXGPU_TUNE_STATE", "JAXGPU_TUNE_REEXECUTED")
MOST = {"layer_bytes": 2**40, "processes_per_gpu": 100, "devices": 2**20}
"""Beyond these a number is a mistake of unit: a layer of 1 TiB, 100 processes on a GPU, a million GPUs."""
BUILD_DEFAULT = "<the build's default>"
"""Stands for the value the installed build has by itself; resolved where the build is known."""


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
        *_flag_settings(flags, problems),
        *_env_settings(env, problems),
        *_guard_settings(transfer_guard, problems),
        *_config_settings(jax_config, problems),
        *_memory_settings(preallocate, allocator, problems),
        *_cache_settings(compilation_cache, problems),
        *_graph_settings(cuda_graphs, problems),
        *_pgle_settings(pgle, problems),
        *_platform_settings(platform, problems),
    )
    problems += [
        *_counts(processes_per_gpu=processes_per_gpu, layer_bytes=layer_bytes, devices=devices),
        *_fraction(memory_fraction, processes_per_gpu),
        *_choice("prefer", prefer, ("existing", "preset")),
        *_choice("late", late, ("raise", "warn", "reexec")),
        *_booleans(strict=strict, probe=probe),
    ]
    planned_for, name = _machine(machine, problems), _preset(preset, problems)
    if problems:
        raise BadSetting.of(problems)
    return Request(
        preset=name,
        settings=tuple(map(_expanded, settings)),
        memory_fraction=memory_fraction,
        processes_per_gpu=processes_per_gpu,
        layer_bytes=layer_bytes,
        platform=platform,
        devices=devices,
        prefer=prefer,
        strict=strict,
        probe=probe,
        late=late,
        machine=planned_for,
        arguments={k: _jsonable(v) for k, v in arguments.items() if v is not None},
    )


def flag_text(value: Any) -> str | None:
    """XLA's text of a Python value; None stays None. Raises TypeError for a type no flag takes."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return ",".join(str(flag_text(v)) for v in value)
    raise TypeError(type(value).__name__)


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
        return str(os.fspath(given))
    problems.append(_bad("preset", given, "a preset's name, several joined by '+', or the path of a TOML file"))
    return ""


def _flag_settings(flags: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("flags", flags, problems):
        try:
            text = flag_text(value)
        except TypeError as wrong:
            problems.append(
                _bad(f"flags[{key!r}]", value, f"bool, int, float, str, a list of str, or None, not {wrong}")
            )
            continue
        if "\0" in (text or ""):
            problems.append(_bad(f"flags[{key!r}]", value, "text without a NUL"))
            continue
        name = key.strip()
        name = name.removeprefix("--")
        yield Setting("xla_flag", name, text, "asked for", "argument flags")


def _env_settings(env: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("env", env, problems):
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike, type(None))):
            problems.append(
                _bad(f"env[{key!r}]", value, "the variable's text (str, int or float), or None to remove it")
            )
        elif key == "XLA_FLAGS" and value is not None:
            yield from _flags_of(str(value), problems)
        elif "=" in key or "\0" in key or not key or key in OWN_VARIABLES:
            problems.append(_bad("env", key, "names of variables without '=', other than this library's own"))
        elif "\0" in str(value):
            problems.append(_bad(f"env[{key!r}]", value, "text without a NUL"))
        else:
            text = None if value is None else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
            yield Setting("env", key, text, "asked for", "argument env")


def _flags_of(text: str, problems: list[Finding]) -> Iterable[Setting]:
    """XLA_FLAGS given as a variable: the same as its flags given by name."""
    read = scan(text)
    wrong = read.fatal or read.file or read.lost or next((t.text for t in read.tokens if t.name is None), None)
    if wrong:
        problems.append(_bad("env['XLA_FLAGS']", text, "flags of the form --name=value, separated by blanks"))
        return
    for token in read.tokens:
        value = "true" if token.value is None else token.value
        yield Setting("xla_flag", token.name or "", value, "asked for", "argument env")


def _config_settings(options: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("jax_config", options, problems):
        yield Setting("jax_config", key, value, "asked for", "argument jax_config")


def _memory_settings(preallocate: Any, allocator: Any, problems: list[Finding]) -> Iterable[Setting]:
    problems += _booleans(preallocate=preallocate)
    if isinstance(preallocate, bool):
        text = "true" if preallocate else "false"
        yield Setting("env", "XLA_PYTHON_CLIENT_PREALLOCATE", text, "asked for", "argument preallocate")
    if allocator is not None and not isinstance(allocator, str):
        problems.append(_bad("allocator", allocator, "the name of an allocator"))
    elif allocator is not None:
        yield Setting("env", "XLA_PYTHON_CLIENT_ALLOCATOR", allocator, "asked for", "argument allocator")


def _guard_settings(level: Any, problems: list[Finding]) -> Iterable[Setting]:
    if level is None:
        return
    problems += _choice("transfer_guard", level, GUARD_LEVELS)
    for option in GUARD_OPTIONS:
        yield Setting("jax_config", option, level, "asked for", "argument transfer_guard")


def _cache_settings(cache: Any, problems: list[Finding]) -> Iterable[Setting]:
    if cache is None:
        return
    if cache is False:
        yield Setting("jax_config", "jax_enable_compilation_cache", False, "asked for", "argument compilation_cache")
    elif cache is True or not isinstance(cache, (str, os.PathLike)) or not os.fspath(cache) or "\0" in os.fspath(cache):
        problems.append(_bad("compilation_cache", cache, "the directory of the cache, or False"))
    else:
        yield Setting("jax_config", CACHE_OPTION, os.fspath(cache), "asked for", "argument compilation_cache")


def _expanded(setting: Setting) -> Setting:
    """The cache's directory with ``~`` and ``$HOME`` replaced, which jax does not do; an address such as gs://… stays."""
    text = setting.value
    if setting.name.lower() != CACHE_OPTION or not isinstance(text, (str, os.PathLike)) or "://" in os.fspath(text):
        return setting
    return setting._replace(value=os.path.expandvars(os.path.expanduser(os.fspath(text))))


def _graph_settings(graphs: Any, problems: list[Finding]) -> Iterable[Setting]:
    problems += _booleans(cuda_graphs=graphs)
    if isinstance(graphs, bool):
        text = BUILD_DEFAULT if graphs else ""
        yield Setting("xla_flag", CUDA_GRAPHS_FLAG, text, "asked for", "argument cuda_graphs")


def _pgle_settings(pgle: Any, problems: list[Finding]) -> Iterable[Setting]:
    if pgle is None:
        return
    if pgle == "auto":
        yield Setting("jax_config", "jax_enable_pgle", True, "asked for", "argument pgle")
    elif pgle == "expect":
        yield Setting("jax_config", "jax_compilation_cache_expect_pgle", True, "asked for", "argument pgle")
        yield Setting("jax_config", "jax_enable_pgle", False, "profiles are expected, not made", "argument pgle")
    elif not isinstance(pgle, (str, os.PathLike)):
        problems.append(_bad("pgle", pgle, "'auto', 'expect', or the path of a profile"))
    else:
        path = os.fspath(pgle)
        if not os.path.isdir(path) and not (path.endswith(PROFILE_ENDINGS) and os.path.isfile(path)):
            wanted = f"'auto', 'expect', an existing {' or '.join(PROFILE_ENDINGS)} file, or a directory of them"
            problems.append(_bad("pgle", os.fspath(pgle), f"{wanted} (XLA ignores every other path in silence)"))
        yield Setting("xla_flag", PROFILE_FLAG, os.fspath(pgle), "asked for", "argument pgle")


def _platform_settings(platform: Any, problems: list[Finding]) -> Iterable[Setting]:
    if platform is None:
        return
    problems += _choice("platform", platform, ("cpu", "cuda"))
    yield Setting("jax_config", "jax_platforms", platform, "asked for", "argument platform")


def _items(name: str, mapping: Any, problems: list[Finding]) -> Iterable[tuple[str, Any]]:
    if mapping is None:
        return ()
    if not isinstance(mapping, Mapping):
        problems.append(_bad(name, mapping, "a mapping of names to values"))
        return ()
    wrong = [key for key in mapping if not isinstance(key, str)]
    problems += [_bad(name, key, "names as str") for key in wrong]
    return [(key, value) for key, value in mapping.items() if isinstance(key, str)]


def _fraction(value: Any, processes_per_gpu: Any) -> Iterable[Finding]:
    if value is None or value == "auto":
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = meant_fraction(value) if isinstance(value, str) else ""
        yield _bad("memory_fraction", value, "a fraction of the GPU's memory such as 0.75, or 'auto'", hint)
    elif processes_per_gpu is not None:
        yield _bad(
            "memory_fraction", value, "'auto' or nothing together with processes_per_gpu, which sets the fraction"
        )


def _counts(**values: Any) -> Iterable[Finding]:
    for name, value in values.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST[name]
        ):
            yield _bad(name, value, f"a whole number from 1 to {MOST[name]}")


def _booleans(**values: Any) -> list[Finding]:
    return [
        _bad(name, v, "True, False or None") for name, v in values.items() if v is not None and not isinstance(v, bool)
    ]


def _choice(name: str, value: Any, allowed: tuple[str, ...]) -> list[Finding]:
    if value in allowed:
        return []
    from difflib import get_close_matches

    near = get_close_matches(str(value), allowed, 1)
    meant = {"gpu": "cuda"}.get(str(value), near[0] if near else "")
    return [_bad(name, value, ", ".join(map(repr, allowed)), f"Did you mean {meant!r}?" if meant in allowed else "")]


def _bad(name: str, given: Any, allowed: str, hint: str = "") -> Finding:
    return Finding("bad-argument", "error", f"{name}={given!r} is not valid; allowed: {allowed}.", hint)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else os.fspath(value)
