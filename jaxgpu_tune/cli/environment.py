"""The environment that a plan leads to, for the commands that hand it on."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..host.detect import machine_file
from ..host.marker import MARKER
from ..model import Machine, Report
from ..planning.settings.setting_names import VISIBLE
from ..wording import FOR_THE_JOB
from .output import say

__all__ = ["all_settings", "changes_of", "planned", "tell_without_gpus"]

THIS_HOSTS_OWN = frozenset({VISIBLE})
"""Where a job runs elsewhere, its scheduler or container says which GPUs it may use."""


def planned(
    preset: str, arguments: dict[str, Any], who: str = "jaxgpu-tune", *, here: bool = False
) -> tuple[Report, dict[str, str]]:
    """The report, and the complete environment of a fresh process with the marker that tells what was set here.

    That no GPU is seen is told on stderr.
    """
    from ..api import fresh_environ

    report, final = fresh_environ(preset, os.environ, here=here, who=who, **arguments)
    if not any(finding.code == "no-gpu" for finding in report.findings):
        tell_without_gpus(report.machine, described="machine" in arguments, platforms=final.get("JAX_PLATFORMS"))
    return report, final


def tell_without_gpus(machine: Machine, *, described: bool, platforms: str | None = None) -> None:
    """On stderr, where a command speaks of this machine, which has no GPU and is not said to need none."""
    if machine.gpus == () and platforms != "cpu" and not (described or machine_file(os.environ)):
        say(f"note: No GPU is seen here, so this is for a machine without GPUs. {FOR_THE_JOB}", sys.stderr)


def changes_of(final: dict[str, str]) -> dict[str, str | None]:
    """What to change in this process's environment to get ``final``; None: remove."""
    gone = dict.fromkeys(sorted(name for name in os.environ if name not in final))
    return {**{name: value for name, value in sorted(final.items()) if os.environ.get(name) != value}, **gone}


def all_settings(report: Report, final: dict[str, str]) -> dict[str, str | None]:
    """All that a process which does not inherit this environment needs: what was set here already included."""
    options = {d.name.upper() for d in report.decisions if d.kind == "jax_config"}
    decided = {d.name for d in report.decisions if d.kind == "env"} - THIS_HOSTS_OWN
    wanted = options | decided | {"XLA_FLAGS", MARKER, *report.environ}
    gone = {name: None for name, value in sorted(report.environ.items()) if value is None}
    return {**{name: value for name, value in sorted(final.items()) if name in wanted}, **gone}
