"""What of jax, jaxlib, the CUDA plugins, NVIDIA's wheels and the driver goes together: reading ``data/installs.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model import Setting
from ..values import Value
from .tables import read_table
from .versions import matches, numbers

__all__ = [
    "FAULT",
    "NVCC",
    "Dropped",
    "InstallFault",
    "compiles_serially",
    "dropped",
    "install_faults",
    "installs_all",
    "least_jaxlib",
    "least_libraries",
    "needs_of",
    "newest_cuda_for",
    "newest_cuda_served",
    "takes_ptxas_of_path",
    "unknown_to_compiler",
    "whole_of",
    "without_plugin",
]

FAULT = "fault "
"""With this, and the fault's code, begins the source of a setting that avoids one."""

NVCC = {12: "nvidia-cuda-nvcc-cu12", 13: "nvidia-cuda-nvcc"}
"""The wheel that brings the compiler (ptxas) of each CUDA."""
LISTED_FROM = (10, 0)
"""From which compute capability on the tables say which compiler knows it; every CUDA 12 knows those below."""


def needs_of(cuda: int) -> dict[str, Any]:
    """``driver``, ``serves`` and ``least`` (compute capability) of a CUDA; those of the newest for one that is in no table."""
    tables: list[dict[str, Any]] = read_table("installs")["cuda"]
    return next((table for table in tables if table["version"] == cuda), tables[0])


def newest_cuda_served(cuda_driver: str | None) -> int:
    """The newest CUDA with a plugin that a driver serves, by the CUDA it reports; the newest of all if that is unknown."""
    tables: list[dict[str, Any]] = read_table("installs")["cuda"]
    served = (t for t in tables if cuda_driver is None or numbers(t["serves"]) <= numbers(cuda_driver))
    return int(next(served, tables[-1])["version"])


def newest_cuda_for(capability: str) -> int | None:
    """The newest CUDA with a plugin that runs on GPUs of a compute capability; None: no such CUDA does."""
    tables: list[dict[str, Any]] = read_table("installs")["cuda"]
    return next((int(t["version"]) for t in tables if numbers(t["least"]) <= numbers(capability)), None)


def unknown_to_compiler(capability: str, cuda: int, nvcc: str | None) -> bool:
    """Whether CUDA's compiler (``nvcc``: its version; unknown: the newest of that CUDA in the table) is older than a GPU."""
    if numbers(capability) < LISTED_FROM:
        return False
    rows = [row for row in read_table("installs")["compiler"] if row["cuda"].startswith(f"{cuda}.")]
    newest = max((numbers(row["cuda"]) for row in rows), default=None)
    built = numbers(nvcc)[:2] if nvcc else newest
    if newest is None or built is None or built > newest:
        return False
    rows = [row for row in read_table("installs")["compiler"] if numbers(row["cuda"]) <= built]
    return not any(capability in row["knows"] for row in rows)


def first_compiler_for(capability: str, cuda: int) -> str | None:
    """The first release of one CUDA's compiler that knows a GPU, as far as the table tells."""
    rows = read_table("installs")["compiler"]
    return next((r["cuda"] for r in rows if capability in r["knows"] and r["cuda"].startswith(f"{cuda}.")), None)


def least_libraries(cuda: int, plugin: str) -> dict[str, str]:
    """The least version of each of NVIDIA's wheels that a release of the plugin asks for; nothing for one before the table."""
    found: dict[str, str] = {}
    for table in read_table("installs")["library"]:
        if table["cuda"] == cuda:
            reached = [least for since, least in table["least"].items() if numbers(since) <= numbers(plugin)]
            found |= {table["name"]: reached[-1]} if reached else {}
    return found


class Dropped(Value):
    """One of NVIDIA's wheels that has no code for GPUs below a compute capability (``least``) from a version (``since``) on."""

    name: str
    since: str
    least: str
    does: str
    source: str


def dropped(cuda: int) -> tuple[Dropped, ...]:
    """The wheels of a CUDA that leave old GPUs out from some version on."""
    tables = (table for table in read_table("installs")["dropped"] if table["cuda"] == cuda)
    return tuple(Dropped(t["name"], t["from"], t["least"], t["does"], t["source"]) for t in tables)


def compiles_serially(jaxlib: str, ptxas: str, cuda_driver: str) -> bool:
    """Whether a jaxlib compiles one kernel after the other since its ptxas is newer than the CUDA that the driver serves."""
    return _ptxas("newer_than_driver", jaxlib) and numbers(ptxas)[:2] > numbers(cuda_driver)[:2]


def takes_ptxas_of_path(jaxlib: str) -> bool:
    """Whether a jaxlib takes the ptxas that PATH names before the one of NVIDIA's wheels."""
    return _ptxas("path_first", jaxlib)


def _ptxas(what: str, jaxlib: str) -> bool:
    return matches(read_table("installs")["ptxas"][what], jaxlib)


def least_jaxlib(jax: str) -> str | None:
    """The oldest jaxlib that a release of jax lets itself be imported with; None for one in no table."""
    table: dict[str, str] = read_table("installs")["jaxlib"]
    return table.get(jax)


def whole_of(jax: str | None, jaxlib: str | None) -> str | None:
    """The release of jax to install, where the one that is here refuses to be imported with that jaxlib (jax/_src/lib)."""
    if not (jax and jaxlib):
        return None
    least = least_jaxlib(jax.partition("+")[0])
    if numbers(jaxlib) > numbers(jax):
        return jaxlib.partition("+")[0]
    return jax if least and numbers(jaxlib) < numbers(least) else None


def installs_all(cuda: int | None, release: str) -> str:
    """The line for pip that brings the jaxlib of a release of jax, and the plugin of a CUDA where there is one."""
    return f"pip install 'jax[cuda{cuda}]=={release}'" if cuda else f"pip install jax=={release}"


def without_plugin(cuda: int) -> str:
    """The line for pip that takes away the plugin of a CUDA."""
    return f"pip uninstall jax-cuda{cuda}-plugin jax-cuda{cuda}-pjrt"


class InstallFault(Value):
    """A fault of what is installed that ``settings`` avoid, all of them together; none do where there are none. ``source`` is public.

    ``message`` may hold "{nccl}", the version that is installed, and ``hint`` "{wheel}", the wheel that brings ``library``.
    """

    code: str
    message: str
    hint: str
    source: str
    when: Mapping[str, Any]
    library: str = ""
    settings: tuple[Setting, ...] = ()


def install_faults() -> tuple[InstallFault, ...]:
    """Every fault, in the file's order."""
    return tuple(map(_fault, read_table("installs")["avoid"]))


def _fault(table: Mapping[str, Any]) -> InstallFault:
    source = f"{FAULT}{table['code']}"
    settings = (
        Setting("xla_flag", one["flag"], one["value"], one["reason"], source, measured=one["measured"])
        for one in table.get("settings", ())
    )
    return InstallFault(**{**table, "settings": tuple(settings)})
