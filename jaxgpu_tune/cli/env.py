"""``jaxgpu-tune env PRESET --format …``."""

from __future__ import annotations

from ..render.environ import FORMATS, INHERITING, render_environ
from .environment import changes_of, planned, settings_of
from .options import JAXLIB, PLAN, plan_arguments
from .output import exit_code, say, tell
from .parameters import JSON, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    *PLAN,
    JAXLIB,
    Option("form", "--format", "text", "For whom.", choices=FORMATS, default="sh"),
    JSON,
)
EXAMPLES = (
    ('eval "$(jaxgpu-tune env fsdp)"', "for sh, bash and zsh"),
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


def command(preset: str, jaxlib: str | None, form: str, as_json: bool, **given: Any) -> int:
    """Print what PRESET sets, as code: eval "$(jaxgpu-tune env fsdp)".

    Findings go to stderr; stdout is code only. sh, fish, powershell and json say what is to change in this environment;
    the other formats, which are for processes that do not inherit it, say everything, what is set here already included.
    A value that a format cannot carry is refused (exit code 2), with the formats that can.
    """
    arguments = plan_arguments(given)
    report, final = planned(preset, {**arguments, "jaxlib": jaxlib} if jaxlib else arguments, "jaxgpu-tune env")
    tell(report.findings)
    form = "json" if as_json else form
    code = render_environ(changes_of(final) if form in INHERITING else settings_of(report, final), form)
    if code:
        say(code)
    return exit_code(report.findings)
