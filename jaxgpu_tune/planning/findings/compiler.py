"""CUDA's compiler (ptxas) and libdevice: which ones XLA takes, and whether the driver goes with them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge import installs as known
from ...model import Finding, Machine
from ..settings.setting_names import DATA_DIR

__all__ = ["from_wheels", "overwritten_folder", "ptxas_of_path", "slow_compiles"]


def from_wheels(machine: Machine) -> str | None:
    """The installed wheel that brings CUDA's compiler, with its version; None without one."""
    return next((f"{name} {v}" for name, v in (machine.libraries or {}).items() if name in known.NVCC.values()), None)


def slow_compiles(machine: Machine, cuda: int) -> Iterator[Finding]:
    """Where ptxas is newer than the driver, old releases of XLA compile one kernel after the other."""
    name, driver = known.NVCC.get(cuda, ""), machine.cuda_driver
    ptxas = (machine.libraries or {}).get(name)
    if not (machine.jaxlib and ptxas and driver) or not known.compiles_serially(machine.jaxlib, ptxas, driver):
        return
    message = f"The driver serves CUDA {driver}, older than ptxas {ptxas} ({name}): jaxlib {machine.jaxlib} does not compile in parallel then, and compiling takes longer (jax-ml/jax#19821)."
    hint = f"Update the driver, or take the ptxas of its CUDA: pip install '{name}=={driver}.*'. Results are the same."
    yield Finding("compiles-one-by-one", "note", message, hint)


def ptxas_of_path(machine: Machine, folder: str | None) -> Iterator[Finding]:
    """Where a CUDA toolkit's ptxas comes before that of the wheels. ``folder``: the first of PATH that has one."""
    wheel = from_wheels(machine)
    if folder and wheel and machine.jaxlib and known.takes_ptxas_of_path(machine.jaxlib):
        message = f"PATH names {folder}, whose ptxas jaxlib {machine.jaxlib} takes before that of {wheel}: an older one fails or compiles wrong code (jax-ml/jax#18578)."
        yield Finding(
            "ptxas-of-path", "warning", message, f"Take {folder} out of PATH, or update jaxlib to 0.4.24 or newer."
        )


def overwritten_folder(folder: str | None, machine: Machine) -> Iterator[Finding]:
    """What a folder that is said has no effect on: with NVIDIA's wheels JAX names theirs at each compilation."""
    wheel = from_wheels(machine) if folder else None
    if wheel:
        message = f"--{DATA_DIR}={folder} has no effect: JAX says the folder of {wheel} at each compilation."
        yield Finding("cuda-folder-overwritten", "note", message, "Take it out.")
