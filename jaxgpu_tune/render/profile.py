"""A profile as plain text that fits a screen: the step, its parts, what is communicated, the longest kernels, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..knowledge.advice import link_gb_per_s
from ..wording import counted, size_text
from .table import GAP, hanging, wrapped
from .text import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..measure.profile import Profile
    from ..measure.trace.collectives import Collective


__all__ = [
    "PART_NAMES",
    "bytes_text",
    "collective_rows",
    "head_lines",
    "host_lines",
    "kernel_rows",
    "part_remark",
    "profile_text",
    "rank_lines",
]

PART_NAMES = {
    "computing": "computing",
    "copies": "copies and layout changes",
    "exposed_communication": "exposed communication",
    "cuda_graphs": "CUDA graphs, kernels not shown",
    "idle_host": "idle: the host is late",
    "idle_launches": "idle: launches, between kernels",
    "idle_peer": "idle: waiting for a peer",
}
CLOCKS = {
    "marks": "by the program's own marks",
    "calls": "by the calls of {function}",
    "trace": "by the calls of {function} under the tracer",
    "blocked": "by blocks of calls",
}
BAR = 24
ROWS, KERNELS = 5, 6
NARROW = 20
"""The first column of a table is not made narrower than this."""
SHORT = 1e-4
"""Parts below this share of the step are left out."""


def profile_text(profile: Profile, width: int | None = None) -> str:
    """The profile in lines of at most ``width`` columns (default: the terminal's)."""
    columns = width or terminal_width()
    sections = [
        [line for text in head_lines(profile) for line in hanging(text, columns)],
        _part_lines(profile, columns),
        _rows(collective_rows(profile, ROWS), columns),
        _rows(kernel_rows(profile, KERNELS), columns),
        [line for text in rank_lines(profile) for line in hanging(text, columns)],
        [line for text in host_lines(profile) for line in hanging(text, columns)],
        [line for text in profile.notes for line in hanging(f"Note: {text}", columns)],
        _advice_lines(profile, columns),
    ]
    return "\n".join(line for section in sections for line in section)


def head_lines(profile: Profile) -> Iterable[str]:
    """The step, by which clock, and what the tracer costs."""
    where = (
        f" on {len(profile.gpus)} x {profile.device}"
        if profile.gpus
        else f" on {profile.device}"
        if profile.device
        else ""
    )
    if profile.step_ms is None:
        yield f"The step's time is not known{where}."
    else:
        clock = CLOCKS.get(profile.clock, profile.clock).format(function=profile.function or "the step")
        sure = "" if profile.error is None else f", +- {profile.error:.1%}"
        yield f"{profile.step_ms:.2f} ms a step{where} ({clock}, without the tracer{sure})"
    if profile.tracer_cost is not None and profile.tracer_cost > 0.1:
        yield f"The tracer made the step {profile.tracer_cost:.0%} longer: idle time below is its own in part."
    if profile.unnamed_ms and profile.step_ms:
        times = profile.step_ms / profile.unnamed_ms
        yield f"This run had no CUDA graphs, so that all kernels have names; with them a step takes {profile.unnamed_ms:.2f} ms (without: {times:.2f} times as long)."


def _part_lines(profile: Profile, width: int) -> list[str]:
    if not profile.parts or not profile.traced_ms:
        return []
    several = len(profile.gpus) > 1 or len(profile.ranks) > 1
    cost = "" if profile.tracer_cost is None else f", {profile.tracer_cost:+.1%} under the tracer"
    steps = profile.gpus[0].steps or 1
    head = f"Where it goes: {profile.traced_ms:.2f} ms as traced ({counted(steps, 'step')}{cost})"
    rows = [("", "ms", "share", *(("min to max",) if several else ()))]
    for name, value in profile.parts.items():
        low, high = profile.ranges.get(name, (value, value))
        if max(value, high) > SHORT * profile.traced_ms:
            spread = (f"{low:.2f} to {high:.2f}",) if several else ()
            rows.append((PART_NAMES[name], f"{value:.2f}", _bar(value / profile.traced_ms), *spread))
    remarks = [f"{PART_NAMES[name]}: {said}" for name in profile.parts if (said := part_remark(profile, name))]
    told = [line for text in remarks for line in hanging(text, width, "  ")]
    return [*hanging(head, width), *_columns(rows, width), *told]


def part_remark(profile: Profile, name: str) -> str:
    """What else is to be said of a part."""
    if name == "copies":
        gpu = profile.gpus[0]
        return f"conversions {gpu.conversions_ms:.2f}; kernels that transpose {gpu.transposes_ms:.2f}"
    if name == "exposed_communication" and profile.communicating_ms:
        share = profile.hidden_ms / profile.communicating_ms
        waiting = f"; waiting for the last GPU {profile.waiting_ms:.2f}" if profile.waiting_ms > 0.005 else ""
        return f"{share:.0%} of {profile.communicating_ms:.2f} hidden beside other work{waiting}"
    return ""


def _bar(share: float) -> str:
    return f"{share:.0%}".ljust(5) + "#" * round(BAR * share)


def collective_rows(profile: Profile, most: int) -> list[tuple[str, ...]]:
    """What is communicated, with its head; the rest as one row."""
    if not profile.collectives:
        return []
    link = link_gb_per_s(profile.device)
    head = ("communication", "a step", "size", "ms", "exposed", "GB/s" + (f" of {link:.0f}" if link else ""), "line")
    shown, rest = profile.collectives[:most], profile.collectives[most:]
    rows = [head, *(_collective(one) for one in shown)]
    if rest:
        total, exposed = sum(one.ms for one in rest), sum(one.exposed_ms for one in rest)
        rows.append(
            (f"{len(rest)} more", f"{sum(one.runs for one in rest):.0f}", "", f"{total:.2f}", f"{exposed:.2f}", "", "")
        )
    return rows


def _collective(one: Collective) -> tuple[str, ...]:
    speed = "" if one.gb_per_s is None else f"{one.gb_per_s:.0f}"
    size = "" if one.bytes is None else bytes_text(one.bytes)
    return one.kind, f"{one.runs:.3g}", size, f"{one.ms:.2f}", f"{one.exposed_ms:.2f}", speed, one.source or one.scope


def kernel_rows(profile: Profile, most: int) -> list[tuple[str, ...]]:
    """The kernels that own most, with their head."""
    if not profile.kernels:
        return []
    rows = [
        (one.name[:40], f"{one.runs:.0f}", f"{one.ms:.2f}", one.source or one.scope[-50:])
        for one in profile.kernels[:most]
    ]
    return [("kernels, the longest of each line", "a step", "ms", "line"), *rows]


def bytes_text(size: float) -> str:
    """Bytes with a unit of a thousand."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def rank_lines(profile: Profile) -> Iterable[str]:
    """The GPU that others wait for, and the processes, where there are several."""
    if profile.slow_gpu is not None:
        slow = next(gpu for gpu in profile.gpus if gpu.gpu == profile.slow_gpu)
        waits = max(gpu.waiting_ms for gpu in profile.gpus) - slow.waiting_ms
        yield f"{slow.gpu.removeprefix('/device:')} is slow: the others wait up to {waits:.2f} ms a step for it inside collectives."
    if len(profile.ranks) < 2:
        return
    spans = (
        ("a step", [one.step_ms for one in profile.ranks if one.step_ms is not None]),
        (
            "work of their own (all but exposed communication)",
            [one.own_ms for one in profile.ranks if one.own_ms is not None],
        ),
    )
    told = [f"{name} {min(found):.2f} to {max(found):.2f} ms" for name, found in spans if found]
    yield f"{'; '.join([f'{len(profile.ranks)} processes', *told])}."
    if profile.slow_rank is not None:
        yield f"Rank {profile.slow_rank} is slow: the others wait up to {profile.skew_ms:.2f} ms a step for it."


def host_lines(profile: Profile) -> Iterable[str]:
    """Start, compilations, memory."""
    host, told = profile.host, []
    if host.first_step_s is not None:
        told.append(f"first step after {host.first_step_s:.1f} s")
    if host.compiled:
        told.append(f"{counted(host.compiled, 'compilation')} in {host.compile_s:.1f} s")
        told.append(
            f"the step compiled {host.recompiled} times again" if host.recompiled else "none in the steady state"
        )
    if profile.peak_bytes:
        limit = f" of {size_text(profile.limit_bytes)}" if profile.limit_bytes else ""
        told.append(f"peak memory {size_text(profile.peak_bytes)}{limit}")
    if told:
        yield f"Host: {'; '.join(told)}."
    memory = profile.memory
    if memory is not None:
        largest = ", ".join(
            f"{size_text(one.bytes)} {one.op}{f' ({one.source})' if one.source else ''}" for one in memory.largest[:3]
        )
        held = f"arguments {size_text(memory.arguments)}, temporaries {size_text(memory.temporary)}, other results {size_text(memory.results)}"
        yield f"Memory of the step's program on one device: {held}; the largest temporaries: {largest or 'none'}."


def _advice_lines(profile: Profile, width: int) -> list[str]:
    lines = []
    for number, one in enumerate(profile.advice, 1):
        lines += hanging(f"{number}. {one.message} ({one.code})", width)
        lines += wrapped(one.do, width, "    ")
        lines += wrapped(f"Measured: {one.evidence}", width, "    ")
    return ["Advice", *lines] if lines else []


def _rows(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    return _columns(rows, width) if rows else []


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    """Columns as wide as their cells, numbers to the right; a first cell that does not fit is cut, a last one from the left."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numbers = [all((cell[:1].isdigit() and "#" not in cell) or not cell for cell in column[1:]) for column in columns]
    over = sum(widths) + 2 + len(GAP) * (len(widths) - 1) - width
    widths[0] = max(widths[0] - max(over, 0), min(widths[0], NARROW))
    rows = [(row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…", *row[1:]) for row in rows]
    room = max(width - 2 - sum(widths[:-1]) - len(GAP) * (len(widths) - 1), 8)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if right else cell.ljust(size)
            for cell, size, right in zip(row[:-1], widths, numbers, strict=False)
        ]
        last = row[-1] if len(row[-1]) <= room else "…" + row[-1][1 - room :]
        lines.append(("  " + GAP.join([*cells, last])).rstrip())
    return lines
