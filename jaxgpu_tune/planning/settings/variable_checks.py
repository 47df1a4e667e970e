"""Whether the library that reads a variable can read its value, and whether its name is one that any reads.

NCCL takes ``NCCL_NVLS_ENABLE=true`` for 0, and fails its first communicator on a member of NCCL_PROTO that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...knowledge import options
from ...knowledge.families import acts
from ...knowledge.variables import VariableSpec, instead_of, is_spelt, misspelt, unread, variable
from ...model import Finding
from ..base.stray import unwrapped
from . import pool_variables
from .pool_variables import MEANT_OFF, MEANT_ON, Checked
from .setting_names import GUARD_OPTIONS, VISIBLE

__all__ = ["check_variable", "name_finding"]

OWN = "JAXGPU_TUNE"
DEVICE, NO_DEVICES = r"[ \t\n\v\f\r]*[+-]?[0-9]|GPU-|MIG-", "NoDevFiles"
SLICES = VISIBLE + "={!r}: CUDA gives a process one MIG slice, so the others stay idle."
ONE_SLICE = "Start a process for each slice, and name its own slice alone there."
"""https://github.com/jax-ml/jax/issues/15843"""
NUMBER = r"\s*[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)\s*"


def check_variable(name: str, value: str | None, jaxlib: str | None, unified: bool) -> Checked:
    """What its reader makes of one variable; variables of which nothing is known pass as they are."""
    plain = unwrapped(value) if value and acts(name, "exact") and name != VISIBLE else value
    if plain != value:
        found = check_variable(name, plain, jaxlib, unified)
        wrong = f"{name}={value!r} is read with what stands around the value; {found.value!r} is used."
        return found if found.problem else found._replace(note=wrong)
    if name == VISIBLE:
        return _devices(value)
    spec = variable(name)
    if spec is None or value is None or not value.strip():
        return pool_variables.check_pool_variable(name, value, jaxlib, unified)
    return {"number": _number, "list": _list, "word": _word}[spec.reads](spec, value)


def _devices(value: str | None) -> Checked:
    """CUDA_VISIBLE_DEVICES: the list ends at the first member that can name no device; it stays, since others mean it."""
    members = (value or "").split(",") if value and value.strip() and value != NO_DEVICES else []
    wrong = next((member for member in members if not re.match(DEVICE, member)), None)
    if wrong is None:
        return (
            Checked(value)
            if not _several_slices(members)
            else Checked(value, note=SLICES.format(value), hint=ONE_SLICE)
        )
    note = f"{VISIBLE}={value!r}: {wrong!r} names no device, and CUDA reads no further: it and those behind it are not visible."
    return Checked(
        value, note=note, hint="Allowed: numbers such as 0,1, or names GPU-… or MIG-… as nvidia-smi -L lists them."
    )


def _several_slices(members: Sequence[str]) -> bool:
    return len(members) > 1 and any(member.startswith("MIG-") for member in members)


def name_finding(name: str, jax: str | None) -> Finding | None:
    """A finding if the name is close to that of a variable, but none that is read, or one of an option that jax reads no variable for."""
    option, read = name.lower(), instead_of(name)
    if read is not None:
        return Finding("variable-without-reader", "warning", f"jaxlib does not read {name}.", f"It reads {read}.")
    if name.startswith("JAX_") and options.known(option):
        spec = options.option(option, jax)
        return None if spec is None or spec.env else _without_reader(name, jax)
    meant = misspelt(name, [known.upper() for known in options.names(jax)] if name.startswith("JAX_") else ())
    if name.startswith(OWN) and not is_spelt(name):
        hint = f"Did you mean {meant}?" if meant else f"Its variables are {OWN}, {OWN}_PRESET and {OWN}_MACHINE."
        return Finding("unknown-variable", "warning", f"jaxgpu_tune reads no variable {name}.", hint)
    if meant is not None:
        message = f"No library is known to read {name}; {meant} is one that is read."
        return Finding("unknown-variable", "warning", message, f"Did you mean {meant}?")
    instead = unread(name)
    return (
        Finding("variable-without-reader", "warning", f"Nobody is known to read {name}.", instead) if instead else None
    )


def _without_reader(name: str, jax: str | None) -> Finding:
    message = f"jax {jax or ''} does not read {name}: the option has no variable.".replace("  ", " ")
    hint = f"Pass jax_config={{{name.lower()!r}: …}} to configure()."
    if name.lower() in GUARD_OPTIONS:
        message = f"{name} has no effect: jax sets the option to what JAX_TRANSFER_GUARD says, or to none."
    return Finding("variable-without-reader", "warning", message, hint)


def _number(spec: VariableSpec, value: str) -> Checked:
    word = value.strip().lower()
    if word in MEANT_ON + MEANT_OFF:
        meant = "1" if word in MEANT_ON else "0"
        note = f"{spec.name}={value!r}: it is read as a number, and {value!r} is none; {meant} is used."
        return Checked(meant, note=note)
    if not re.fullmatch(NUMBER, value):
        problem = f"{spec.name}={value!r} is not a whole number; what follows the digits is dropped, and no digits count as 0 or not at all."
        return Checked(value, problem, f"Allowed: {_range(spec)}, without a unit.")
    number = int(value, 16) if "x" in value.lower() else int(value)
    if (spec.lowest is not None and number < spec.lowest) or (spec.highest is not None and number > spec.highest):
        return Checked(value, f"{spec.name}={value} is out of range.", f"Allowed: {_range(spec)}.")
    return Checked(value)


def _range(spec: VariableSpec) -> str:
    return "whole numbers" if spec.lowest is None else f"whole numbers from {spec.lowest} to {spec.highest}"


def _list(spec: VariableSpec, value: str) -> Checked:
    """Members in any case, all but those after a ^, and from NCCL 2.24 on per collective: ``allreduce:ring;broadcast:^tree``."""
    close = re.sub(r"\s+", "", value)
    known = {member.lower() for member in spec.values}
    lists = [part.rsplit(":", 1)[-1].lstrip("^") for part in close.split(";")]
    wrong = [member for part in lists for member in part.split(",") if member and member.lower() not in known]
    if wrong:
        shown = ", ".join(map(repr, wrong))
        problem = f"{spec.name}={value!r}: NCCL knows no {shown}, and then the first communication between GPUs fails."
        joined = "joined by commas, with ^ before the list: all but these"
        return Checked(value, problem, f"Allowed: {', '.join(spec.values)}, {joined}.")
    note = f"{spec.name}={value!r}: NCCL knows no name with a blank; {close!r} is used."
    return Checked(close, note="" if close == value else note)


def _word(spec: VariableSpec, value: str) -> Checked:
    if value in spec.values or (spec.any_case and value.upper() in spec.values):
        return Checked(value)
    if value.upper() in spec.values:
        note = f"{spec.name}={value!r} is written {value.upper()}, which is used."
        return Checked(value.upper(), note=note)
    return Checked(value, f"{spec.name}={value!r} is not valid.", f"Allowed: {', '.join(spec.values)}.")
