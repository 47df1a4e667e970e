"""The kernels' source: every variant compiles without a GPU, and uses nothing that is ruled out."""

from __future__ import annotations

import itertools
import re

import pytest

from jaxgpu_tune.comms import nvrtc
from jaxgpu_tune.comms.shapes import CONTROL, SLOTS
from jaxgpu_tune.comms.staging import EMPTY
from tests.comms.variants import KERNELS, defines

pytestmark = pytest.mark.usefixtures("compiles_anew")

ARCHITECTURES, ELEMENTS = ("80", "90", "100"), (("BF16", 2), ("F16", 4), ("F32", 8))
"""Ampere, Hopper and Blackwell; each type with one number of ranks."""


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 2))])
def test_compiles_to_machine_code(turn: int, kernel: str) -> None:
    """For each architecture and each type, in the slow tests for each with each."""
    first = turn + list(KERNELS).index(kernel)
    for place, architecture in enumerate(ARCHITECTURES):
        element, world = ELEMENTS[(first + place) % len(ELEMENTS)]
        code = nvrtc.compiled(architecture, defines(element, world, kernel))
        assert code.startswith(b"\x7fELF") and b"jaxgpu_tune_" in code


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_variant_compiles(kernel: str) -> None:
    """Each type with each number of ranks; each of either as it is and for the probe."""
    for number, (element, world) in enumerate(itertools.product(("BF16", "F16", "F32"), (2, 4, 8))):
        probe = {"GIVE_UP": True} if number % 2 else {}
        assert nvrtc.compiled("90", {**defines(element, world, kernel), **probe}).startswith(b"\x7fELF")


@pytest.mark.parametrize("kernel", KERNELS)
def test_ptx_asks_for_nothing_that_is_ruled_out(kernel: str) -> None:
    """No multicast, no memory of a thread's own, and the instructions that the protocol rests on."""
    ptx = nvrtc.compiled("90", defines("BF16", 8, kernel), form="ptx").decode()
    assert not re.search(r"multimem|\.local|cluster|griddepcontrol", ptx)
    assert "ld.relaxed.sys.global.v4.u32" in ptx and "st.relaxed.sys.global.v4.u32" in ptx
    assert "%globaltimer" in ptx and "trap;" in ptx


def test_the_probe_gives_up_instead_of_ending_the_process() -> None:
    """An error in a kernel is the process's last; the probe's sums are compared anyway."""
    ptx = nvrtc.compiled("90", {**defines("BF16", 2, "one-shot"), "GIVE_UP": True}, form="ptx").decode()
    assert "trap;" not in ptx and "%globaltimer" in ptx


@pytest.mark.parametrize("kernel", KERNELS)
def test_fences_are_there_if_asked_for(kernel: str) -> None:
    """One before the first push, one after the last arrival."""
    plain, fenced = (
        nvrtc.compiled("90", {**defines("BF16", 4, kernel), **more}, form="ptx").decode()
        for more in ({}, {"FENCE": True})
    )
    assert "fence" not in plain and fenced.count("fence.acq_rel.sys;") == 2
    first, last = (find("fence.acq_rel.sys;") for find in (fenced.index, fenced.rindex))
    assert first < fenced.index("st.relaxed.sys") and fenced.rindex("ld.relaxed.sys") < last


def test_what_python_and_the_kernels_both_know_is_the_same() -> None:
    """The word that nothing has arrived in, and the sizes that the memory is made of."""
    source = nvrtc.SOURCE.decode()
    for name, value in (("EMPTY", f"0x{EMPTY:X}u"), ("SLOTS", SLOTS), ("CONTROL", CONTROL)):
        assert re.search(rf"#define {name} {value}\b", source), name
