"""``jaxgpu-tune migrate --to VERSION [TEXT]``."""

from __future__ import annotations

import os

from .output import exit_code, print_json, say, tell
from .parameters import JSON, Argument, Option

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("text", "[TEXT]...", many=True),
    Option("release", "--to", "text", "The jaxlib to write for; by default the installed one.", "VERSION"),
    JSON,
)
EXAMPLES = (("jaxgpu-tune migrate --to 0.11.2 -- --xla_gpu_graph_level=0", "one text"),)


def command(text: tuple[str, ...], release: str | None, as_json: bool) -> int:
    """Print TEXT (default: the environment's XLA_FLAGS) in the words of another jaxlib; stdout is that text only."""
    from ..api import migrate

    found = migrate(" ".join(text) if text else os.environ.get("XLA_FLAGS", ""), release)
    if as_json:
        print_json(found)
    else:
        tell(found.findings)
        say(found.xla_flags)
    return exit_code(found.findings)
