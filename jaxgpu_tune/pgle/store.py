"""Where recorded executables lie: a compilation cache for each profile, never one for all.

JAX keys an optimized executable by the program and its options, not by the profile that optimized it, so an old
profile would keep serving for ever: each recording gets a folder of its own. A folder is found by what its
executables are bound to (jaxlib, plugins, GPUs, XLA_FLAGS), and by the command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..errors import BadSetting
from ..host.user_cache import user_cache
from ..model import Finding
from .sidecar import Sidecar, differences, read_sidecar, write_sidecar

__all__ = ["Recorded", "default_root", "finish_recording", "new_folder", "recorded", "why_none"]

MARK = "recorded"
"""The sidecar of a finished recording is ``recorded.json``; a folder without it is none."""


class Recorded(NamedTuple):
    """A finished recording: the folder of the compilation cache, and what it was made with."""

    folder: Path
    sidecar: Sidecar


def default_root() -> Path:
    """The user's own folder for it. Raises BadSetting where there is no home."""
    folder = user_cache("pgle")
    if folder is None:
        raise BadSetting("There is no home folder to keep recordings in. Set HOME, or give --store FOLDER.")
    return Path(folder)


def new_folder(root: Path) -> Path:
    """An empty folder for one recording. Raises OSError if it cannot be made."""
    folder = root / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    folder.mkdir(parents=True)
    return folder


def finish_recording(folder: Path, sidecar: Sidecar) -> tuple[str, ...]:
    """Say that it is whole; the names of the programs that were kept, none: nothing was."""
    names = sorted({name for file in folder.glob("*-cache") if (name := file.name.rsplit("-", 2)[0])})
    if names:
        write_sidecar(folder / MARK, sidecar)
    return tuple(names)


def recorded(root: Path, now: Sidecar) -> Recorded | None:
    """The newest recording that serves with these settings: of this command, or else of its program with other arguments."""
    fitting = [one for one in _all(root) if not list(differences(one.sidecar, now)) and _likeness(one.sidecar, now)]
    return max(fitting, key=lambda one: (_likeness(one.sidecar, now), one.folder.name), default=None)


def why_none(root: Path, now: Sidecar) -> Finding:
    """Which part of the key differs from the nearest recording, newest first."""
    hint = "Write `jaxgpu-tune pgle record -- COMMAND` with the very settings and command."
    found = sorted(_all(root), key=lambda one: one.folder.name, reverse=True)
    ours = [one for one in found if _likeness(one.sidecar, now)]
    if not ours:
        commands = ", ".join(sorted({" ".join(one.sidecar.command or ()) for one in found})[:3])
        message = f"Nothing was recorded of this command in {root}" + (f"; only of: {commands}." if commands else ".")
        return Finding("pgle-not-recorded", "error", message, hint)
    nearest = min(ours, key=lambda one: len(list(differences(one.sidecar, now))))
    message = f"What was recorded of this command does not serve: {'; '.join(differences(nearest.sidecar, now))}."
    return Finding("pgle-not-recorded", "error", message, hint)


def _all(root: Path) -> Iterator[Recorded]:
    for file in root.glob(f"*/{MARK}.json"):
        sidecar = read_sidecar(file.parent / MARK)
        if sidecar is not None:
            yield Recorded(file.parent, sidecar)


def _likeness(then: Sidecar, now: Sidecar) -> int:
    """2: the recorded command, perhaps below a profiler (``nsys profile python train.py``); 1: its program; 0: another."""
    old, new = then.command or (), now.command or ()
    if any(new[at : at + len(old)] == old for at in range(len(new) - len(old) + 1)):
        return 2
    return int(bool(_programs(old) & _programs(new)))


def _programs(command: tuple[str, ...]) -> set[str]:
    """The scripts and modules that a command names."""
    modules = {name for flag, name in pairwise(command) if flag == "-m"}
    return modules | {word for word in command if word.endswith((".py", ".sh"))}
