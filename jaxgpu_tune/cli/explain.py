"""``jaxgpu-tune explain NAME``."""

from __future__ import annotations

from ..wording import bad_argument
from .call_options import JAXLIB
from .output import print_json, show
from .parameters import JSON, Argument

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (Argument("names", "NAME", many=True, completes="name"), JAXLIB, JSON)
EXAMPLES = (
    ("jaxgpu-tune explain --xla_gpu_graph_level", "what it does, its traps, its life, what stands for it"),
    ("jaxgpu-tune explain XLA_PYTHON_CLIENT_MEM_FRACTION", "a variable"),
    ("jaxgpu-tune explain jax_enable_pgle --jaxlib 0.5.1", "an option, for another release"),
    ("jaxgpu-tune explain decode", "a preset: what it sets where, what was measured, what to do beyond it"),
)


def command(names: tuple[str, ...], jaxlib: str | None, as_json: bool) -> int:
    """Tell all that is known of NAME: an XLA flag (with or without dashes), a variable, a jax.config option, an argument, a preset, or what tune tries."""
    from ..api import explain

    if len(names) != 1:
        raise bad_argument(f"explain takes one NAME; {len(names)} were given.")
    explanation = explain(names[0], jaxlib)
    if as_json:
        print_json(explanation.to_dict())
    else:
        from ..render.table import hanging
        from ..render.text import terminal_width

        width, (name, *facts) = terminal_width(), str(explanation).split("\n")
        show("\n".join([name, *(line for fact in facts for line in hanging(fact.lstrip(), width, "  "))]))
    return 0
