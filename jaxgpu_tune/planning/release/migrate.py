"""The same intent for another jaxlib: flags renamed, dropped or restated, also where a name stays and its meaning moved."""

from __future__ import annotations

from ...knowledge.translations import changed_meaning
from ...model import Decision, Finding
from ...values import Value
from ..xla_flags.grammar import Token, quote
from .respell import respelled
from .target import Target

__all__ = ["Restated", "restated"]


class Restated(Value):
    """One flag as it has to be written there, with the decision and the finding where that is another way."""

    texts: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()


def restated(flag: Token, target: Target) -> Restated:
    """How a flag has to be written so that it means there what it meant before.

    What the target does not have, or whose value it refuses, is left to the plan, which translates it.
    """
    name, spec = str(flag.name), target.flag(str(flag.name))
    if flag.value is None or spec is None:
        return Restated((flag.text,))
    moved = changed_meaning("xla_flag", name, flag.value, target.releases[0])
    split = None
    if moved is None and spec.first_only:
        refused = target.refusal(name, flag.value) is not None
        split = respelled(spec, flag.value, target, refused=refused)
    stands = moved or split
    if stands is None:
        return Restated((flag.text,))
    texts = tuple(quote(name, value) for kind, name, value in stands.settings if kind == "xla_flag")
    reason, became = f"{target.label}: {stands.intent}", " ".join(texts) or None
    decision = Decision("xla_flag", name, became, "translated", reason, "XLA_FLAGS", "existing")
    return Restated(texts, (decision,), () if split is None else (_half_read(flag, target),))


def _half_read(flag: Token, target: Target) -> Finding:
    message = f"{target.label} would read only a part of {flag.text}: of several changes to a list it applies only the first, so each is said by itself."
    return Finding("flag-half-read", "warning", message, "Write each by itself from now on.")
