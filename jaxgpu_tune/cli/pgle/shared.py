"""What the commands of ``pgle`` have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import JaxGpuTuneError
from ...model import Finding, Report
from ...pgle.cost_profile import CostProfile
from ...pgle.sidecar import Sidecar
from ..call_options import PLAN, plan_arguments
from ..output import print_json, say
from ..parameters import Argument, Option

__all__ = ["CACHE", "PLANNED", "PROFILE", "plan_of", "profiles_at", "refuse", "root_of", "setup_of", "told"]

PRESET = Option(
    "preset", "--preset", "text", "With what this preset sets.", "PRESET", default="auto", completes="preset"
)
PLANNED: tuple[Option | Argument, ...] = (PRESET, *(one for one in PLAN[1:] if one.name not in ("pgle", "machine")))
PROFILE = Argument("file", "[FILE|FOLDER]", takes=lambda word: word.endswith((".pb", ".pbtxt")) or os.path.isdir(word))
CACHE = Option("store", "--store", "text", "Where recordings are kept (default: this user's cache folder).", "FOLDER")


def plan_of(given: Mapping[str, Any], **more: Any) -> tuple[Report, dict[str, str]]:
    """The plan of the options, and the environment that the command gets."""
    from ...api import fresh_environ

    rest = {name: value for name, value in given.items() if name != "preset"}
    arguments = plan_arguments(rest)
    flags = {**(arguments.get("flags") or {}), **more.pop("flags", {})}
    wanted = {**arguments, **({"flags": flags} if flags else {}), **more}
    return fresh_environ(given["preset"], os.environ, here=True, who="jaxgpu-tune", **wanted)


def setup_of(report: Report, program: tuple[str, ...], digest: str = "") -> Sidecar:
    """What the command runs with: to be written beside a profile, or to be compared with what is."""
    from ...pgle.sidecar import taken_with

    return taken_with(CostProfile(), report.machine, report.xla_flags, program)._replace(digest=digest)


def profiles_at(place: str | Path) -> Mapping[str, CostProfile]:
    """The profiles of a folder by fingerprint, or the one of a file under no name. Raises BadSetting for what cannot be read."""
    from ...pgle.profile_files import read_folder, read_profile

    return read_folder(place) if Path(place).is_dir() else {"": read_profile(place)}


def root_of(store: str | None) -> Path:
    """Where recordings are kept."""
    from ...pgle.store import default_root

    return Path(store) if store else default_root()


def refuse(findings: Iterable[Finding]) -> None:
    """Raises JaxGpuTuneError with those that are errors."""
    wrong = [one for one in findings if one.severity == "error"]
    if wrong:
        raise JaxGpuTuneError.of(wrong)


def told(findings: Iterable[Finding], *, as_json: bool, **more: Any) -> None:
    """On stderr, after the command's own words: all findings, notes too, as they are what was asked for."""
    from ...render.text import findings_text

    found = tuple(findings)
    if as_json:
        print_json({"findings": found, **more}, sys.stderr)
    elif found:
        say(findings_text(found), sys.stderr)
