"""What the allocator of each local GPU tells of the memory settings: ``device.memory_stats()``, held against the GPU's memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..knowledge.pool import default_fraction
from ..planning.settings.pool_variables import MEANS_FALSE
from ..values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .verification import ProofStatus

    Answer = tuple[ProofStatus, str, str | None]


__all__ = ["AllocatorNumbers", "allocator_numbers", "verified_allocator", "verified_fraction", "verified_preallocation"]

TOLERANCE = 0.01
"""Of the total: the driver keeps some of it, which NVML counts and CUDA does not."""
POOL, NUMBERS, NOTHING = "a pool", "numbers but no pool", "no numbers"
KEEPS = {"": POOL, "default": POOL, "bfc": POOL, "cuda_async": NUMBERS, "platform": NOTHING}


class AllocatorNumbers(Value):
    """One GPU: ``total`` bytes (None: unknown) and the allocator's own numbers, empty where it keeps none."""

    total: int | None
    stats: Mapping[str, int]


def allocator_numbers(devices: Iterable[Any], totals: Mapping[int, int | None]) -> tuple[AllocatorNumbers, ...]:
    """The memory of each device; ``totals``: the bytes of each GPU by its number in CUDA's order."""
    return tuple(AllocatorNumbers(totals.get(_number(device)), _stats(device)) for device in devices)


def _number(device: Any) -> int:
    found = getattr(device, "local_hardware_id", None)
    return -1 if found is None else int(found)


def _stats(device: Any) -> Mapping[str, int]:
    try:
        return device.memory_stats() or {}
    except Exception:  # noqa: BLE001 - an allocator without numbers says so by any error
        return {}


def verified_fraction(text: str, memory: tuple[AllocatorNumbers, ...]) -> Answer:
    """The limit of the pool against the fraction of the total, within one percent of the total."""
    found = [
        one.stats.get("bytes_limit", 0) / one.total for one in memory if one.total and one.stats.get("bytes_limit")
    ]
    if not found or len(found) < len(memory):
        return "unreadable", "the allocator states no limit, or the GPU's memory is unknown", None
    shown = ", ".join(f"{share:.3f}" for share in found)
    wanted = float(text or default_fraction())  # an empty variable is none to jaxlib
    limit = f"the allocator's limit is {shown} of the GPU's memory"
    if all(abs(share - wanted) <= TOLERANCE for share in found):
        return "effective", limit, shown
    return "ignored", f"{limit}: set too late, or another setting wins", shown


def verified_preallocation(text: str, memory: tuple[AllocatorNumbers, ...]) -> Answer:
    """Whether the pool has its full size already. Without preallocation it may have grown to it."""
    full = [_is_full(one.stats) for one in memory]
    if not full or None in full:
        return "unreadable", "the allocator keeps no pool", None
    shown = "the pool has its full size" if all(full) else "the pool is smaller than its limit"
    if text in MEANS_FALSE:
        return ("unreadable" if all(full) else "effective"), shown, None
    return ("effective" if all(full) else "ignored"), shown, None


def _is_full(stats: Mapping[str, int]) -> bool | None:
    limit, pool = stats.get("bytes_limit"), stats.get("pool_bytes")
    return None if not limit or pool is None else pool >= limit * (1 - TOLERANCE)


def verified_allocator(text: str, memory: tuple[AllocatorNumbers, ...]) -> Answer:
    """Told by the numbers that an allocator keeps: a pool's, others, or none (run on 0.11.2)."""
    name, found = text.lower(), {_kind(one.stats) for one in memory}
    if len(found) != 1 or name not in KEEPS:
        return "unreadable", "the backend does not name its allocator", None
    kept = found.pop()
    return ("effective" if kept == KEEPS[name] else "ignored"), f"the allocator keeps {kept}", None


def _kind(stats: Mapping[str, int]) -> str:
    return POOL if "pool_bytes" in stats else NUMBERS if stats else NOTHING
