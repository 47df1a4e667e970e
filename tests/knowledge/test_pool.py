"""What is known of the GPU memory pool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge import flags, pool

RELEASES = st.sampled_from(flags.releases())
GIB = 2**30


@given(RELEASES, RELEASES)
def test_a_newer_release_reads_no_less(one: str, other: str) -> None:
    """A name that was read is read from then on."""
    older, newer = sorted((one, other), key=flags.releases().index)
    assert pool.reads_new_fraction(newer) >= pool.reads_new_fraction(older)
    assert set(pool.allocators(older)) <= set(pool.allocators(newer))


def test_from_which_release_on() -> None:
    assert not pool.reads_new_fraction("0.4.31") and pool.reads_new_fraction("0.4.33")
    assert pool.allocators("0.9.2") == ("default", "platform", "bfc", "cuda_async")
    assert pool.allocators("0.10.2") == (*pool.allocators("0.9.2"), "vmm")
    assert pool.allocators("0.11.2") == (*pool.allocators("0.10.2"), "address")


def test_an_unknown_jaxlib_counts_as_new() -> None:
    """It is more likely a later one than one from before the tables began; of what is wrong in some releases nothing holds."""
    assert pool.reads_new_fraction(None)
    assert pool.allocators(None) == pool.allocators(flags.releases()[-1])
    assert not pool.differs("wsl_handles", None)


@pytest.mark.parametrize(
    ("what", "release", "expected"),
    [
        ("platform_is_pool", "0.9.2", False),
        ("platform_is_pool", "0.10.2", True),
        ("platform_is_pool", "0.11.0", False),
        ("wsl_handles", "0.10.2", False),
        ("wsl_handles", "0.11.0", True),
        ("platform_graphs", "0.4.29", True),
        ("platform_graphs", "0.4.30", False),
        ("free_memory", "0.4.18", False),
    ],
)
def test_releases_that_differ(what: str, release: str, expected: bool) -> None:
    assert pool.differs(what, release) is expected


def test_what_is_left_and_taken() -> None:
    """JAX's own default; a fraction is one, more reasons take less, and what is left is whole GiB or parts of them."""
    assert pool.default_fraction() == 0.75
    assert pool.most("integrated") < pool.most("registered_buffers") < pool.most("auto") < pool.most("advised") < 1
    assert (pool.left_bytes("libraries"), pool.left_bytes("nccl")) == (GIB, GIB)
    assert pool.left_bytes("display") > 0


def test_integrated_gpus() -> None:
    """GB10 and Jetson, by compute capability; an unknown one is not."""
    assert pool.is_integrated("12.1") and not pool.is_integrated("9.0") and not pool.is_integrated(None)
    assert pool.pages_from() == "6.0"


@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        ("xla_gpu_enable_nccl_user_buffers", ("true", "1"), ("false", "False", "0")),
        ("xla_gpu_experimental_enable_nccl_symmetric_buffers", ("true", "True"), ("false", "0")),
        ("xla_enable_nccl_symmetric_buffers_for_collectives", ("allreduce", "all:1024:f32", "NOOP,all"), ("", "noop")),
    ],
)
def test_what_registers_buffers(name: str, on: tuple[str, ...], off: tuple[str, ...]) -> None:
    """A list names collectives: it is no switch."""
    assert flags.known(name)
    assert all(pool.registering({name: value}) == (name,) for value in on)
    assert not any(pool.registering({name: value}) for value in off)


def test_names_that_people_use() -> None:
    assert pool.allocator_alias("cuda_malloc_async") == "cuda_async"
    assert pool.allocator_alias("bfc") == "bfc"
    assert {"torch", "tensorflow"} <= {one.module for one in pool.neighbours()}
