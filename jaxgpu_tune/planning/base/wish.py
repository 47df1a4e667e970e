"""What flows through the planning stages: what is inherited, wishes, and the decisions and findings made on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...errors import JaxGpuTuneError
from ...model import Decision, Finding, SettingKind
from ...values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Origin = Literal["argument", "existing", "preset", "request"]
else:
    Origin = str


__all__ = ["Adapted", "InheritedFlag", "Origin", "Problem", "Repaired", "Stream", "Wish", "collect"]


class InheritedFlag(Value):
    """One flag that the user's XLA_FLAGS holds.

    ``text``: as written, or as repaired (``repaired``). ``known`` False: the build has no such flag
    and nothing translates it, so it must not be passed on; ``closest`` is the nearest name.
    """

    name: str
    value: str | None
    text: str
    repaired: bool = False
    known: bool = True
    closest: str | None = None


class Repaired(Value):
    """The flags in their order, the findings, and why the text as it stands ends the process whatever the build (or None)."""

    flags: tuple[InheritedFlag, ...] = ()
    findings: tuple[Finding, ...] = ()
    fatal: str | None = None


class Wish(Value):
    """One setting in the words of the build to plan for, and who wants it.

    ``value``: the decoded text of a flag or variable, the typed value of an option, None to remove;
    ``text``: the flag exactly as the user wrote it, where it was inherited undamaged; ``translated``: it stands for another.
    ``given``: its own value, ``+X`` or ``-X``, where ``value`` is what it leaves of the list before it.
    """

    kind: SettingKind
    name: str
    value: Any
    origin: Origin
    reason: str
    source: str
    text: str | None = None
    translated: bool = False
    given: str | None = None


class Problem(Value):
    """An argument that is wrong: the call raises, with the ``error`` class if all its problems have one."""

    finding: Finding
    error: type[JaxGpuTuneError]


if TYPE_CHECKING:
    Stream = Iterator[Wish | Decision | Finding | Problem]
else:
    Stream = Iterator


class Adapted(Value):
    """What a stage gives on: wishes that hold so far, and what was decided and found about the others."""

    wishes: tuple[Wish, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def collect(stream: Iterable[object]) -> Adapted:
    """Sort a stage's output by what it is, each in its order."""
    items = tuple(stream)
    return Adapted(
        tuple(item for item in items if isinstance(item, Wish)),
        tuple(item for item in items if isinstance(item, Decision)),
        tuple(item for item in items if isinstance(item, Finding)),
        tuple(item for item in items if isinstance(item, Problem)),
    )
