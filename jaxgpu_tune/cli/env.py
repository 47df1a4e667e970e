"""``jaxgpu-tune env PRESET --format …``."""

from __future__ import annotations

import os
from typing import Any

from ..host.marker import follow
from ..render.environ import FORMATS, INHERITING, render_environ
from ..wording import bad_argument
from .call_options import JAXLIB, PLAN, plan_arguments
from .environment import all_settings, changes_of, planned
from .output import exit_code, say, tell
from .parameters import JSON, Option

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    *PLAN,
    JAXLIB,
    Option("undo", "--undo", "switch", "Take back what this library has set in this environment."),
    Option("form", "--format", "text", "For whom.", choices=FORMATS, default="sh"),
    JSON,
)
EXAMPLES = (
    ('eval "$(jaxgpu-tune env fsdp)"', "for sh, bash and zsh"),
    ('eval "$(jaxgpu-tune env --undo)"', "and back again"),
    ("jaxgpu-tune env fsdp --format fish | source", "for fish"),
    ("jaxgpu-tune env fsdp --format powershell | Out-String | Invoke-Expression", "for PowerShell"),
    ("jaxgpu-tune env fsdp --format docker > jax.env && docker run --env-file jax.env IMAGE", "for docker"),
    (
        "jaxgpu-tune env fsdp --format kubernetes --machine node.json",
        "the env list of a container, for another machine",
    ),
    ("jaxgpu-tune env fsdp --format slurm >> job.sh", "lines of a batch script, before srun"),
    ('ray job submit --runtime-env-json "$(jaxgpu-tune env fsdp --format ray)" -- python train.py', "for Ray"),
)


def command(preset: str, undo: bool, form: str, as_json: bool, **given: Any) -> int:
    """Print what PRESET sets, as code: eval "$(jaxgpu-tune env fsdp)".

    PRESET: a name that `jaxgpu-tune presets` lists, several joined by +, or the path of a TOML file.

    Findings go to stderr; stdout is code only. The formats sh, fish, powershell and json say what is to change in this
    environment. The others are for processes that do not inherit it: they say everything, what is set here already
    included. A value that a format cannot carry is refused (exit code 2); the message names the formats that can.
    """
    arguments = plan_arguments(given)
    if undo:
        return _undo(form="json" if as_json else form, alone=preset == "auto" and not arguments)
    report, final = planned(preset, arguments, "jaxgpu-tune env")
    tell(report.findings)
    form = "json" if as_json else form
    code = render_environ(changes_of(final) if form in INHERITING else all_settings(report, final), form)
    if code:
        say(code)
    return exit_code(report.findings)


def _undo(form: str, alone: bool) -> int:
    """The environment as the user had it before the first call, with what was changed since."""
    if not alone:
        raise bad_argument("--undo takes everything back.", "Leave out the preset and the options other than --format.")
    if form not in INHERITING:
        raise bad_argument(f"--undo has no use in the format {form}.", f"It is for {', '.join(INHERITING)}.")
    followed = follow(os.environ)
    tell(followed.findings)
    code = render_environ(changes_of(dict(followed.environ)), form)
    if code:
        say(code)
    return 0
