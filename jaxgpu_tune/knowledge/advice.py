"""What a profile leads to: rules on measures of a step, each with what to do and what it gave where it was measured; and links between GPUs.

Only their reading and whether they apply are here; the measures come from ``measure/profile``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from ..values import EMPTY, Value
from .alike import speaking_for
from .tables import read_table, with_tuples

__all__ = ["MEASURES", "Advice", "AdviceRule", "advice_for", "advice_rules", "link_gb_per_s"]

Measures = Mapping[str, float | None]

MEASURES: dict[str, str] = {
    "gpus": "GPUs of the whole job that ran something",
    "compute_capability": "of the GPUs, as a number",
    "collectives": "collectives that ran, a step",
    "gathers": "all-gathers that ran, a step",
    "looped_gathers_ms": "while only an all-gather ran, of those that run more than once a step",
    "looped_gathers_share": "the same, as a share of the step",
    "small_sums": "all-reduces of arrays of up to 1 MiB that ran, a step",
    "small_sums_ms": "while only one of these ran and all GPUs had begun it",
    "small_sums_share": "the same, as a share of the step",
    "large_sums_ms": "while only an all-reduce of a larger array ran and all GPUs had begun it",
    "large_sums_share": "the same, as a share of the step",
    "gathered_transposes_ms": "kernels that transpose, though the program did not write it, in a step with all-gathers",
    "gathered_transposes_share": "the same, as a share of the step",
    "waiting_ms": "inside exposed collectives, before the last GPU had begun them",
    "waiting_share": "the same, as a share of the step",
    "idle_host_ms": "idle, while the host ran no program; less what the tracer added",
    "idle_host_share": "the same, as a share of the step",
    "idle_launches_ms": "idle between kernels, or while the host was launching; less what the tracer added",
    "idle_launches_share": "the same, as a share of the step",
    "launches": "kernels and copies, a step",
    "looped_launches_share": "of those, the share in loops whose number of turns is known only while they run (jax.lax.while_loop)",
    "mean_kernel_us": "microseconds of the mean kernel or copy",
    "in_graphs_share": "owned by CUDA graphs, whether their kernels are shown or not, as a share of the step",
    "graph_launches": "CUDA graphs, a step",
    "float32_products_ms": "products of matrices of 32-bit floats",
    "float32_products_share": "the same, as a share of the step",
    "recompilations": "of the step's function, after its first compilation",
    "recompile_seconds": "all of those together",
    "compilations": "of all functions, but for what a compilation cache had",
    "compile_seconds": "all of those together",
    "memory_share": "peak memory as a share of what JAX may use",
}
"""Each measure that a rule may use, and what it is; milliseconds of a mean step where the name ends in ``_ms``."""

COMPARISON = re.compile(r"(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)")
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


class AdviceRule(Value):
    """``when``: conditions on measures; ``set``, ``unset``: XLA flags of which one must be, or none may be set, under any release's name."""

    code: str
    message: str
    do: str
    evidence: str
    source: str
    when: Mapping[str, str]
    set: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()

    def applies(self, measures: Measures, flags: Collection[str] = ()) -> bool:
        """Whether every condition is known to hold."""
        flagged = not self.set or _one_of(self.set, flags)
        free = not _one_of(self.unset, flags)
        return flagged and free and all(_holds(measures.get(name), demand) for name, demand in self.when.items())


class Advice(Value):
    """What was seen, what to do, what that gave where it was measured, and a public page on the mechanism."""

    code: str
    message: str
    do: str
    evidence: str
    source: str


@lru_cache(maxsize=1)
def advice_rules() -> tuple[AdviceRule, ...]:
    """Every rule, in the file's order."""
    return tuple(AdviceRule(**with_tuples(table)) for table in read_table("advice")["rule"])


def advice_for(measures: Measures, flags: Collection[str] = EMPTY) -> tuple[Advice, ...]:
    """What these measures lead to, in the file's order. ``flags``: the names of the XLA flags that are set, without dashes."""
    return tuple(_advice(rule, measures) for rule in advice_rules() if rule.applies(measures, flags))


def _advice(rule: AdviceRule, measures: Measures) -> Advice:
    known = {name: value for name, value in measures.items() if value is not None}
    message, evidence = rule.message.format(**known), rule.evidence.format(**known)
    return Advice(rule.code, message, rule.do, evidence, rule.source)


def _one_of(names: tuple[str, ...], flags: Collection[str]) -> bool:
    """Whether one of them is set, under this name or another release's."""
    return any(one in flags for name in names for one in (name, *speaking_for("xla_flag", name)))


def _holds(value: float | None, demand: str) -> bool:
    if value is None:
        return False
    return all(COMPARE[sign](value, float(number)) for sign, number in COMPARISON.findall(demand))


def link_gb_per_s(gpu: str) -> float | None:
    """What a GPU of that name can send over NVLink in one direction, in GB/s; None: not known."""
    found = (link["gb_per_s"] for link in read_table("advice")["link"] if re.search(link["name"], gpu))
    return next(found, None)
