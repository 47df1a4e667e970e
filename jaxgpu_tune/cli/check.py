"""``jaxgpu-tune check [TEXT]``."""

from __future__ import annotations

from .options import JAXLIB
from .output import exit_code, print_json, say
from .parameters import JSON, Argument

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (Argument("text", "[TEXT]...", many=True), JAXLIB, JSON)
EXAMPLES = (
    ("jaxgpu-tune check", "what is wrong with the XLA_FLAGS of this shell"),
    ("jaxgpu-tune check --jaxlib 0.11.2 -- '--xla_gpu_graph_level=0'", "a text of your own, for another jaxlib"),
)


def command(text: tuple[str, ...], jaxlib: str | None, as_json: bool) -> int:
    """Say what is wrong with TEXT as XLA_FLAGS (default: the environment's), and what to write instead.

    Shows where the fault is, what XLA makes of it (ends the process, or stops reading without a word), and the text
    that says what was meant. Exit code 1 if XLA would end the process.
    """
    from ..api import checked

    report, read = checked(" ".join(text) if text else None, jaxlib)
    if as_json:
        print_json(report.findings)
    else:
        from ..render.reading import reading_lines
        from ..render.text import findings_lines, terminal_width

        width = terminal_width()
        say("\n".join([*reading_lines(read, width), *findings_lines(report.findings, width)]) or "Nothing is wrong.")
    return exit_code(report.findings)
