"""The versions of what is installed, read from the names of metadata folders: nothing is imported, nothing is parsed.

``importlib.metadata`` alone would take as long as everything else this library does at start-up.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping

from ..values import EMPTY, Value

__all__ = ["Installed", "entries_of", "installed_versions"]

ENDINGS = (".dist-info", ".egg-info")
VERSION_LINE = r"(?m)^_(release_version|version)\s*(?::\s*[\w |]+)?=\s*['\"](\d[^'\"]*)['\"]"
WANTED = ("jax", "nvidia", "tensorflow", "tf_nightly", "torch", "cupy")
OTHERS = frozenset({"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "torch", "torch-xla", "cupy"})
"""Distributions that use the GPU or hold an XLA of their own, beside NVIDIA's and CuPy's by CUDA version."""


class Installed(Value):
    """Versions as text, None where not installed. ``plugins``, ``libraries``: distribution -> version."""

    jax: str | None = None
    jaxlib: str | None = None
    nccl: str | None = None
    plugins: Mapping[str, str] = EMPTY
    libraries: Mapping[str, str] = EMPTY


def installed_versions(path: list[str] | None = None) -> Installed:
    """What ``import`` would find along ``path`` (default: sys.path); the first folder that has a thing wins.

    As import does, it passes over what is no text.
    """
    places: Iterable[object] = sys.path if path is None else path
    named = [place or os.curdir for place in places if isinstance(place, str)]
    folders = {folder: _metadata(folder) for folder in named}
    found: dict[str, str] = {}
    for metadata in folders.values():
        found = {name: versions[0] for name, versions in metadata.items()} | found
    plugins = {name: version for name, version in sorted(found.items()) if _is_plugin(name)}
    jaxlib = _imported(folders, "jaxlib")
    return Installed(
        jax=_imported(folders, "jax"),
        jaxlib=jaxlib if plugins or not jaxlib else f"{jaxlib}{_conda_cuda(named)}",
        nccl=_nccl(found),
        plugins=plugins,
        libraries={name: version for name, version in sorted(found.items()) if _is_library(name)},
    )


def _is_plugin(name: str) -> bool:
    return name.startswith(("jax-cuda", "jax-rocm")) and name.endswith(("-pjrt", "-plugin"))


def _is_library(name: str) -> bool:
    nvidia = name.startswith("nvidia-") and not name.startswith("nvidia-ml-py")
    return nvidia or name in OTHERS or name.startswith("cupy-cuda")


def _imported(folders: Mapping[str, Mapping[str, list[str]]], package: str) -> str | None:
    """By metadata; by ``version.py`` where a source tree comes first, or an interrupted upgrade left the metadata of two."""
    for folder, metadata in folders.items():
        versions = metadata.get(package, [])
        source = _from_source(folder, package) if len(versions) != 1 else None
        version = next((v for v in versions if source is None or v.partition("+")[0] == source), source)
        if version:
            return version
    return None


def _conda_cuda(places: list[str]) -> str:
    """The CUDA inside conda's jaxlib, which needs no plugin, as the local part of a version: ``+cuda126``, or empty."""
    for place in places:
        for entry in entries_of(os.path.join(place, *[os.pardir] * 3, "conda-meta")):
            found = re.match(r"jaxlib-[^-]+-(cuda\d+)", entry)
            if found:
                return f"+{found[1]}"
    return ""


def _nccl(found: Mapping[str, str]) -> str | None:
    """Of several NCCLs the one for the CUDA of the one JAX plugin; None where that leaves it open."""
    versions = {
        name: version for name, version in found.items() if name == "nvidia-nccl" or name.startswith("nvidia-nccl-cu")
    }
    cudas = {name.split("-")[1].removeprefix("cuda") for name in found if name.startswith("jax-cuda")}
    fitting = [version for name, version in versions.items() if name.removeprefix("nvidia-nccl-cu") in cudas]
    choice = fitting or list(versions.values())
    return choice[0] if len(choice) == 1 else None


def _metadata(folder: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in sorted(entries_of(folder)):
        if entry.endswith(ENDINGS) and entry.lower().startswith(WANTED):
            name, version = _named(entry.rpartition(".")[0].split("-"))
            if version:
                found.setdefault(name, []).append(version)
    return found


def _named(parts: list[str]) -> tuple[str, str]:
    """Name and version of a metadata folder: name-version, or name-version-py3.12, where a name may hold dashes itself."""
    at = next((at for at, part in enumerate(parts) if at and part[:1].isdigit()), len(parts))
    name = "-".join(filter(None, "-".join(parts[:at]).replace("_", "-").replace(".", "-").split("-")))
    return name.lower(), "".join(parts[at : at + 1]).replace("_", "+")


def entries_of(folder: str) -> list[str]:
    """The names in a folder; none where it cannot be read."""
    try:
        return os.listdir(folder)
    except (OSError, ValueError):
        return []


def _from_source(folder: str, package: str) -> str | None:
    """The version in ``version.py``, for builds without metadata (source trees, some containers)."""
    try:
        with open(os.path.join(folder, package, "version.py"), encoding="utf-8") as file:
            lines: dict[str, str] = dict(re.findall(VERSION_LINE, file.read()))
    except (OSError, ValueError):
        return None
    if "release_version" in lines:
        return lines["release_version"]
    # A source tree names the release that is to come; what is built before it is a development version of that.
    return f"{lines['version']}.dev0" if "version" in lines else None
