"""What each thing that a GPU ran is: computing, communication, a copy or a layout change, or a CUDA graph that shows no kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from .events import Event, Trace
from .hlo import Instruction, Module, collective_kind

__all__ = ["Kind", "Work", "works_on"]

Kind = Literal["computing", "copies", "communication", "graph"]

MOVES = {"transpose", "copy", "convert", "reduce-precision", "bitcast-convert", "slice", "dynamic-slice"}
MOVES |= {"dynamic-update-slice", "concatenate", "pad", "reshape", "reverse", "copy-start", "slice-start"}
"""Opcodes that move or re-shape numbers without computing with them."""
AROUND = frozenset(("parameter", "constant", "bitcast", "tuple", "get-tuple-element", "broadcast", "iota"))
"""Opcodes that cost nothing beside those."""
PRODUCT = re.compile(r"^(dot|convolution|ragged-dot)$|gemm|cublas|cudnn|conv(?!ert)", re.IGNORECASE)
"""Opcodes and custom calls that multiply matrices; what they read transposed costs little."""
NCCL = re.compile(r"nccl(Dev)?Kernel|^nccl|nvshmem", re.IGNORECASE)
COPY = re.compile(r"^(Memcpy|Memset|memcpy\d|memset\d)")
"""Copies and fills, by copy engines or by the kernels that CUDA runs for them inside graphs."""
PEER = "MemcpyP2P"
MOVING_NAME = re.compile(
    r"^(loop_|input_|wrapped_)?(transpose|copy|convert|slice|dynamic_slice|dynamic_update_slice|concatenate|pad)(_(transpose|copy|convert))*(_fusion)?([._]\d+)*$"
)
"""Names that XLA gives to kernels which only move numbers: the fallback where the program is not in the trace."""
IN_GRAPH = re.compile(r"^command_buffer")
GRAPH_EXEC, GRAPH = "cuda_graph_exec_id", "cuda_graph_id"


class Work(NamedTuple):
    """Something that a GPU ran, from ``start`` to ``end`` (nanoseconds of the trace).

    ``op``: the instruction's name (the kernel's where there is none); ``collective``: its kind; ``turns``: it transposes, perhaps
    beside other work; ``product``: it multiplies matrices; ``whole``: all of a CUDA graph as one event.
    """

    start: float
    end: float
    kind: Kind
    op: str
    event: Event
    instruction: Instruction | None = None
    collective: str = ""
    turns: bool = False
    product: bool = False
    whole: bool = False

    @property
    def module(self) -> str:
        """The compiled program that it belongs to; empty: not known."""
        return str(self.event.stats.get("hlo_module", ""))

    @property
    def source(self) -> str:
        """The line it comes from ("file.py:12"); empty: not known."""
        return self.instruction.source if self.instruction else ""

    @property
    def scope(self) -> str:
        """JAX's name stack; empty: not known."""
        said = self.instruction.scope if self.instruction else ""
        return said or str(self.event.stats.get("name") or "")


class _Traits(NamedTuple):
    """What all runs of one kernel have in common."""

    op: str
    kind: Kind
    instruction: Instruction | None
    collective: str
    turns: bool
    product: bool


def works_on(trace: Trace, gpu: str) -> tuple[Work, ...]:
    """What one GPU ran, by start; and each CUDA graph of which kernels are seen, from its first to its last."""

    @cache
    def traits(module: str, said: str, kernel: str) -> _Traits:
        return _traits(trace.modules.get(module), said, kernel)

    def work(event: Event) -> Work:
        stats = event.stats
        found = traits(str(stats.get("hlo_module", "")), str(stats.get("hlo_op") or event.name), event.name)
        whole = GRAPH_EXEC in stats
        kind, op = "graph" if whole else found.kind, found.op
        return Work(event.start_ns, event.end_ns, kind, op, event, *found[2:], whole)

    works = [work(event) for event in trace.on(gpu) if event.duration_ns > 0]
    return tuple(sorted((*works, *_graph_spans(works)), key=lambda work: (work.start, -work.end, work.op)))


def _traits(module: Module | None, said: str, kernel: str) -> _Traits:
    instruction = module.find(said, kernel) if module else None
    op = instruction.name if instruction else kernel if IN_GRAPH.match(said) else said
    collective = _collective(kernel, op, instruction)
    does = instruction.does if instruction else frozenset((op,))
    product = any(PRODUCT.search(one) for one in does)
    turns = not product and not collective and any("transpose" in one for one in does)
    return _Traits(op, _kind(kernel, op, instruction, collective), instruction, collective, turns, product)


def _collective(kernel: str, op: str, instruction: Instruction | None) -> str:
    """The kind of collective, of the instruction or else by the kernel's name; empty: none."""
    opcodes = {instruction.opcode, *instruction.does} if instruction else {op}
    found = next(filter(None, map(collective_kind, sorted(opcodes))), "") or collective_kind(op)
    if found:
        return found
    if NCCL.search(kernel):
        return _nccl_kind(kernel)
    return "peer-copy" if kernel == PEER else ""


def _nccl_kind(kernel: str) -> str:
    """``ncclDevKernel_AllGather_RING_LL``: all-gather."""
    name = kernel.partition("_")[2].partition("_")[0] or kernel
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
    return "send-recv" if plain.startswith("send") else collective_kind(plain) or "collective"


def _kind(kernel: str, op: str, instruction: Instruction | None, collective: str) -> Kind:
    if collective:
        return "communication"
    if COPY.match(kernel):
        return "copies"
    if instruction is None:
        return "copies" if MOVING_NAME.match(op) else "computing"
    return "copies" if instruction.does & MOVES and instruction.does <= MOVES | AROUND else "computing"


def _graph_spans(works: list[Work]) -> Iterator[Work]:
    """A graph's run is one launch: from the first to the last of its kernels it may run others that are not shown."""
    runs: dict[tuple[object, object], list[Work]] = {}
    for work in works:
        stats: Mapping[str, object] = work.event.stats
        if GRAPH in stats and not work.whole:
            runs.setdefault((stats[GRAPH], stats.get("correlation_id")), []).append(work)
    for (graph, _), inside in runs.items():
        first, end = min(inside, key=lambda work: work.start), max(work.end for work in inside)
        yield Work(first.start, end, "graph", f"CUDA graph {graph}", first.event)
