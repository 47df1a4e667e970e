"""The machine, put together from its parts; or read from the file that JAXGPU_TUNE_MACHINE names."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..errors import BadSetting
from ..model import Finding, Machine
from .gpus import find_gpus
from .packages import installed_versions
from .phase import joined_job, phase
from .processes import find_processes, own_devices

__all__ = ["MACHINE_FILE", "detect_machine", "machine_file", "machine_of_file"]

MACHINE_FILE = "JAXGPU_TUNE_MACHINE"


def detect_machine(environ: Mapping[str, str], live: bool = True) -> Machine:
    """What is here, or what the file says is. Raises BadSetting for a file that cannot be used, never for facts.

    ``live``: what this process has joined by jax.distributed.initialize() counts, too.
    The file that this process's own environment names counts also where another environment is planned for.
    """
    path = machine_file(environ)
    if path:
        return machine_of_file(path, f"{MACHINE_FILE}={path!r}")
    found, packages = find_gpus(environ), installed_versions()
    processes = find_processes(environ, joined_job() if live else None)
    own = own_devices(processes, None if found.gpus is None else len(found.gpus), environ)
    return Machine(
        gpus=found.gpus,
        driver=found.driver,
        cuda_driver=found.cuda_driver,
        nccl=packages.nccl,
        jax=packages.jax,
        jaxlib=packages.jaxlib,
        plugins=packages.plugins,
        libraries=packages.libraries,
        wsl=_is_wsl(),
        phase=phase(),
        processes=processes._replace(local_device_ids=own),
    )


def machine_file(environ: Mapping[str, str]) -> str | None:
    """The file that describes another machine, as that environment names it, or else this process's own."""
    return environ.get(MACHINE_FILE) or os.environ.get(MACHINE_FILE) or None


def _is_wsl() -> bool | None:
    """By the kernel, which Microsoft builds and names; None where there is no such name."""
    uname = getattr(os, "uname", None)
    return None if uname is None else "microsoft" in uname().release.lower()


def machine_of_file(path: str, given_as: str) -> Machine:
    """The machine that a JSON file describes. ``given_as``: what named the file. Raises BadSetting."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            data = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        why = f": {error.strerror}" if isinstance(error, OSError) else f" as JSON: {error}"
        message = f"{given_as} cannot be read{why}."
        raise BadSetting.of(
            [Finding("bad-machine", "error", message, "`jaxgpu-tune detect --json` writes such a file.")]
        ) from error
    return Machine.from_dict(data)
