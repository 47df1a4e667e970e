"""CUDA_VISIBLE_DEVICES, as a driver was seen to read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.host.visible import Device, visible
from tests.host.measured import MEASURED, A, B

GPUS = (Device(A), Device(B))
CUT = Device(A, cut=True)
SLICES = (
    Device("MIG-11111111-0000-0000-0000-000000000000", parent=A, legacy=f"MIG-{A}/1/0"),
    Device("MIG-22222222-0000-0000-0000-000000000000", parent=A, legacy=f"MIG-{A}/2/0"),
)
PIECES = ["0", "1", "2", "-1", "+1", "", " ", "x", "GPU-", "MIG-", A, B, A[:9], SLICES[0].uuid, SLICES[1].legacy]


@pytest.mark.parametrize(("text", "expected"), MEASURED, ids=repr)
def test_reads_as_the_driver_does(text: str | None, expected: str) -> None:
    """R83: each measured text leaves the devices that the driver left, in its order."""
    assert visible(GPUS, (), text) == tuple({"A": GPUS[0], "B": GPUS[1]}[letter] for letter in expected)


@pytest.mark.parametrize(
    "text", [None, "0", "0,1", A, "MIG-1", SLICES[0].uuid, f"MIG-{A}/1/0", f"{SLICES[0].uuid},{SLICES[1].uuid}"]
)
def test_one_slice_and_nothing_beside_it(text: str | None) -> None:
    """R55: one MIG slice a process, and no whole GPU with it."""
    assert visible((CUT, Device(B)), SLICES, text) == SLICES[:1]


@pytest.mark.parametrize("text", [SLICES[1].uuid, SLICES[1].uuid[:9], SLICES[1].legacy])
def test_a_slice_by_its_name(text: str) -> None:
    """By UUID, its beginning, or the older name."""
    assert visible((CUT,), SLICES, text) == SLICES[1:]


def test_a_gpu_in_mig_mode_without_slices_is_no_device() -> None:
    """It cannot compute."""
    assert visible((CUT, Device(B)), (), None) == (Device(B),)
    assert visible((CUT,), (), "0") == ()


def test_an_ambiguous_prefix_names_nothing() -> None:
    """A prefix must name one GPU."""
    assert visible((Device("GPU-aa1"), Device("GPU-aa2")), (), "GPU-aa") == ()


@given(
    st.one_of(
        st.text("0129+-, \tGPUMIabcfx/;.\u0663"),
        st.lists(st.sampled_from(PIECES), max_size=4).map(",".join),
        st.integers().map(str),
    )
)
def test_laws(text: str) -> None:
    """Never raises; only what is there, each once; any text with a slice leaves that slice alone."""
    for gpus, slices in ((GPUS, ()), ((CUT, Device(B)), SLICES), ((), ())):
        found = visible(gpus, slices, text)
        assert len(set(found)) == len(found)
        assert set(found) <= {*gpus, *slices}
        assert not any(device.cut for device in found)
        assert len(found) == 1 or not any(device.parent for device in found)


@given(st.lists(st.integers(0, 7), unique=True, max_size=8))
def test_indices_select_in_their_order(indices: list[int]) -> None:
    """Distinct valid indices give those GPUs in that order."""
    gpus = tuple(Device(f"GPU-{i:x}") for i in range(8))
    assert visible(gpus, (), ",".join(map(str, indices))) == tuple(gpus[i] for i in indices)
