"""What is wrong with the GPU memory pool as it will be, whoever set it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...knowledge import pool as known
from ...model import Finding, Machine
from ...values import Value
from ...wording import MIB, number_of, size_text
from ..base.conditions import Facts
from ..in_force import Settled
from ..settings.pool_variables import (
    ALLOCATOR,
    COLLECTIVE_POOL,
    FRACTION_NAMES,
    MEANS_FALSE,
    PREALLOCATE,
    UNIFIED,
    fraction_set,
    has_unified_memory,
)
from ..settings.setting_names import CUDA_GRAPHS_FLAG
from .unified import check_unified

__all__ = ["Pool", "check_pool", "pool_in"]

MOST = 2**60
POOL_STEP_MIB = 512
"""XLA advises sizes of the second pool that are multiples of it."""


class Pool(Value):
    """The pool that a program will have. ``fraction``: of each GPU's total memory; ``stated``: the variables that say so.

    ``per_array``: there is no pool, each array is asked of the driver; ``collective_mib``: the second pool, 0 where there is none.
    """

    stated: Mapping[str, str]
    fraction: float
    preallocates: bool
    allocator: str
    per_array: bool
    collective_mib: int
    unified: bool

    @property
    def share(self) -> float:
        """What is taken of each GPU when the backend starts, as a fraction of its total memory."""
        return 0.0 if self.per_array or self.unified or not self.preallocates else self.fraction


def pool_in(environ: Mapping[str, str], jaxlib: str | None) -> Pool:
    """The pool that these variables give; a value that no reader takes counts as not set."""
    watched = (*FRACTION_NAMES, PREALLOCATE, ALLOCATOR, COLLECTIVE_POOL, UNIFIED)
    stated = {name: environ[name] for name in watched if environ.get(name)}
    allocator = stated.get(ALLOCATOR, "default").lower()
    unified = has_unified_memory(stated)
    per_array = allocator in ("platform", "address") and not known.differs("platform_is_pool", jaxlib)
    fraction = _number(stated.get(fraction_set(stated), ""))
    readable = fraction if unified or fraction <= 1 else 0.0
    return Pool(
        stated=stated,
        fraction=readable or known.default_fraction(),
        preallocates=stated.get(PREALLOCATE) not in MEANS_FALSE,
        allocator=allocator,
        per_array=per_array,
        collective_mib=int(_number(stated.get(COLLECTIVE_POOL, "0"))),
        unified=unified,
    )


def check_pool(found: Settled, machine: Machine, facts: Facts) -> Iterator[Finding]:
    """Findings about the memory settings in force."""
    pool = pool_in(found.variables, machine.jaxlib)
    yield from _high_fraction(pool, machine, facts)
    yield from _idle(pool, machine)
    yield from _graphs(pool, machine, found.flags)
    yield from _registered(pool, found.flags, facts)
    yield from _collective_pool(pool, machine)
    yield from _old_release(pool, machine)
    yield from check_unified(found.variables, machine)


def _high_fraction(pool: Pool, machine: Machine, facts: Facts) -> Iterator[Finding]:
    """What is left is to be a size, not a share: as much as "auto" leaves, NCCL's part only where several GPUs are known to need it."""
    if pool.per_array or pool.unified or not fraction_set(pool.stated):
        return
    totals = [gpu.memory_bytes for gpu in machine.gpus or () if gpu.memory_bytes]
    left = min(totals) * (1 - pool.fraction) if totals else float("inf")
    needed = known.left_bytes("libraries") + (known.left_bytes("nccl") if (facts.devices or 1) > 1 else 0)
    if pool.fraction > known.most("advised") or left < needed:
        rest = f", which leaves {size_text(max(left, 0))}" if totals else ""
        message = f"JAX may take {100 * pool.fraction:.4g}% of the GPU's memory ({_stated_fraction(pool)}){rest}: the CUDA context, cuBLAS, cuDNN and NCCL need room beside it, and fail without."
        hint = f'Stay at or below {known.most("advised"):g} and leave {size_text(needed)}; "auto" computes it.'
        yield Finding("memory-fraction-high", "warning", message, hint)


def _idle(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """Which of the three is in force."""
    others = [f"{name}={pool.stated[name]}" for name in (PREALLOCATE, *FRACTION_NAMES) if name in pool.stated]
    shown, one = f"{ALLOCATOR}={pool.stated.get(ALLOCATOR)}", "s" * (len(others) == 1)
    if pool.per_array and others:
        message = f"{shown} alone is in force: each array is asked of the driver, so there is no pool, and {' and '.join(others)} mean{one} nothing."
    elif pool.allocator == "platform" and not pool.per_array:
        heeded = f", for which {' and '.join(others)} count{one}" if others else ", and fills it as by default"
        message = f"{shown} is not in force: jaxlib {machine.jaxlib} makes a pool all the same{heeded}."
    else:
        return
    yield Finding(
        "memory-settings-idle",
        "warning",
        message,
        f"Leave {ALLOCATOR} out: to share a GPU, {PREALLOCATE}=false is enough.",
    )


def _graphs(pool: Pool, machine: Machine, flags: Mapping[str, str]) -> Iterator[Finding]:
    """An array asked of the driver inside a graph that is captured."""
    if pool.per_array and known.differs("platform_graphs", machine.jaxlib) and not _without_graphs(flags):
        message = f"{ALLOCATOR}={pool.stated[ALLOCATOR]} with CUDA graphs, which are on, ended programs of jaxlib {machine.jaxlib} with a segmentation fault (jax-ml/jax#18663)."
        hint = "Set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, or pass cuda_graphs=False to configure()."
        yield Finding("platform-with-graphs", "warning", message, hint)


def _without_graphs(flags: Mapping[str, str]) -> bool:
    return flags.get(CUDA_GRAPHS_FLAG) == "" or flags.get("xla_gpu_graph_level") == "0"


def _registered(pool: Pool, flags: Mapping[str, str], facts: Facts) -> Iterator[Finding]:
    """What is registered with NCCL lies in a pool of its own."""
    causes = [f"--{name}" for name in known.registering(flags)]
    causes += [f"{COLLECTIVE_POOL}={pool.collective_mib}"] if pool.collective_mib else []
    if not causes or facts.devices == 1 or pool.per_array or pool.fraction < known.most("with_registered_buffers"):
        return
    message = f"{' and '.join(causes)}: NCCL's registered buffers, and its own, lie beside the fraction of {pool.fraction:.4g} ({_stated_fraction(pool)})."
    hint = f"Lower memory_fraction to {known.most('registered_buffers'):g} or less."
    yield Finding("registered-buffers-outside", "warning", message, hint)


def _collective_pool(pool: Pool, machine: Machine) -> Iterator[Finding]:
    if not pool.collective_mib:
        return
    if pool.collective_mib % POOL_STEP_MIB:
        message = f"{COLLECTIVE_POOL}={pool.collective_mib} is no multiple of {POOL_STEP_MIB}, in which XLA takes it."
        yield Finding(
            "collective-pool-size", "note", message, f"Say {-(-pool.collective_mib // POOL_STEP_MIB) * POOL_STEP_MIB}."
        )
    totals = [gpu.memory_bytes for gpu in machine.gpus or () if gpu.memory_bytes]
    inside = known.differs("one_pool", machine.jaxlib) and pool.preallocates
    room = min(totals, default=0) * (1 - (0 if inside else pool.share))
    if totals and pool.collective_mib * MIB > room:
        beside = "" if inside or not pool.share else f" beside the fraction of {pool.share:.4g}"
        message = f"{COLLECTIVE_POOL}={pool.collective_mib} does not fit into {size_text(min(totals))}{beside}: JAX runs out of memory when it starts."
        yield Finding("collective-pool-size", "warning", message, "Lower it, or memory_fraction.")


def _old_release(pool: Pool, machine: Machine) -> Iterator[Finding]:
    """Releases that took the fraction of what is free."""
    if known.differs("free_memory", machine.jaxlib) and fraction_set(pool.stated):
        message = f"jaxlib {machine.jaxlib} takes the fraction of the memory that is free when it starts: of several processes each gets less than the one before (jax-ml/jax#4310)."
        yield Finding("fraction-of-free-memory", "warning", message, "Update jaxlib to 0.4.0 or newer.")


def _stated_fraction(pool: Pool) -> str:
    name = fraction_set(pool.stated)
    return f"{name}={pool.stated[name]}" if name else "the default"


def _number(text: str) -> float:
    """0 for what is no number that could be meant."""
    number = number_of(text) or 0.0
    return number if 0 < number < MOST else 0.0
