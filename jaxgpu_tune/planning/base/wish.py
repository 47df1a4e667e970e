"""What flows through the planning stages: the flags that are inherited, wishes, and what each stage makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import JaxGpuTuneError
from ...model import Decision, Finding, Origin, Setting, SettingKind, Status
from ...values import Value
from ...wording import setting_text
from ..xla_flags.grammar import Token

__all__ = ["YIELDS", "Outcome", "Problem", "Repaired", "Stated", "Wish", "together", "wish_of", "wrong_argument"]


YIELDS = "preset-yields"
"""The code of a finding: what is set already wins over a preset's setting."""


class Repaired(Value):
    """The flags in their order as they were meant, and the findings."""

    flags: tuple[Token, ...] = ()
    findings: tuple[Finding, ...] = ()


class Wish(Value):
    """One setting and who wants it; from ``adapt`` on in the words of the build to plan for.

    ``value``: the decoded text of a flag or variable, the typed value of an option, None to remove;
    ``text``: the flag exactly as the user wrote it, where it was inherited undamaged; ``translated``: it stands for another.
    ``given``: its own value, ``+X`` or ``-X``, where ``value`` is what it leaves of the list before it.
    ``argument``: the one of a call that asks for it.
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
    argument: str = ""

    @property
    def is_derived(self) -> bool:
        """Whether an argument such as ``cuda_graphs`` stands for it, so that nobody wrote its name."""
        return self.argument not in ("", "flags", "env", "jax_config")

    @property
    def is_offered(self) -> bool:
        """Whether nobody asked for it by name: a preset, or a fault of what is installed, brings it."""
        return self.origin in ("preset", "fault")

    @property
    def emitted(self) -> str | None:
        """The text that is emitted for its value."""
        is_text = self.value is None or isinstance(self.value, str)
        return self.value if is_text else setting_text(self.value)

    def decided(self, value: str | None, status: Status, reason: str) -> Decision:
        """The decision about it."""
        return Decision(self.kind, self.name, value, status, reason, self.source, self.origin)

    def left_out(self, status: Status, reason: str, *told: Finding) -> Outcome:
        """What comes of it where it is left out: the decision, and what is told of that."""
        return Outcome((), (self.decided(None, status, reason),), told)


def wish_of(setting: Setting, origin: Origin) -> Wish:
    """The wish for a setting as a preset or an argument states it."""
    argument = setting.argument
    return Wish(setting.kind, setting.name, setting.value, origin, setting.reason, setting.source, argument=argument)


class Stated(Value):
    """Settings as they are asked for, before the build is considered; what was decided and found about others."""

    settings: tuple[Setting, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()


class Problem(Value):
    """An argument that is wrong: the call raises, with the ``error`` class if all its problems have one."""

    finding: Finding
    error: type[JaxGpuTuneError]


class Outcome(Value):
    """What a stage gives on: wishes that hold so far, and what was decided and found about the others, each in its order."""

    wishes: tuple[Wish, ...] = ()
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def wrong_argument(error: type[JaxGpuTuneError], code: str, message: str, hint: str = "") -> Outcome:
    """What comes of an argument that is wrong: the call raises."""
    return Outcome(problems=(Problem(Finding(code, "error", message, hint), error),))


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Several as one, in their order."""
    all_of_them = tuple(outcomes)
    return Outcome(
        tuple(wish for one in all_of_them for wish in one.wishes),
        tuple(decision for one in all_of_them for decision in one.decisions),
        tuple(finding for one in all_of_them for finding in one.findings),
        tuple(problem for one in all_of_them for problem in one.problems),
    )
