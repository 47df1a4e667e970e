"""``jaxgpu-tune plan PRESET``."""

from __future__ import annotations

import os
from typing import Any

from .call_options import JAXLIB, PLAN, plan_arguments
from .environment import changes_of, planned
from .output import exit_code, print_json, show
from .parameters import JSON, Option

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    *PLAN,
    JAXLIB,
    Option("verbose", "-v", "switch", "Every decision with its reason, and what was left out."),
    Option("diff", "--diff", "switch", "The variables that would change, against those that are set."),
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune plan fsdp", 'what configure("fsdp") would do here, and what that is known to be worth'),
    ("jaxgpu-tune plan fsdp -v", "the same with all reasons"),
    ("jaxgpu-tune plan fsdp --machine node.json", "for another machine"),
)


def command(preset: str, verbose: bool, diff: bool, as_json: bool, **given: Any) -> int:
    """Tell what PRESET would do here, changing nothing.

    PRESET: a name that `jaxgpu-tune presets` lists, several joined by +, or the path of a TOML file.

    Exit code 1 if a finding is an error.
    """
    report, final = planned(preset, plan_arguments(given))
    if as_json:
        print_json(report.to_dict())
    elif diff:
        show("\n".join(_changed(changes_of(final))) or "Nothing would change.")
    else:
        show(report.details() if verbose else str(report))
    return exit_code(report.findings)


def _changed(changes: dict[str, str | None]) -> list[str]:
    """A line for each old value and one for each new one."""
    from ..host.marker import MARKER

    lines = []
    for name, value in changes.items():
        if name != MARKER:
            lines += [f"-{name}={os.environ[name]}"] if name in os.environ else []
            lines += [] if value is None else [f"+{name}={value}"]
    return lines
