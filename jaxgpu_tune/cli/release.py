"""Which release of the tables a version on the command line means."""

from __future__ import annotations

import sys

from ..errors import BadSetting
from ..knowledge.flags import resolve
from ..wording import bad_argument
from .output import say

__all__ = ["checked_version", "release_of"]


def checked_version(version: str) -> str:
    """The version. Raises BadSetting where it cannot be one."""
    from ..model import Machine

    try:
        Machine.from_dict({"jaxlib": version})
    except BadSetting:
        raise bad_argument(f"{version!r} is no version of jaxlib.", 'Allowed: a version such as "0.11.2".') from None
    return version


def release_of(version: str | None, *, exact: bool = False) -> str:
    """The known release that stands for the version asked for or installed; says so where it is not the same.

    Raises BadSetting where none is asked for and none is installed, for what is no version, and with ``exact`` for what is in no table.
    """
    if version is None:
        from ..api import detect

        version = detect().jaxlib
    if version is None:
        raise bad_argument("No jaxlib is installed here.", "Name a release with --jaxlib.")
    checked_version(version)
    found = resolve(version)
    if exact and not found.exact:
        raise bad_argument(f"jaxlib {version} is in no table.", f"The nearest that is: {found.release}.")
    if not found.exact:
        say(f"jaxlib {version} is in no table; these are the flags of {found.release}.", sys.stderr)
    return found.release
