"""The settings that the arguments of a call stand for; what is wrong with an argument is added to ``problems``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ...errors import BadSetting
from ...knowledge.tables import is_own
from ...model import Finding, Setting
from ...values import EMPTY
from ...wording import nearest, setting_text
from ..xla_flags.grammar import scan
from .setting_names import (
    CACHE_OPTION,
    CACHE_SWITCH,
    CUDA_GRAPHS_FLAG,
    EXPECT_OPTION,
    GUARD_OPTIONS,
    PGLE_OPTION,
    PLATFORMS_OPTION,
    PROFILE_FLAG,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...knowledge.real_names import RealName
    from ...model import SettingKind
    from ...named import Kind


__all__ = [
    "BUILD_DEFAULT",
    "bad",
    "booleans",
    "choice",
    "texts",
]

GUARD_LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
PROFILE_ENDINGS = (".pb", ".pbtxt")
TEXT = "text that the environment can hold: no NUL, no half of a surrogate pair"
BUILD_DEFAULT = "<the build's default>"
"""Stands for the value the installed build has by itself; resolved where the build is known."""


def texts(what: str, environ: Any) -> Mapping[str, str]:
    """The mapping, if all of it is text that an environment can hold. Raises BadSetting."""
    if not isinstance(environ, Mapping):
        raise BadSetting.of([bad(what, environ, "a mapping of names to texts")])
    wrong = {name: value for name, value in environ.items() if not (is_text(name) and is_text(value))}
    if wrong:
        raise BadSetting.of([bad(what, wrong, TEXT)])
    return dict(environ)


def is_text(value: object) -> bool:
    """Whether it is text that an environment can hold."""
    try:
        return isinstance(value, str) and b"\0" not in value.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False


def flag_text(value: Any) -> str | None:
    """XLA's text of a Python value; None stays None. Raises TypeError for a type no flag takes."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return setting_text(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return ",".join(str(flag_text(v)) for v in value)
    raise TypeError(type(value).__name__)


def _asked(kind: SettingKind, name: str, value: Any, argument: str, reason: str = "asked for") -> Setting:
    return Setting(kind, name, value, reason, f"argument {argument}", argument=argument)


def flag_settings(flags: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("flags", flags, problems):
        try:
            text = flag_text(value)
        except TypeError as wrong:
            problems.append(
                bad(f"flags[{key!r}]", value, f"bool, int, float, str, a list of str, or None, not {wrong}")
            )
            continue
        if not is_text(text or ""):
            problems.append(bad(f"flags[{key!r}]", value, TEXT))
            continue
        yield _asked("xla_flag", key.strip().removeprefix("--"), text, "flags")


def env_settings(env: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("env", env, problems):
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike, type(None))):
            problems.append(
                bad(f"env[{key!r}]", value, "the variable's text (str, int or float), or None to remove it")
            )
        elif not is_text(str(value)):
            problems.append(bad(f"env[{key!r}]", value, TEXT))
        elif key == "XLA_FLAGS" and value is not None:
            yield from _flags_of(str(value), problems)
        elif not key or "=" in key or not is_text(key) or is_own(key):
            problems.append(bad("env", key, "names of variables without '=', other than this library's own"))
        elif key.islower() and (real := _no_variable(key)):
            problems.append(
                bad("env", key, "names of variables")._replace(hint=f"{key} is {real.what}. {real.instead}")
            )
        else:
            text = None if value is None else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
            yield _asked("env", key, text, "env")


def _no_variable(name: str) -> RealName | None:
    """What a name is that no variable has: a flag's, an option's, or an argument's."""
    from ...knowledge.real_names import real_name

    real = real_name(name)
    return real if real and real.argument in ("flags", "jax_config", name) else None


def _flags_of(text: str, problems: list[Finding]) -> Iterable[Setting]:
    """XLA_FLAGS given as a variable: the same as its flags given by name."""
    read = scan(text)
    wrong = read.fatal or read.file or read.lost or next((t.text for t in read.tokens if t.name is None), None)
    if wrong:
        problems.append(bad("env['XLA_FLAGS']", text, "flags of the form --name=value, separated by blanks"))
        return
    for token in read.tokens:
        yield _asked("xla_flag", token.name or "", token.meant, "env")


def config_settings(options: Mapping[str, Any] | None, problems: list[Finding]) -> Iterable[Setting]:
    for key, value in _items("jax_config", options, problems):
        if isinstance(value, str) and not is_text(value):
            problems.append(bad(f"jax_config[{key!r}]", value, TEXT))
        yield _asked("jax_config", key, value, "jax_config")


def memory_settings(preallocate: Any, allocator: Any, problems: list[Finding]) -> Iterable[Setting]:
    problems += booleans(preallocate=preallocate)
    if isinstance(preallocate, bool):
        yield _asked("env", "XLA_PYTHON_CLIENT_PREALLOCATE", setting_text(preallocate), "preallocate")
    if allocator is not None and not isinstance(allocator, str):
        problems.append(bad("allocator", allocator, "the name of an allocator"))
    elif allocator is not None:
        yield _asked("env", "XLA_PYTHON_CLIENT_ALLOCATOR", allocator, "allocator")


def guard_settings(level: Any, problems: list[Finding]) -> Iterable[Setting]:
    if level is None:
        return
    wrong = choice("transfer_guard", level, GUARD_LEVELS)
    problems += wrong
    for option in () if wrong else GUARD_OPTIONS:
        yield _asked("jax_config", option, level, "transfer_guard")


def cache_settings(cache: Any, problems: list[Finding]) -> Iterable[Setting]:
    if cache is None:
        return
    if cache is False:
        yield _asked("jax_config", CACHE_SWITCH, False, "compilation_cache")
    elif cache is True or not isinstance(cache, (str, os.PathLike)) or not is_text(os.fspath(cache) or "\0"):
        problems.append(bad("compilation_cache", cache, "the directory of the cache, or False"))
    else:
        yield _asked("jax_config", CACHE_OPTION, os.fspath(cache), "compilation_cache")


def graph_settings(graphs: Any, problems: list[Finding]) -> Iterable[Setting]:
    problems += booleans(cuda_graphs=graphs)
    if isinstance(graphs, bool):
        yield _asked("xla_flag", CUDA_GRAPHS_FLAG, BUILD_DEFAULT if graphs else "", "cuda_graphs")


def pgle_settings(pgle: Any, problems: list[Finding], profiles: Mapping[str, Kind] = EMPTY) -> Iterable[Setting]:
    """``profiles``: what is at each path here; of one that is not in it, on another machine, the name alone is judged."""
    if pgle is None:
        return
    if pgle == "auto":
        yield _asked("jax_config", PGLE_OPTION, True, "pgle")
    elif pgle == "expect":
        yield _asked("jax_config", EXPECT_OPTION, True, "pgle")
        yield _asked("jax_config", PGLE_OPTION, False, "pgle", "profiles are expected, not made")
    elif not isinstance(pgle, (str, os.PathLike)):
        problems.append(bad("pgle", pgle, "'auto', 'expect', or the path of a profile"))
    else:
        path = os.fspath(pgle)
        if not _can_be_profile(path, profiles.get(path)):
            wanted = f"'auto', 'expect', an existing {' or '.join(PROFILE_ENDINGS)} file, or a directory of them"
            problems.append(bad("pgle", path, f"{wanted} (XLA ignores every other path in silence)"))
            return
        yield _asked("xla_flag", PROFILE_FLAG, path, "pgle")


def _can_be_profile(path: str, found: Kind | None) -> bool:
    """Whether XLA would read it: a folder, or a file by its ending."""
    if found is None:
        return path.endswith(PROFILE_ENDINGS) or not os.path.splitext(path)[1]
    return found == "folder" or (found == "file" and path.endswith(PROFILE_ENDINGS))


def _elsewhere(platform: Any, wrong: Finding) -> Finding:
    """A platform of JAX that is none of ours is told so, not as another one misspelt."""
    from ...knowledge.real_names import elsewhere

    real = elsewhere(platform)
    return wrong._replace(hint=f"{platform} is {real.what}. {real.instead}") if real else wrong


def platform_settings(platform: Any, problems: list[Finding]) -> Iterable[Setting]:
    if platform is None:
        return
    wrong = choice("platform", platform, ("cpu", "cuda"))
    problems += [_elsewhere(platform, one) for one in wrong]
    if not wrong:
        yield _asked("jax_config", PLATFORMS_OPTION, platform, "platform")


def _items(name: str, mapping: Any, problems: list[Finding]) -> Iterable[tuple[str, Any]]:
    if mapping is None:
        return ()
    if not isinstance(mapping, Mapping):
        problems.append(bad(name, mapping, 'a mapping of names to values, such as {"NAME": "VALUE"}'))
        return ()
    wrong = [key for key in mapping if not isinstance(key, str)]
    problems += [bad(name, key, "names as str") for key in wrong]
    return [(key, value) for key, value in mapping.items() if isinstance(key, str)]


def booleans(**values: Any) -> list[Finding]:
    return [
        bad(name, v, "True, False or None") for name, v in values.items() if v is not None and not isinstance(v, bool)
    ]


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> list[Finding]:
    if value in allowed:
        return []
    meant = {"gpu": "cuda"}.get(str(value)) or nearest(str(value), allowed) or ""
    return [bad(name, value, ", ".join(map(repr, allowed)), f"Did you mean {meant!r}?" if meant in allowed else "")]


def bad(name: str, given: Any, allowed: str, hint: str = "") -> Finding:
    return Finding("bad-argument", "error", f"{name}={given!r} is not valid; allowed: {allowed}.", hint)
