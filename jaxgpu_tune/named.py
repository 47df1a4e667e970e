"""What a call names in files, as values: read once before planning (``host/looked_up.py``), so that planning reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from .values import EMPTY, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import Finding, Preset

__all__ = ["Named"]

Found: TypeAlias = "Preset | tuple[Finding, ...]"
Files: TypeAlias = Mapping[str, Found]
Kind: TypeAlias = Literal["file", "folder", "absent"]


class Named(Value):
    """What was found at the paths that calls name. ``presets``: of each file of a preset what it holds, or what is wrong with it.

    ``profiles``: of each profile what is there; one that is not in it is on another machine, so nobody looked.
    ``place``: the call's preset with whole paths, as another folder knows it; empty: as it is spelled.
    """

    presets: Files = EMPTY
    profiles: Mapping[str, Kind] = EMPTY
    place: str = ""
