"""``jaxgpu-tune presets``."""

from __future__ import annotations

from . import explain
from .output import print_json, show
from .parameters import JSON, Argument

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (Argument("name", "[NAME]", completes="preset"), JSON)
EXAMPLES = (
    ("jaxgpu-tune presets", "names, kinds and what each is for"),
    ("jaxgpu-tune presets fsdp", "all of one, as `explain fsdp` tells it"),
)


def command(name: str | None, as_json: bool) -> int:
    """List the presets: this project's ("maintained") and others' recipes ("published"). With NAME: tell all of one."""
    if name:
        return explain.command((name,), None, as_json)
    from ..api import presets
    from ..render.table import table
    from ..render.text import terminal_width

    found = presets()
    if as_json:
        print_json(found)
    else:
        rows = [("preset", "kind", "what for"), *((preset.name, preset.kind, preset.summary) for preset in found)]
        show("\n".join(table(rows, terminal_width())))
    return 0
