"""What is wrong with a plan as a whole, once it is settled what will be in force. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Finding, Observation
from ..base.conditions import Facts
from ..in_force import Settled
from ..release.target import Target
from ..request import Request
from ..settings.setting_names import DATA_DIR
from .job_faults import check_layout
from .option_needs import check_options
from .plan_hazards import hazard_findings

__all__ = ["of_settings", "of_surroundings"]


def of_settings(
    found: Settled, facts: Facts, request: Request, observation: Observation, target: Target
) -> Iterator[Finding]:
    """What the plan's settings mean together, for this machine and this job, whoever set them."""
    if not found.is_empty:
        from .buffers import check_buffers
        from .compiler import overwritten_folder
        from .deprecated import check_deprecated
        from .pool_faults import check_pool

        yield from check_options(found)
        yield from overwritten_folder(found.flags.get(DATA_DIR), observation.machine)
        yield from check_buffers(found, observation.machine, facts)
        yield from hazard_findings(found, facts)
        yield from check_deprecated(found, target)
        yield from check_pool(found, observation.machine, facts)
    yield from check_layout(observation, request)


def of_surroundings(found: Settled, observation: Observation, request: Request) -> Iterator[Finding]:
    """What is wrong with the GPUs, and who else is there that needs their memory."""
    if observation.machine.gpus:
        from .gpu_faults import check_surroundings

        yield from check_surroundings(found, observation, request)
