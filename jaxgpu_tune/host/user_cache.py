"""This user's cache folder."""

from __future__ import annotations

import os

__all__ = ["user_cache"]


def user_cache(part: str) -> str | None:
    """The folder of ``part`` in it, which need not exist; None without a home, as in containers whose user has no name."""
    from platformdirs import user_cache_dir

    try:
        folder = os.path.join(user_cache_dir("jaxgpu_tune"), part)
    except RuntimeError:  # of newer releases of platformdirs; older ones give a relative path
        return None
    return folder if os.path.isabs(folder) else None
