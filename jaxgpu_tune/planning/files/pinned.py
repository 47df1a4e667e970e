"""The release of JAX that a file installs itself, as Dockerfiles and job scripts do: what they set is meant for that one."""

from __future__ import annotations

import re

from ...knowledge.flags import resolve
from ...model import Finding
from ...values import Value

__all__ = ["Pin", "pin_in"]

COMMENT = re.compile(r"(?:^|\s)(?:#|//)")
PIN = re.compile(r"(?<![\w./-])(jaxlib|jax)(?:\[[\w, -]*\])?\s?={1,3}\s?(\d+\.\d+\.\d+(?:\.\d+)*)(?!\w|\.?\*)")
"""Of pip and uv (``jax[cuda12]==0.4.30``) and of conda (``jaxlib=0.4.30=*cuda*``), where it leaves no choice."""


class Pin(Value):
    """A release that a file installs, and where it says so. ``package``: jax or jaxlib."""

    at: int
    package: str
    version: str

    @property
    def jaxlib(self) -> str:
        """The jaxlib that comes with it: not every release of jax has one of its own number."""
        found = resolve(self.version)
        return found.neighbours[0] if found.exact or len(found.neighbours) > 1 else self.version

    def finding(self, here: str | None) -> Finding:
        """What is said of it. ``here``: the jaxlib that counts without it."""
        other = f", not for {here}, which is here" if here else ""
        message = f"{self.package} {self.version} is installed by this line, so the file is judged for jaxlib {self.jaxlib}{other}."
        return Finding("judged-for-pin", "note", message, "For another release pass --jaxlib VERSION.")


def pin_in(text: str) -> Pin | None:
    """The jaxlib, else the jax, that a file installs; None where it names none, or several."""
    pins = [
        Pin(line.start() + found.start(), found[1], found[2])
        for line in re.finditer(".+", text)
        for found in PIN.finditer(COMMENT.split(line[0], maxsplit=1)[0])
    ]
    chosen = [pin for pin in pins if pin.package == "jaxlib"] or pins
    return chosen[0] if len({pin.version for pin in chosen}) == 1 else None
