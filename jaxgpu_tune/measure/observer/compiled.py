"""What the functions that a program calls were compiled to: a fingerprint of it, and what kind of program it is.

Two runs whose settings differ in nothing but what the compiled program shows need not both be measured if it is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256

from .facts import started_jax
from .program_kind import kinds_of

__all__ = ["Compiled", "compiled_name"]


class Compiled:
    """``fingerprint``: of all that is called, empty while a part of it is not known; ``kinds``: of the largest."""

    def __init__(self) -> None:
        self.fingerprint = ""
        self.kinds: tuple[str, ...] = ()
        self._looked: object = None

    def look(self, names: Iterable[str], compilations: int) -> bool:
        """Look at the functions of these names, unless that was done since the last compilation; whether there is something new."""
        wanted = frozenset(names)
        if not wanted or (wanted, compilations) == self._looked:
            return False
        self._looked = (wanted, compilations)
        texts = sorted(_texts({compiled_name(name) for name in wanted}))
        self.kinds = kinds_of(max((text for _, text in texts), key=len, default=""))
        whole = {name for name, _ in texts} == {compiled_name(name) for name in wanted}
        self.fingerprint = sha256("\0".join(text for _, text in texts).encode()).hexdigest()[:16] if whole else ""
        return True


def compiled_name(function: str) -> str:
    """The name of the program that jax makes of a function, without underscores at its end, which some releases take off."""
    return "jit_" + re.sub(r"[^\w.-]", "_", function).rstrip("_")


def _texts(wanted: set[str]) -> Iterator[tuple[str, str]]:
    """Name and optimised text of each program that is loaded under one of these names; nothing before the backend has started."""
    jax = started_jax()
    if jax is None:
        return
    for executable in jax.local_devices()[0].client.live_executables():
        for module in executable.hlo_modules():
            name = module.name.rstrip("_")
            if name in wanted:
                yield name, module.to_string()
