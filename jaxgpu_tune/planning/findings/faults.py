"""Faults of what is installed, most of which settings avoid: which of them are here, and what to tell of them in the end. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ...knowledge.installs import InstallFault, install_faults, newest_cuda_served
from ...model import Finding, Machine, Setting
from ..base.conditions import Facts, all_met
from ..in_force import Settled
from ..release.target import Target, same
from ..xla_flags.grammar import quote
from .unfit_installs import cudas

__all__ = ["check_faults", "faults_here"]


def faults_here(machine: Machine, facts: Facts, *, for_cpu: bool) -> tuple[InstallFault, ...]:
    """The faults whose conditions hold; none where JAX is told to run on the CPU, since all of them are the GPU's."""
    if for_cpu or (machine.plugins is not None and not cudas(machine)):
        return ()
    return tuple(fault for fault in install_faults() if all_met(fault.when, facts))


def check_faults(here: Iterable[InstallFault], found: Settled, target: Target, machine: Machine) -> Iterator[Finding]:
    """A warning for each fault that the flags in force avoid, an error for each that they do not, or that none does."""
    for fault in here:
        flags = " ".join(quote(setting.name, setting.value) for setting in fault.settings)
        message = fault.message.format(nccl=machine.nccl)
        pip = fault.hint.format(wheel=_wheel(fault.library, machine)) if fault.library else fault.hint
        if not fault.settings:
            yield Finding(fault.code, "error", f"{message} (source: {fault.source})", pip)
        elif all(_in_force(setting, found.flags, target) for setting in fault.settings):
            message = f"{message} In XLA_FLAGS {flags} avoid that (source: {fault.source})"
            hint = f"{pip} makes them needless. They act on the whole process: compiler_options() leaves them out."
            yield Finding(fault.code, "warning", message, hint)
        else:
            message = f"{message} Nothing that is set avoids that (source: {fault.source})"
            yield Finding(fault.code, "error", message, f"{pip}, or let XLA_FLAGS hold, as configure() does: {flags}")


def _in_force(setting: Setting, values: Mapping[str, str], target: Target) -> bool:
    spec = target.flag(setting.name)
    if setting.name not in values:
        return target.is_default(setting.name, setting.value)
    return spec is not None and same(spec, values[setting.name], setting.value)


def _wheel(library: str, machine: Machine) -> str:
    """The name of the installed wheel of one of NVIDIA's libraries; of several, the one for the plugin's CUDA."""
    installed = [name for name in machine.libraries or {} if re.fullmatch(rf"{library}(-cu\d+)?", name)]
    wanted = [f"{library}-cu{cuda}" for cuda in cudas(machine)[::-1] or [newest_cuda_served(machine.cuda_driver)]]
    fitting = [name for name in wanted if name in installed]
    return (fitting or installed or wanted)[0]
