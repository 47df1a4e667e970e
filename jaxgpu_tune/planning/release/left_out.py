"""What a build does not take of what is wished: left out with the reason, or the problem of an argument."""

from __future__ import annotations

from ...errors import BadFlagValue, BadSetting, UnknownFlag
from ...knowledge import flags as known
from ...model import Finding, Severity
from ...wording import capital, likeness
from ..base.wish import Outcome, Wish, wrong_argument
from .target import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...knowledge.options import OptionSpec


__all__ = ["no_such_flag", "no_such_option", "refused", "undefined", "unreadable"]


def _left_out(wish: Wish, reason: str, *told: Finding) -> Outcome:
    """What is set already is dropped; of what is wished nothing is there."""
    return wish.left_out("dropped" if wish.origin == "existing" else "absent", reason, *told)


def no_such_flag(wish: Wish, target: Target) -> Outcome:
    name = wish.name
    if not target.releases:
        reason = "no jaxlib is known, so nothing can be known to be accepted"
        return wish.left_out("absent", reason)
    why = _why_absent(name, target)
    if wish.origin == "argument" and not known.known(name):
        return wrong_argument(UnknownFlag, "unknown-flag", f"--{name}: {why}.", _closest_hint(name, target))
    reason = f"{why}; it would end the process"
    if wish.is_offered and known.known(name):
        return _left_out(wish, reason)
    message = f"--{name}{_of_file(wish)} is left out: {why}; XLA would end the process."
    return _left_out(wish, reason, Finding("unknown-flag", "warning", message, _closest_hint(name, target)))


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
    exists = "exists" if lives[-1][1] is None else "existed"
    return f"{target.without(name)} has no such flag (it {exists} in jaxlib {spans})"


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
        return f"Did you mean --{ever}? {capital(_why_absent(ever, target))}: see `jaxgpu-tune explain {ever}`."
    return f"Did you mean --{near}?" if near and near != name else ""


def undefined(wish: Wish, target: Target) -> Outcome:
    """What a release reads through a stale pointer: jaxlib 0.4.35 ends at jax.devices() with the flag alone in XLA_FLAGS."""
    why = f"{target.label} writes the value of --{wish.name} to an undefined place in memory, which can end the process (seen on 0.4.35)"
    if wish.origin == "argument":
        return wrong_argument(BadFlagValue, "bad-flag-value", f"{why}.", "Update jaxlib, or leave the flag out.")
    message = f"--{wish.name}={wish.value} is left out: {why}."
    hint = "Take the flag out, or update jaxlib to 0.9.1 or newer."
    return wish.left_out("dropped", why, Finding("undefined-unrolling", "warning", message, hint))


def refused(wish: Wish, refusal: str, target: Target) -> Outcome:
    if wish.origin == "argument":
        return wrong_argument(BadFlagValue, "bad-flag-value", refusal)
    if wish.is_offered and target.is_taken_elsewhere(wish.name, str(wish.value)):
        return _left_out(wish, refusal)
    inherited = wish.origin == "existing"
    severity: Severity = "error" if inherited else "warning"
    hint = "Correct it where XLA_FLAGS is set." if inherited else f"Correct it in {wish.source}."
    outcome = target.outcome(wish.name, wish.value)
    told = Finding("bad-flag-value", severity, f"{refusal} It is left out: {outcome}.", hint)
    return _left_out(wish, refusal, told)


def unreadable(wish: Wish, spec: OptionSpec, wrong: ValueError) -> Outcome:
    if wish.origin == "argument":
        return wrong_argument(BadSetting, "bad-option-value", str(wrong))
    return wish.left_out("dropped", str(wrong), Finding("bad-option-value", "error", _taken_out(wish, spec, wrong)))


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
            return wrong_argument(BadSetting, "unknown-option", message, hint)
        told = (Finding("unknown-option", "warning", message, hint),)
    if wish.origin in ("argument", "request") and release:
        told = (*told, Finding("option-absent", "warning", f"{name} is left out: {reason}."))
    return wish.left_out("absent", reason, *told)
