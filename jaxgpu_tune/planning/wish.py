"""What flows through the planning stages: wishes, and the decisions and findings made on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..model import Decision, Finding, SettingKind

__all__ = ["Adapted", "Origin", "Wish", "collect"]

Origin = Literal["argument", "existing", "preset"]


@dataclass(frozen=True)
class Wish:
    """One setting in the words of the build to plan for, and who wants it.

    ``value``: the decoded text of a flag or variable, the typed value of an option, None to remove;
    ``text``: the flag exactly as the user wrote it, where it was inherited undamaged.
    """

    kind: SettingKind
    name: str
    value: Any
    origin: Origin
    reason: str
    source: str
    text: str | None = None


@dataclass(frozen=True)
class Adapted:
    """What a stage gives on: wishes that hold so far, and what was decided and found about the others."""

    wishes: tuple[Wish, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()


def collect(stream: Iterable[Wish | Decision | Finding]) -> Adapted:
    """Sort a stage's output by what it is, each in its order."""
    items = tuple(stream)
    return Adapted(
        tuple(item for item in items if isinstance(item, Wish)),
        tuple(item for item in items if isinstance(item, Decision)),
        tuple(item for item in items if isinstance(item, Finding)),
    )
