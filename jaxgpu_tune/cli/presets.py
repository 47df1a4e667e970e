"""``jaxgpu-tune presets``."""

from __future__ import annotations

from .output import print_json, show
from .parameters import JSON

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (JSON,)
EXAMPLES = (("jaxgpu-tune presets", "names, kinds and what each is for"),)


def command(as_json: bool) -> int:
    """List the presets: those measured by this project ("maintained") and others' recipes ("published")."""
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
