"""Each workload trains on CPU devices, and its loss does not depend on how it is cut."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from benchmarks.workloads import WORKLOADS
from jaxgpu_tune import plan
from tests.child import FAST, compiled_once, told_warm
from tests.fleet import machine

TRAIN = r"""
import jax
import re
import sys
from benchmarks.workloads import WORKLOADS, common
NAME, CASES, LOWERED = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
module, options = WORKLOADS[NAME].loaded(), dict(WORKLOADS[NAME].options)
found = {}
for case in CASES:
    count = {"one": 1, "two": 2, "three": 3}[case]
    size = module.size_of("tiny", count, **options)
    devices = jax.devices()[:count]
    if case in LOWERED:  # only shapes, as for devices that are not here
        common.Place.absent = property(lambda place: True, lambda place, here: None)
    step, state, batch = module.build(devices, size, **options)
    lowered = step.lower(state, batch)
    if case in LOWERED:
        found[case] = {"devices": int(re.search(r"mhlo.num_partitions = (\d+)", lowered.as_text())[1])}
        continue
    step, losses = lowered.compile(), []
    for _ in range(4):
        state, loss = step(state, batch)
        losses.append(float(loss))
    found[case] = {"losses": losses, "collectives": step.as_text().count("channel_id")}
tell(found)
"""
REFERENCE = {
    **{name: name for name in WORKLOADS},
    **dict.fromkeys(("fsdp_first", "fsdp_comm", "tensor_parallel", "pipeline"), "data_parallel"),
}
"""What each is compared with on one device. Four train the same model as data_parallel, cut in other ways."""
NAMES = tuple(
    name for name, it in WORKLOADS.items() if name != "fsdp_compute" and not it.module.startswith("programs.")
)
"""Tiny, fsdp_compute is fsdp_comm; programs of libraries have tests of their own."""
FIRST_OF = {(it.module, it.options): name for name, it in reversed(WORKLOADS.items())}
"""Workloads that differ in what is timed are one program."""


def trained(name: str, cases: str, lowered: str = "") -> dict[str, Any]:
    """Losses and collectives of a workload on one device or several; some are only lowered."""
    return _trained(FIRST_OF[WORKLOADS[name].module, WORKLOADS[name].options], cases, lowered)


@cache
def _trained(name: str, cases: str, lowered: str) -> dict[str, Any]:
    environ = compiled_once(JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="3", XLA_FLAGS=FAST)
    return dict(told_warm(TRAIN, argv=(name, cases, lowered), **environ))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_workload_trains_however_it_is_cut(name: str) -> None:
    """The same losses on two devices as on one, up to rounding in bfloat16; they become smaller.

    For three devices it makes sizes that fit.
    """
    found = trained(name, "two three", "three")
    one = trained(REFERENCE[name], "one")["one"]["losses"]
    two = found["two"]["losses"]
    assert two == pytest.approx(one, rel=5e-3)
    if name.removesuffix("_start") not in ("decode", "stencil"):
        assert two == sorted(two, reverse=True) and two[-1] < two[0]
    assert found["two"]["collectives"] > 0
    assert found["three"]["devices"] == 3


@pytest.mark.parametrize("count", [1, 2])
def test_a_variant_has_all_the_settings_of_its_preset(count: int) -> None:
    """None is left out because it is dangerous beside what the variant adds: its times would be told of the preset."""
    variants = {one.name: one for it in WORKLOADS.values() for one in it.tried if one.preset}
    plans = {
        name: plan(it.preset, machine=machine("H200", count), environ={}, **it.arguments)
        for name, it in variants.items()
    }
    told = {
        name: [one.message for one in made.findings if "is left out beside" in one.message]
        for name, made in plans.items()
    }
    assert {name: messages for name, messages in told.items() if messages} == {}
