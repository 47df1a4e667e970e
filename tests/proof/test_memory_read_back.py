"""What the allocator's own numbers prove of the memory settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.proof.memory_read_back import (
    AllocatorNumbers,
    allocator_numbers,
    verified_allocator,
    verified_fraction,
    verified_preallocation,
)

GIB = 2**30
TOTAL = 100 * GIB


def limited(*shares: float, total: int | None = TOTAL) -> tuple[AllocatorNumbers, ...]:
    """GPUs whose pools have these limits."""
    return tuple(AllocatorNumbers(total, {"bytes_limit": round(share * TOTAL)}) for share in shares)


@given(st.floats(0.05, 0.95), st.floats(-0.009, 0.009))
def test_a_limit_within_one_percent_of_the_total_is_effective(asked: float, off: float) -> None:
    """The driver keeps some of it."""
    status, _, found = verified_fraction(f"{asked}", limited(asked + off))
    assert status == "effective" and float(found) == pytest.approx(asked + off, abs=0.000_6)


@given(st.floats(0.35, 0.95), st.floats(0.011, 0.3), st.sampled_from([1, -1]), st.booleans())
def test_a_limit_further_off_is_ignored(asked: float, off: float, sign: int, beside: bool) -> None:
    """On one of the GPUs is enough."""
    wrong = (asked + sign * off,)
    status, why, _ = verified_fraction(f"{asked}", limited(*((asked, *wrong) if beside else wrong)))
    assert status == "ignored" and "set too late" in why


def test_an_empty_text_is_jaxs_default() -> None:
    assert verified_fraction("", limited(0.75))[0] == "effective"
    assert verified_fraction("", limited(0.5))[0] == "ignored"


@pytest.mark.parametrize(
    "memory",
    [(), limited(0.5, total=None), (AllocatorNumbers(TOTAL, {}),), (*limited(0.5), AllocatorNumbers(TOTAL, {}))],
)
def test_without_every_limit_nothing_is_told(memory: tuple[AllocatorNumbers, ...]) -> None:
    assert verified_fraction("0.5", memory)[0] == "unreadable"


def pools(*parts: float) -> tuple[AllocatorNumbers, ...]:
    """Pools that are filled up to these parts of their limit."""
    return tuple(AllocatorNumbers(TOTAL, {"bytes_limit": GIB, "pool_bytes": round(part * GIB)}) for part in parts)


@pytest.mark.parametrize(
    ("text", "parts", "status"),
    [
        ("true", (1.0, 1.0), "effective"),
        ("true", (0.991,), "effective"),
        ("true", (0.98,), "ignored"),
        ("true", (1.0, 0.5), "ignored"),
        ("false", (0.2,), "effective"),
        ("false", (1.0, 0.5), "effective"),
        ("false", (1.0,), "unreadable"),
    ],
)
def test_a_pool_of_full_size_was_preallocated(text: str, parts: tuple[float, ...], status: str) -> None:
    """Without preallocation it may have grown to that."""
    assert verified_preallocation(text, pools(*parts))[0] == status


@pytest.mark.parametrize("stats", [{}, {"bytes_limit": GIB}, {"pool_bytes": GIB}])
def test_without_a_pool_preallocation_is_not_told(stats: dict[str, int]) -> None:
    assert verified_preallocation("true", (*pools(1.0), AllocatorNumbers(TOTAL, stats)))[0] == "unreadable"
    assert verified_preallocation("true", ())[0] == "unreadable"


POOL, NUMBERS, NONE = {"pool_bytes": 1}, {"bytes_in_use": 1}, {}


@pytest.mark.parametrize(
    ("name", "stats", "status"),
    [
        *((name, POOL, "effective") for name in ("", "default", "bfc", "BFC")),
        *((name, NUMBERS, "ignored") for name in ("", "default", "bfc")),
        ("cuda_async", NUMBERS, "effective"),
        ("cuda_async", POOL, "ignored"),
        ("platform", NONE, "effective"),
        ("platform", NUMBERS, "ignored"),
        ("vmm", NUMBERS, "unreadable"),
    ],
)
def test_an_allocator_is_known_by_the_numbers_that_it_keeps(name: str, stats: dict[str, int], status: str) -> None:
    assert verified_allocator(name, (AllocatorNumbers(TOTAL, stats),) * 2)[0] == status


def test_gpus_that_keep_different_numbers_tell_nothing() -> None:
    assert verified_allocator("bfc", (AllocatorNumbers(TOTAL, POOL), AllocatorNumbers(TOTAL, NONE)))[0] == "unreadable"
    assert verified_allocator("bfc", ())[0] == "unreadable"


def test_memory_is_found_by_the_gpus_number() -> None:
    """A device without one, or that raises when asked, has none that is known."""

    def raises() -> Any:
        raise RuntimeError

    devices = [
        SimpleNamespace(local_hardware_id=1, memory_stats=lambda: {"bytes_limit": 5}),
        SimpleNamespace(local_hardware_id=0, memory_stats=lambda: None),
        SimpleNamespace(memory_stats=raises),
    ]
    assert allocator_numbers(devices, {0: 10, 1: 20}) == (
        AllocatorNumbers(20, {"bytes_limit": 5}),
        AllocatorNumbers(10, {}),
        AllocatorNumbers(None, {}),
    )


def test_the_numbers_of_each_device_go_with_its_own_gpu() -> None:
    """By its number here; a device without one, or an allocator that keeps none, is unknown."""

    def device(number: int | None, stats: object) -> SimpleNamespace:
        def memory_stats() -> object:
            if isinstance(stats, Exception):
                raise stats
            return stats

        return SimpleNamespace(memory_stats=memory_stats, **({} if number is None else {"local_hardware_id": number}))

    devices = [device(1, {"a": 1}), device(0, None), device(None, RuntimeError("no")), device(2, {"b": 2})]
    assert allocator_numbers(devices, {0: 10, 1: 20, -2: 30}) == (
        AllocatorNumbers(20, {"a": 1}),
        AllocatorNumbers(10, {}),
        AllocatorNumbers(None, {}),
        AllocatorNumbers(None, {"b": 2}),
    )
