"""A profile for one jitted function: its bytes as the compile option ``fdo_profile``, in place of a flag that names a file.

JAX hands that option to XLA beside the flags (``create_compile_options`` in
https://github.com/jax-ml/jax/blob/main/jax/_src/compiler.py), so the profile acts on this function alone, and its
content is part of the compilation cache's key, as a file's is not.
"""

from __future__ import annotations

import os
from typing import Any

from ..planning.settings.setting_names import PROFILE_FLAG
from .binary_form import print_binary
from .profile_files import read_profile

__all__ = ["OPTION", "with_profile"]

OPTION = "fdo_profile"


def with_profile(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the profile itself where they name its file; a folder of profiles stays named, as XLA picks from it.

    Raises BadSetting for a file that XLA could not read.
    """
    path = options.get(PROFILE_FLAG)
    if not path or os.path.isdir(path):
        return options
    rest = {name: value for name, value in options.items() if name != PROFILE_FLAG}
    return {**rest, OPTION: print_binary(read_profile(path))}
