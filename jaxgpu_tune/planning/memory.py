"""The variables of the GPU memory pool: what the CUDA plugin would refuse never leaves, since JAX then runs on the CPU in silence.

Facts: jaxlib/xla_client.py reads them when the backend starts (semantics 2.1 and 2.2); reports R31 to R47.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..knowledge.specifier import matches
from ..model import Decision, Finding, Machine, Preset, Setting
from ..values import Value
from .request import Request

__all__ = [
    "ALLOCATOR",
    "FRACTION_NAMES",
    "PREALLOCATE",
    "Checked",
    "check",
    "fraction_settings",
    "has_unified_memory",
    "one_fraction",
    "variables",
]

OLD_FRACTION, NEW_FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"
FRACTION_NAMES = (OLD_FRACTION, NEW_FRACTION)
NEW_FRACTION_SINCE = "0.4.36"
PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"
ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
INTEGERS = (
    "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB",
    "XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE",
    "XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT",
)
ALLOCATORS = {"default": "0", "platform": "0", "bfc": "0", "cuda_async": "0", "vmm": "0.10.0", "address": "0.11.0"}
ALLOCATOR_ALIASES = {"cuda_malloc_async": "cuda_async"}
UNIFIED = "TF_FORCE_UNIFIED_MEMORY"
MEANT_OFF = ("no", "off", "n", "f", "false")
SHARED_BY_PROCESSES = 0.9
"""What several processes on one GPU divide among them (R34)."""
RESERVE_BYTES = 2**30
"""Left to CUDA's context, cuBLAS and cuDNN; the same again to NCCL where there are several GPUs (R43)."""
HIGHEST_AUTO = 0.92


class Checked(Value):
    """A variable's value as it may be emitted, or the ``problem`` that forbids it; ``note``: it was repaired."""

    value: str | None
    problem: str = ""
    hint: str = ""
    note: str = ""


def variables() -> tuple[str, ...]:
    """Every variable that is checked whoever set it."""
    return (*FRACTION_NAMES, PREALLOCATE, ALLOCATOR, *INTEGERS)


def check(name: str, value: str | None, jaxlib: str | None, unified: bool) -> Checked:
    """What the CUDA plugin makes of one variable; other variables pass as they are."""
    if value is None or (value == "" and name in variables()):
        return Checked(value)
    if name in FRACTION_NAMES:
        return _check_fraction(name, value, unified)
    if name == PREALLOCATE:
        return _check_preallocate(value)
    if name == ALLOCATOR:
        return _check_allocator(value, jaxlib)
    if name in INTEGERS:
        return _check_integer(name, value)
    return Checked(value)


def _check_fraction(name: str, value: str, unified: bool) -> Checked:
    wrong = f"{name}={value!r} is not a fraction of the GPU's memory; JAX would run on the CPU or fail."
    try:
        number = float(value)
    except ValueError:
        return Checked(value, wrong, _meant(value))
    if not number > 0 or number == float("inf"):
        return Checked(value, wrong, "Allowed: above 0 and at most 1, for example 0.75.")
    if number > 1 and not unified:
        more = f"{name}={value} asks for more than the whole GPU, which only unified memory can give."
        return Checked(value, more, f"{_meant(value)} With {UNIFIED}=true more than 1 is allowed.")
    return Checked(value)


def _meant(value: str) -> str:
    try:
        percent = float(value.strip().rstrip("%"))
    except ValueError:
        return "Allowed: above 0 and at most 1, for example 0.75."
    meant = percent / 100 if 2 <= percent < 100 else 0.75
    return f"Did you mean {meant:g}? It is a ratio: 0.75 is three quarters of the whole GPU."


def has_unified_memory(environ: Mapping[str, str | None]) -> bool:
    """Whether TensorFlow's variable, which the plugin reads, asks for memory that may exceed the GPU's (R36)."""
    return (environ.get(UNIFIED) or "").strip().lower() in ("1", "true")


def _check_preallocate(value: str) -> Checked:
    if value in ("false", "False", "0"):
        return Checked(value)
    if value.strip().lower() in MEANT_OFF:
        note = (
            f"{PREALLOCATE}={value!r} means true to jaxlib, which knows only 'false', 'False' and '0'; 'false' is used."
        )
        return Checked("false", note=note)
    return Checked(value)


def _check_allocator(value: str, jaxlib: str | None) -> Checked:
    name = ALLOCATOR_ALIASES.get(value.lower(), value.lower())
    allowed = [known for known, since in ALLOCATORS.items() if jaxlib is None or matches(f">={since}", jaxlib)]
    if name in allowed:
        note = "" if name == value.lower() else f"{ALLOCATOR}={value!r} is no allocator's name; {name!r} is used."
        return Checked(name if note else value, note=note)
    from difflib import get_close_matches

    near = get_close_matches(name, allowed, 1)
    problem = f"{ALLOCATOR}={value!r} is no allocator of jaxlib {jaxlib}; JAX would run on the CPU or fail."
    return Checked(value, problem, f"Allowed: {', '.join(allowed)}." + (f" Did you mean {near[0]!r}?" if near else ""))


def _check_integer(name: str, value: str) -> Checked:
    try:
        int(value)
    except ValueError:
        return Checked(value, f"{name}={value!r} is not a whole number; JAX would run on the CPU or fail.")
    return Checked(value)


def one_fraction(environ: Mapping[str, str], jaxlib: str | None) -> Iterator[Setting | Decision | Finding]:
    """Both fraction names set is an error to jaxlib, and a name it does not read is none: which is taken out, and why."""
    given = [name for name in FRACTION_NAMES if environ.get(name)]
    reads_new = jaxlib is None or matches(f">={NEW_FRACTION_SINCE}", jaxlib)
    if len(given) == 2:
        loser = OLD_FRACTION if reads_new else NEW_FRACTION
        winner = NEW_FRACTION if reads_new else OLD_FRACTION
        reason = f"both fraction variables are set, which JAX answers by running on the CPU; {winner}={environ[winner]} stays"
    elif given == [NEW_FRACTION] and not reads_new:
        loser, reason = NEW_FRACTION, f"jaxlib {jaxlib} does not read it; {OLD_FRACTION} carries its value"
        yield Setting("env", OLD_FRACTION, environ[NEW_FRACTION], f"stands for {NEW_FRACTION}", "environment")
    else:
        return
    yield Decision("env", loser, None, "dropped", reason, "environment")
    yield Finding("two-fractions", "warning", f"{loser}={environ[loser]} is taken out: {reason}.")


def fraction_name(environ: Mapping[str, str], jaxlib: str | None) -> str:
    """The one name to use: the user's own where this jaxlib reads it, else the newest that it reads."""
    if jaxlib is not None and not matches(f">={NEW_FRACTION_SINCE}", jaxlib):
        return OLD_FRACTION
    return OLD_FRACTION if environ.get(OLD_FRACTION) and not environ.get(NEW_FRACTION) else NEW_FRACTION


def fraction_settings(request: Request, machine: Machine, environ: Mapping[str, str]) -> Iterator[Setting | Decision]:
    """The fraction that the call asks for, as a variable."""
    name = fraction_name(environ, machine.jaxlib)
    if request.memory_fraction == "auto":
        yield from _auto(request, machine, name)
    elif request.memory_fraction is not None:
        yield Setting("env", name, f"{float(request.memory_fraction):g}", "asked for", "argument memory_fraction")
    elif request.processes_per_gpu is not None:
        share = _floor(SHARED_BY_PROCESSES / request.processes_per_gpu)
        reason = f"{request.processes_per_gpu} processes share {SHARED_BY_PROCESSES:.0%} of each GPU's total memory"
        yield Setting("env", name, share, reason, "argument processes_per_gpu")


def preset_fraction(preset: Preset, machine: Machine, environ: Mapping[str, str]) -> tuple[Setting, ...]:
    """The fraction that a preset states, as one of its settings."""
    name, wanted = fraction_name(environ, machine.jaxlib), preset.memory_fraction
    if wanted is None:
        return ()
    if wanted == "auto":
        return tuple(item for item in _auto(Request(), machine, name) if isinstance(item, Setting))
    return (Setting("env", name, f"{float(wanted):g}", "part of the preset", f"preset {preset.name}"),)


def _auto(request: Request, machine: Machine, name: str) -> Iterator[Setting | Decision]:
    totals = [gpu.memory_bytes for gpu in machine.gpus or ()]
    sizes = [size for size in totals if size]
    source = "argument memory_fraction"
    if not sizes or len(sizes) < len(totals):
        yield Decision(
            "env", name, None, "unmet", "the GPUs' memory is unknown, so no fraction can be computed", source
        )
        return
    smallest = min(sizes)
    reserve = RESERVE_BYTES * (2 if len(sizes) > 1 else 1)
    whole = min(HIGHEST_AUTO, max(0.1, 1 - reserve / smallest))
    share = _floor(whole / (request.processes_per_gpu or 1))
    kept = "CUDA, cuBLAS and cuDNN" + (" and NCCL" if len(sizes) > 1 else "")
    reason = f"{smallest / 2**30:.0f} GiB in all, {reserve / 2**30:.0f} GiB left to {kept}, at most {HIGHEST_AUTO:.0%}"
    if request.processes_per_gpu:
        reason += f", shared by {request.processes_per_gpu} processes"
    yield Setting("env", name, share, reason, source)


def _floor(fraction: float) -> str:
    return f"{int(fraction * 100 + 1e-9) / 100:g}" if fraction >= 0.01 else f"{fraction:.2g}"
