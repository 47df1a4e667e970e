"""Names of variants turned into environments: what ``compare``, ``tune`` and ``bisect`` run. Each is pinned.

A name is a preset ("fsdp", "fsdp+mine.toml"), the path of a preset file, "none" (nothing of ours; what is set stays) or "clean" (that is removed, too).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from .api import fresh_environ
from .host.marker import before_us, pinned
from .knowledge.families import acts, launchers
from .knowledge.variables import is_read
from .measure.doubts import empty_variant
from .measure.protocol import Arm
from .model import Finding, Report
from .planning.request import SWITCH, is_off
from .planning.xla_flags.grammar import scan
from .wording import bad_argument

__all__ = ["arms_of", "environ_of", "python_arms"]

NONE, CLEAN = "none", "clean"
NOTHING = "auto"
"""The preset that sets nothing: for what arguments ask for alone."""
STAYS = ("xla_force_host_platform_device_count",)
"""Flags that say what the program is, not how it is compiled: "clean" leaves them."""
STAYING = frozenset(
    {
        *("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_ENABLE_X64", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
        *("JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT", "JAX_LOCAL_DEVICE_IDS"),
        *(name for one in launchers().values() for name in (*one.rank, *one.count)),
    }
)
"""Variables that say what the program is and where it runs: "clean" leaves them."""
VERSION = "import importlib.metadata as m; print(m.version('jaxlib'))"


def arms_of(
    names: Sequence[str] | Mapping[str, Mapping[str, Any]],
    command: Sequence[str],
    base: Mapping[str, str],
    **arguments: Any,
) -> tuple[Arm, ...]:
    """An arm for each name, in order. A mapping gives each name the arguments of ``configure()``; without "preset" among them nothing else is set.

    ``arguments``: those of ``configure()`` for all arms that have a preset. Raises what ``configure()`` raises.
    """
    given = names if isinstance(names, Mapping) else _by_name(names)
    return tuple(_arm(name, dict(how), command, base, arguments) for name, how in given.items())


def environ_of(preset: str, base: Mapping[str, str], **arguments: Any) -> tuple[Report | None, dict[str, str]]:
    """The report (None for "none" and "clean", where nothing is decided) and the pinned environment of a variant."""
    if is_off({**os.environ, **base}):
        raise bad_argument(f"{SWITCH}=off is set, so no variant could set anything.", f"Unset {SWITCH}.")
    user = before_us(base)
    if preset in (NONE, CLEAN) and not arguments:
        return None, pinned(user if preset == NONE else _cleaned(user))
    start = _cleaned(user) if preset == CLEAN else user
    report, found = fresh_environ(NOTHING if preset in (NONE, CLEAN) else preset, start, here=True, **arguments)
    return report, pinned(found)


def python_arms(
    pythons: Sequence[str], preset: str, command: Sequence[str], base: Mapping[str, str], **arguments: Any
) -> tuple[Arm, ...]:
    """An arm for each interpreter, with the same preset planned for the jaxlib that it has: what an upgrade changes.

    The interpreter takes the place of the command's own if that is a Python, and is first on PATH for what the command starts.
    Raises BadSetting for one that is not there or has no jaxlib.
    """
    found = []
    for python in pythons:
        path, jaxlib = _interpreter(python)
        more = arguments if preset in (NONE, CLEAN) else {"jaxlib": jaxlib, **arguments}
        report, environ = environ_of(preset, base, **more)
        words = (path, *command[1:]) if os.path.basename(command[0]).startswith("python") else tuple(command)
        paths = os.pathsep.join([os.path.dirname(path), environ.get("PATH", os.defpath)])
        findings = () if report is None else _grave(report)
        found.append(Arm(python, {**environ, "PATH": paths}, words, {"jaxlib": jaxlib}, findings))
    return tuple(found)


def _by_name(presets: Sequence[str]) -> dict[str, dict[str, str]]:
    """Each with a name of its own: a preset that comes again is compared with itself, as "fsdp#2"."""
    found: dict[str, dict[str, str]] = {}
    for number, preset in enumerate(presets):
        before = presets[:number].count(preset)
        found[f"{preset}#{before + 1}" if before else preset] = {"preset": preset}
    return found


def _arm(name: str, how: dict[str, Any], command: Sequence[str], base: Mapping[str, str], more: dict[str, Any]) -> Arm:
    preset = str(how.pop("preset", NONE))
    shared = {} if preset in (NONE, CLEAN) else more
    report, environ = environ_of(preset, base, **{**shared, **how})
    if report is not None and not report.environ and not how:
        return Arm(name, environ, tuple(command), {}, (*_grave(report), empty_variant(name)))
    settings = _changes(base, environ)
    return Arm(name, environ, tuple(command), settings, () if report is None else _grave(report))


def _changes(base: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str | None]:
    names = sorted({*base, *environ})
    changed = {name: environ.get(name) for name in names if environ.get(name) != base.get(name)}
    return {name: value for name, value in changed.items() if not name.startswith("JAXGPU_TUNE")}


def _grave(report: Report) -> tuple[Finding, ...]:
    return tuple(finding for finding in report.findings if finding.severity != "note")


def _cleaned(environ: Mapping[str, str]) -> dict[str, str]:
    """Without XLA flags and whatever else changes how JAX, XLA and NCCL work; what says which devices there are stays."""
    kept = {
        name: text for name, text in environ.items() if name in STAYING or not (acts(name, "tunes") or is_read(name))
    }
    flags = [token.text for token in scan(environ.get("XLA_FLAGS", "")).tokens if token.name in STAYS]
    return {**kept, **({"XLA_FLAGS": " ".join(flags)} if flags else {})}


def _interpreter(python: str) -> tuple[str, str]:
    path = shutil.which(python)
    if path is None:
        raise bad_argument(
            f"--python {python!r}: there is no such command.", "Give the path of an interpreter that has jax."
        )
    told = subprocess.run([path, "-c", VERSION], capture_output=True, text=True, check=False)
    if told.returncode:
        raise bad_argument(f"--python {python!r} has no jaxlib.", f"Install it there: {python} -m pip install jax")
    return path, told.stdout.strip()
