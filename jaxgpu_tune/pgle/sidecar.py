"""What a profile was taken with, in a file beside it: ``model.pb.json``. A profile holds for that program, release, flags and GPU.

Where it is used with something else XLA says nothing: what does not match by name is guessed, what matches is believed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..model import Finding, Machine
from ..planning.xla_flags.grammar import scan
from .cost_profile import CostProfile

__all__ = ["Sidecar", "differences", "flags_of", "read_sidecar", "sidecar_path", "stale", "taken_with", "write_sidecar"]

NO_MATTER = ("xla_gpu_pgle_", "xla_dump_")
"""Flags that differ between recording and using, or that change nothing of the program."""
LONGEST = 100
"""Characters of a command that are shown."""
WHAT = {
    "program": "program",
    "jaxlib": "jaxlib",
    "plugins": "CUDA plugin",
    "gpus": "GPUs",
    "xla_flags": "XLA flags",
}


class Sidecar(NamedTuple):
    """What a profile was taken with; None: was not known.

    ``digest``: of the profile's entries; ``xla_flags``: without those that only recording needs.
    """

    digest: str
    program: str | None = None
    command: tuple[str, ...] | None = None
    jaxlib: str | None = None
    plugins: Mapping[str, str] | None = None
    gpus: tuple[str, ...] | None = None
    driver: str | None = None
    xla_flags: str | None = None
    percentile: float | None = None
    runs: int | None = None


def taken_with(
    profile: CostProfile, machine: Machine, xla_flags: str, command: tuple[str, ...], **more: Any
) -> Sidecar:
    """The sidecar of a profile of this machine and command."""
    gpus = None if machine.gpus is None else tuple(gpu.name or "unknown" for gpu in machine.gpus)
    plugins = None if machine.plugins is None else dict(machine.plugins)
    driver, jaxlib = machine.driver, machine.jaxlib
    return Sidecar(
        profile.digest,
        command=command,
        jaxlib=jaxlib,
        plugins=plugins,
        gpus=gpus,
        driver=driver,
        xla_flags=xla_flags,
        **more,
    )


def sidecar_path(profile: str | os.PathLike[str]) -> Path:
    """The file beside a profile's."""
    return Path(f"{os.fspath(profile)}.json")


def write_sidecar(profile: str | os.PathLike[str], sidecar: Sidecar) -> Path:
    """Beside the profile, in the place of an older one."""
    path = sidecar_path(profile)
    path.write_text(json.dumps(sidecar._asdict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_sidecar(profile: str | os.PathLike[str]) -> Sidecar | None:
    """None if there is none, or none of ours."""
    try:
        data = json.loads(sidecar_path(profile).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("digest"), str):
        return None
    known = {name: data[name] for name in Sidecar._fields if name in data}
    lists = {name: tuple(known[name]) for name in ("command", "gpus") if isinstance(known.get(name), list)}
    return Sidecar(**{**known, **lists})


def flags_of(text: str) -> dict[str, str]:
    """The flags of a text that matter to the program: the last of a name counts."""
    read = {token.name: token.meant for token in scan(text).tokens if token.name}
    return {name: value for name, value in read.items() if not name.startswith(NO_MATTER)}


def stale(path: str | os.PathLike[str], profile: CostProfile, now: Sidecar) -> Iterator[Finding]:
    """Whether the profile was taken with what it is to be used with.

    What is unknown on either side is no difference.
    """
    then = read_sidecar(path)
    if then is None:
        message = (
            f"{os.fspath(path)} has no {sidecar_path(path).name} beside it, so nobody knows what it was taken with."
        )
        yield Finding("pgle-no-sidecar", "note", message)
        return
    if then.digest != profile.digest:
        message = f"{os.fspath(path)} has changed since {sidecar_path(path).name} was written."
        yield Finding("pgle-changed", "warning", message, "Record or convert it again.")
    differing = list(differences(then, now)) + list(_command(then, now))
    if differing:
        message = f"{os.fspath(path)} was taken with something else: {'; '.join(differing)}."
        yield Finding("pgle-stale", "warning", message, "Record it again with what it is used with.")


def differences(then: Sidecar, now: Sidecar) -> Iterator[str]:
    """What it was made with and is not used with: jaxlib, plugins, GPUs, each XLA flag."""
    for field, name in WHAT.items():
        old, new = getattr(then, field), getattr(now, field)
        if old is None or new is None or old == new:
            continue
        if field == "xla_flags":
            yield from _flag_differences(flags_of(old), flags_of(new))
        else:
            yield f"{name} {_shown(old)}, now {_shown(new)}"


def _command(then: Sidecar, now: Sidecar) -> Iterator[str]:
    if then.command and now.command and then.command != now.command:
        yield f"command {_short(then.command)!r}, now {_short(now.command)!r}"


def _flag_differences(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            yield f"--{name} {_said(then, name)}, now {_said(now, name)}"


def _short(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _said(flags: Mapping[str, str], name: str) -> str:
    return f"={flags[name]}" if name in flags else "not set"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {version}" for name, version in sorted(value.items())) or "none"
    if isinstance(value, tuple):
        return _counted(value)
    return str(value)


def _counted(words: tuple[str, ...]) -> str:
    """A command as it is, GPUs counted where all are alike."""
    if len(words) > 1 and len(set(words)) == 1:
        return f"{len(words)} x {words[0]}"
    return " ".join(words) or "none"
