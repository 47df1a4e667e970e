"""The versions of what is installed, read from the names of metadata folders: nothing is imported, nothing is parsed.

``importlib.metadata`` alone would take as long as everything else this library does at start-up.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..model import NOTHING

__all__ = ["Installed", "installed_versions"]

FOLDER = re.compile(r"(?P<name>[A-Za-z0-9_.\-]+?)-(?P<version>\d[^-]*)(?:-py\d[\d.]*)?\.(?:dist-info|egg-info)")
VERSION_LINE = re.compile(r"^_(release_version|version)\s*(?::\s*[\w |]+)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
WANTED = ("jax", "nvidia_nccl", "nvidia-nccl")
PLUGIN = re.compile(r"jax-(cuda\d+|rocm\d+)-(pjrt|plugin)")
NCCL = re.compile(r"nvidia-nccl(-cu\d+)?")


class Installed(NamedTuple):
    """Versions as text, None where not installed. ``plugins``: distribution -> version."""

    jax: str | None = None
    jaxlib: str | None = None
    nccl: str | None = None
    plugins: Mapping[str, str] = NOTHING


def installed_versions(path: list[str] | None = None) -> Installed:
    """What ``import`` would find along ``path`` (default: sys.path); the first folder that has a thing wins."""
    folders = [folder or os.curdir for folder in (sys.path if path is None else path)]
    found: dict[str, str] = {}
    for name, version in (item for folder in folders for item in _metadata(folder)):
        found.setdefault(name, version)
    return Installed(
        jax=found.get("jax") or _from_source(folders, "jax"),
        jaxlib=found.get("jaxlib") or _from_source(folders, "jaxlib"),
        nccl=next((version for name, version in found.items() if NCCL.fullmatch(name)), None),
        plugins={name: version for name, version in sorted(found.items()) if PLUGIN.fullmatch(name)},
    )


def _metadata(folder: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(_entries(folder)):
        if not entry.lower().startswith(WANTED):
            continue
        parts = FOLDER.fullmatch(entry)
        if parts:
            yield re.sub(r"[-_.]+", "-", parts["name"]).lower(), parts["version"].replace("_", "+")


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _from_source(folders: list[str], package: str) -> str | None:
    """The version in ``version.py``, for builds without metadata (source trees, some containers)."""
    for folder in folders:
        try:
            with open(os.path.join(folder, package, "version.py"), encoding="utf-8") as file:
                lines = dict(VERSION_LINE.findall(file.read()))
        except OSError:
            continue
        return lines.get("release_version") or lines.get("version")
    return None
