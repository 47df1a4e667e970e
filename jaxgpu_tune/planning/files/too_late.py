"""What is said of a setting that does not count as it stands in a Python program."""

from __future__ import annotations

from collections.abc import Callable

from ...model import Finding
from ...values import Value

__all__ = ["CONFIGURE", "CONFIGURED", "INITIALIZE", "RAISES", "Happened", "SetLate"]

CONFIGURE, CONFIGURED, INITIALIZE = (
    "configure()",
    "The function under @configured",
    "jax.distributed.initialize()",
)
RAISES = {
    CONFIGURE: "it would raise TooLate",
    CONFIGURED: "it would raise TooLate",
    INITIALIZE: "it raises RuntimeError",
}
"""What must be called before JAX starts, and what it does later (https://github.com/jax-ml/jax/issues/18237)."""
_ADDS = {
    "over": "takes out what configure() has set",
    "unless": "acts only where nothing else has set it, as configure() does",
}


class Happened(Value):
    """What JAX did, or CUDA, and by which line: a call, or the import."""

    line: int
    what: str
    whose: str = "JAX"


class SetLate(Value):
    """One setting that does not count as it stands. ``name``: of the variable or option, or one of ``RAISES``. ``children``: the program may start others, which see it.

    ``by``: the call that sets XLA_FLAGS, where the program does not name it. ``way``: "over" if all of XLA_FLAGS is assigned behind configure(), "unless" if that is done only where nothing has set it; empty: it is late.
    """

    line: int
    name: str
    cause: Happened
    children: bool = False
    way: str = ""
    by: str = ""

    def finding(self, place: Callable[[int], str] = "line {}".format) -> Finding:
        """What is said of it. ``place``: how a line of the program is called."""
        where = place(self.cause.line)
        if self.way:
            message = f"{self.name} is set here, behind configure() ({where}). This {_ADDS[self.way]}."
            hint = "Pass flags={…} to configure() instead, or set it above configure(), which keeps what is there."
            return Finding("set-beside-configure", "error" if self.way == "over" else "warning", message, hint)
        if self.name in RAISES:
            message = f"{self.name} is called after JAX has started ({where}: {self.cause.what}): {RAISES[self.name]}."
            return Finding("too-late", "error", message, "Call it before the first use of a device.")
        subject, verb = (f"{self.by} sets {self.name}", "Call") if self.by else (f"{self.name} is set", "Set")
        if self.cause.what.startswith(("import ", "from ")):
            message = f"{self.name} is set after `{self.cause.what}` ({where}), which has read it"
            hint = f"Set it above that line, or write jax.config.update({self.name.lower()!r}, …)."
        else:
            message = f"{subject} after {self.cause.whose} has started ({where}: {self.cause.what}), which does not read it again"
            hint = f"{verb} it above that line."
        if self.children:
            return Finding("too-late", "warning", f"{message}; only processes that are started later see it.", hint)
        return Finding("too-late", "error", f"{message}.", hint)
