"""The variables of the GPU memory pool: what the CUDA plugin would refuse never leaves, since JAX then runs on the CPU in silence.

Facts: jaxlib/xla_client.py reads them when the backend starts (``knowledge/data/memory.toml``).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...knowledge import pool as facts
from ...model import Decision, Finding, Severity
from ...values import Value
from ...wording import did_you_mean, is_true, nearest
from ..base.wish import Outcome, Wish

__all__ = [
    "ALLOCATOR",
    "COLLECTIVE_POOL",
    "FRACTION_NAMES",
    "MEANS_FALSE",
    "NEW_FRACTION",
    "OLD_FRACTION",
    "PREALLOCATE",
    "UNIFIED",
    "Checked",
    "check_pool_variable",
    "fraction_name",
    "fraction_set",
    "has_unified_memory",
    "is_unread",
    "meant_fraction",
    "one_fraction",
]

OLD_FRACTION, NEW_FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
FRACTION_NAMES = (OLD_FRACTION, NEW_FRACTION)
PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"
ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
COLLECTIVE_POOL = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
UNIFIED = "TF_FORCE_UNIFIED_MEMORY"
MEANS_FALSE = ("false", "False", "0")
MEANT_ON, MEANT_OFF = ("true", "yes", "on", "y", "t"), ("false", "no", "off", "n", "f")
ON_CPU = "JAX would run on the CPU or fail."
ANY_FRACTION = "Allowed: above 0 and at most 1, for example 0.75."


class Checked(Value):
    """A variable's value as it may be emitted, or the ``problem`` that forbids it; ``note``: it was repaired."""

    value: str | None
    problem: str = ""
    hint: str = ""
    note: str = ""


def check_pool_variable(name: str, value: str | None, jaxlib: str | None, unified: bool) -> Checked:
    """What the CUDA plugin makes of one variable; other variables pass as they are."""
    if value is None:
        return Checked(value)
    if name == ALLOCATOR:
        return _check_allocator(value, jaxlib)
    if name in facts.integers():
        return _check_integer(name, value)
    if name in FRACTION_NAMES:
        return _check_fraction(name, value, unified)
    return SWITCHES[name](value) if name in SWITCHES else Checked(value)


def _check_fraction(name: str, value: str, unified: bool) -> Checked:
    if value == "":
        return Checked(value)
    wrong = f"{name}={value!r} is not a fraction of the GPU's memory; {ON_CPU}"
    try:
        number = float(value)
    except ValueError:
        return Checked(value, wrong, meant_fraction(value))
    if not number > 0 or number == float("inf"):
        return Checked(value, wrong, ANY_FRACTION)
    if number > 1 and not unified:
        more = f"{name}={value} asks for more than the whole GPU, which only unified memory can give."
        return Checked(value, more, f"{meant_fraction(value)} With {UNIFIED}=true more than 1 is allowed.")
    return Checked(value)


def meant_fraction(value: str) -> str:
    """The sentence that names the ratio that a text was probably meant to be: 90 is a percentage, 3.2 is for unified memory."""
    try:
        number = float(value.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return ANY_FRACTION
    percent = 0 < number < 100 and (number >= 10 or value.strip().endswith("%"))
    meant = number / 100 if percent else number if 0 < number <= 1 else 0.75
    return f"Did you mean {meant:g}? It is a ratio: 0.75 is three quarters of the whole GPU."


def has_unified_memory(environ: Mapping[str, str | None]) -> bool:
    """Whether TensorFlow's variable, which the plugin reads, asks for memory that may exceed the GPU's."""
    return is_true(environ.get(UNIFIED))


def _check_unified(value: str) -> Checked:
    if value.lower() in ("", "0", "1", "false", "true"):
        return Checked(value)
    meant = "false" if value.strip().lower() in ("0", *MEANT_OFF) else "true"
    problem = f"{UNIFIED}={value!r} is none of true, false, 1 and 0: XLA takes it for false."
    return Checked(value, problem, f"Did you mean {meant}?")


def _check_preallocate(value: str) -> Checked:
    plain = value.strip().lower()
    if value in MEANS_FALSE or plain in ("", "1", *MEANT_ON):
        return Checked(value)
    if plain not in ("0", *MEANT_OFF):
        doubt = f"{PREALLOCATE}={value!r} means true to jaxlib, as does every word but 'false', 'False' and '0'."
        near = nearest(plain, ("false", "true"))
        return Checked(value, note=doubt, hint=f"Did you mean {near}?" if near else "Write true or false.")
    note = f"{PREALLOCATE}={value!r} means true to jaxlib, which knows only 'false', 'False' and '0'; 'false' is used."
    return Checked("false", note=note)


def _check_allocator(value: str, jaxlib: str | None) -> Checked:
    name = facts.allocator_alias(value.strip().lower())
    allowed = facts.allocators(jaxlib)
    if name in allowed:
        note = "" if name == value.lower() else f"{ALLOCATOR}={value!r} is no allocator's name; {name!r} is used."
        return Checked(name if note else value, note=note)
    problem = f"{ALLOCATOR}={value!r} is no allocator of jaxlib {jaxlib}; {ON_CPU}"
    near = "Other releases have it." if name in facts.allocators(None) else did_you_mean(name, allowed)
    return Checked(value, problem, f"Allowed: {', '.join(allowed)}. {near}".rstrip())


def _check_integer(name: str, value: str) -> Checked:
    known = facts.integers()[name]
    if value == "" and known["empty"] == "unset":
        return Checked(value)
    try:
        number = int(value)
    except ValueError:
        return Checked(value, f"{name}={value!r} is not a whole number; {ON_CPU}")
    if "highest" in known and not 0 <= number <= int(known["highest"]):
        return Checked(value, f"{name}={value} is out of range; {ON_CPU}", "Allowed: a number of MiB, such as 512.")
    return Checked(value)


SWITCHES = {PREALLOCATE: _check_preallocate, UNIFIED: _check_unified}


def one_fraction(environ: Mapping[str, str], jaxlib: str | None) -> Outcome:
    """Both fraction names set is an error to jaxlib, and a name it does not read is none: which is taken out, and why."""
    given = [name for name in FRACTION_NAMES if environ.get(name)]
    reads_new = facts.reads_new_fraction(jaxlib)
    loser, winner = (OLD_FRACTION, NEW_FRACTION) if reads_new else (NEW_FRACTION, OLD_FRACTION)
    if loser not in given or (reads_new and len(given) < 2):
        return Outcome()
    wishes: tuple[Wish, ...] = ()
    unread = f"jaxlib {jaxlib} does not read it"
    severity: Severity = "error" if reads_new else "warning"
    if reads_new:
        reason = f"both fraction variables are set, which JAX answers by running on the CPU; {winner}={environ[winner]} stays"
    elif len(given) == 2:
        reason = f"{unread}; {winner}={environ[winner]} stays"
    else:
        reason = f"{unread}; {winner}={environ[loser]} is used instead"
        wishes = (Wish("env", winner, environ[loser], "existing", f"stands for {loser}", "environment"),)
    decision = Decision("env", loser, None, "dropped", reason, "environment", "existing")
    hint = "Set one of the two." if len(given) == 2 else f"Write {winner}={environ[loser]} from now on."
    told = Finding("two-fractions", severity, f"{loser}={environ[loser]} is taken out: {reason}.", hint)
    return Outcome(wishes, (decision,), (told,))


def is_unread(name: str, jaxlib: str | None) -> bool:
    """Whether it is the newer name of the fraction, and the release reads the older one alone."""
    return name == NEW_FRACTION and not facts.reads_new_fraction(jaxlib)


def fraction_set(environ: Mapping[str, str]) -> str:
    """The name by which the fraction is set, the older one first; empty where it is not."""
    return next((name for name in FRACTION_NAMES if environ.get(name)), "")


def fraction_name(environ: Mapping[str, str], jaxlib: str | None) -> str:
    """The one name to use: the user's own where this jaxlib reads it, else the newest that it reads."""
    if not facts.reads_new_fraction(jaxlib):
        return OLD_FRACTION
    return OLD_FRACTION if environ.get(OLD_FRACTION) and not environ.get(NEW_FRACTION) else NEW_FRACTION
