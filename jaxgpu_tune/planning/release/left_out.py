"""What a build does not take of what is wished: left out with the reason, or the problem of an argument."""

from __future__ import annotations

from ...errors import BadFlagValue, BadSetting, UnknownFlag
from ...knowledge import flags as known
from ...model import Finding, Severity, Status
from ...wording import likeness
from ..base.wish import Outcome, Problem, Wish
from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...knowledge.options import OptionSpec


__all__ = ["no_such_flag", "no_such_option", "refused", "undefined", "unreadable"]


def _left_out(wish: Wish, reason: str, finding: Finding | None) -> Outcome:
    """What is set already is dropped; of what is wished nothing is there."""
    status: Status = "dropped" if wish.origin == "existing" else "absent"
    return Outcome((), (wish.decided(None, status, reason),), () if finding is None else (finding,))


def no_such_flag(wish: Wish, target: Target) -> Outcome:
    name = wish.name
    if not target.releases:
        reason = "no jaxlib is known, so nothing can be known to be accepted"
        return Outcome((), (wish.decided(None, "absent", reason),))
    why = _why_absent(name, target)
    if wish.origin == "argument" and not known.known(name):
        finding = Finding("unknown-flag", "error", f"--{name}: {why}.", _closest_hint(name, target))
        return Outcome(problems=(Problem(finding, UnknownFlag),))
    told = None
    if not wish.is_offered or not known.known(name):
        message = f"--{name}{_of_file(wish)} is left out: {why}; XLA would end the process."
        told = Finding("unknown-flag", "warning", message, _closest_hint(name, target))
    return _left_out(wish, f"{why}; it would end the process", told)


def _of_file(wish: Wish) -> str:
    """Where a mistake of a preset stands."""
    return f" ({wish.source})" if wish.is_offered else ""


def _why_absent(name: str, target: Target) -> str:
    lives = known.life(name)
    if name in target.refused:
        return "the installed binary refuses it"
    if not lives:
        return f"no XLA flag of {target.label} has that name"
    spans = ", ".join(f"{first} to {last}" if last else f"{first} on" for first, last in lives)
    return f"{target.label} has no such flag (it existed in jaxlib {spans})"


def _told_as_it_is(name: str) -> str:
    from ...knowledge.real_names import real_name

    real = real_name(name)
    return real.sentence if real else ""


def _closest_hint(name: str, target: Target) -> str:
    """The flag that was probably meant. A name that is something is no other one misspelt."""
    if known.known(name):
        return "" if name in target.refused else f"`jaxgpu-tune explain {name}` tells what is known of it."
    if real := _told_as_it_is(name):
        return real
    near = known.closest_flag(name, target.releases[0])
    ever = known.closest_ever(name)
    if ever and target.flag(ever) is None and likeness(name, ever) > likeness(name, near or ""):
        return f"Did you mean --{ever}? {_why_absent(ever, target)[0].upper()}{_why_absent(ever, target)[1:]}: see `jaxgpu-tune explain {ever}`."
    return f"Did you mean --{near}?" if near and near != name else ""


def undefined(wish: Wish, target: Target) -> Outcome:
    """What a release reads through a stale pointer: jaxlib 0.4.35 ends at jax.devices() with the flag alone in XLA_FLAGS."""
    why = f"{target.label} writes the value of --{wish.name} to a place in memory that is chance, which can end the process (seen on 0.4.35)"
    if wish.origin == "argument":
        finding = Finding("bad-flag-value", "error", f"{why}.", "Update jaxlib, or leave the flag out.")
        return Outcome(problems=(Problem(finding, BadFlagValue),))
    message = f"--{wish.name}={wish.value} is left out: {why}."
    hint = "Take the flag out, or update jaxlib to 0.9.1 or newer."
    told = Finding("undefined-unrolling", "warning", message, hint)
    return Outcome((), (wish.decided(None, "dropped", why),), (told,))


def refused(wish: Wish, refusal: str, target: Target) -> Outcome:
    if wish.origin == "argument":
        return Outcome(problems=(Problem(Finding("bad-flag-value", "error", refusal), BadFlagValue),))
    if wish.is_offered and target.is_taken_elsewhere(wish.name, str(wish.value)):
        return _left_out(wish, refusal, None)
    inherited = wish.origin == "existing"
    severity: Severity = "error" if inherited else "warning"
    hint = "Correct it where XLA_FLAGS is set." if inherited else f"Correct it in {wish.source}."
    outcome = target.outcome(wish.name, wish.value)
    told = Finding("bad-flag-value", severity, f"{refusal} It is left out: {outcome}.", hint)
    return _left_out(wish, refusal, told)


def unreadable(wish: Wish, spec: OptionSpec, wrong: ValueError) -> Outcome:
    if wish.origin == "argument":
        return Outcome(problems=(Problem(Finding("bad-option-value", "error", str(wrong)), BadSetting),))
    finding = Finding("bad-option-value", "error", _taken_out(wish, spec, wrong))
    return Outcome((), (wish.decided(None, "dropped", str(wrong)),), (finding,))


def _taken_out(wish: Wish, spec: OptionSpec, wrong: ValueError) -> str:
    if wish.origin != "existing":
        return f"{wrong} It is left out; correct it in {wish.source}."
    end = "JAX would not start" if spec.type in ("string", "object") else "`import jax` would raise"
    return f"{wish.name.upper()}: {wrong} {end}; it is taken out."


def no_such_option(wish: Wish, target: Target) -> Outcome:
    from ...knowledge import options

    name, release = wish.name, target.jax_release
    reason = f"jax {release} has no such option" if release else "no jax is known"
    told: tuple[Finding, ...] = ()
    if wish.origin != "existing" and release and not options.known(name):
        near = options.closest_option(name, release)
        hint = _told_as_it_is(name) or (f"Did you mean {near}?" if near else "")
        message = f"{name}{_of_file(wish)}: {reason}, nor has any other release."
        if wish.origin == "argument":
            return Outcome(problems=(Problem(Finding("unknown-option", "error", message, hint), BadSetting),))
        told = (Finding("unknown-option", "warning", message, hint),)
    if wish.origin in ("argument", "request") and release:
        told = (*told, Finding("option-absent", "warning", f"{name} is left out: {reason}."))
    return Outcome((), (wish.decided(None, "absent", reason),), told)
