"""The compilation cache of this process: whether its directory can be used, and letting jax look at it anew."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from ..model import Finding
from ..planning.settings.setting_names import CACHE_OPTION, CACHE_SWITCH

__all__ = ["OPTIONS", "cache_folder_findings", "look_anew"]

MODULE = "jax._src.compilation_cache"
OPTIONS = (CACHE_OPTION, CACHE_SWITCH)


def look_anew() -> None:
    """Make a jax that has compiled already read the options of its cache again; it settles them with its first compile."""
    cache: Any = sys.modules.get(MODULE)
    if cache is not None and cache.is_initialized():
        cache.reset_cache()


def cache_folder_findings(folder: str | None) -> Iterator[Finding]:
    """Why jax could not write its cache in a directory of this host."""
    if not folder:
        return
    if "://" in folder:
        yield from _address(folder)
        return
    there = folder
    while not os.path.lexists(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there) or os.curdir
    if not os.path.isdir(there) or not os.access(there, os.W_OK | os.X_OK):
        what = "cannot be written to" if os.path.isdir(there) else "is no directory"
        message = f"{CACHE_OPTION}={folder}: {there} {what}, so every program is compiled again."
        yield Finding("cache-unwritable", "warning", message, "Name a directory that this user can write to.")


def _address(folder: str) -> Iterator[Finding]:
    from importlib.machinery import PathFinder

    if PathFinder.find_spec("etils") is None:
        message = f"{CACHE_OPTION}={folder}: without etils jax takes the address for a directory on this host's disk."
        yield Finding("cache-address", "warning", message, "pip install 'etils[epath]' (and gcsfs or s3fs for it).")
