"""``jaxgpu-tune detect``."""

from __future__ import annotations

from .output import print_json, show
from .parameters import JSON

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (JSON,)
EXAMPLES = (
    ("jaxgpu-tune detect", "GPUs, driver, packages, processes"),
    ("jaxgpu-tune detect --json > machine.json", "a file for --machine and JAXGPU_TUNE_MACHINE"),
)


def command(as_json: bool) -> int:
    """Show what is here: GPUs, driver, packages, processes. No JAX is imported and no CUDA context is made.

    The JSON serves as JAXGPU_TUNE_MACHINE and --machine, so that another machine can be planned for.
    """
    from ..api import detect
    from ..planning.explain import numbered_gpus
    from ..render.parts import machine_facts

    machine = detect()
    if as_json:
        print_json(machine.to_dict())
    else:
        show("\n".join((*machine_facts(machine), *numbered_gpus(machine.gpus or ()))))
    return 0
