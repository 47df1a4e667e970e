"""The environment that a plan leads to, for the commands that hand it on."""

from __future__ import annotations

import os
from typing import Any

from ..model import Report

__all__ = ["changes_of", "planned"]


def planned(preset: str, arguments: dict[str, Any], *, here: bool = False) -> tuple[Report, dict[str, str]]:
    """The report, and the complete environment of a fresh process with the marker that tells what was set here."""
    from ..api import fresh_environ

    return fresh_environ(preset, os.environ, here=here, **arguments)


def changes_of(final: dict[str, str]) -> dict[str, str | None]:
    """What to change in this process's environment to get ``final``; None: remove."""
    gone = dict.fromkeys(sorted(name for name in os.environ if name not in final))
    return {**{name: value for name, value in sorted(final.items()) if os.environ.get(name) != value}, **gone}
