"""Each workload trains on CPU devices, and its loss does not depend on how it is cut."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.workloads import WORKLOADS
from tests.child import told

TRAIN = """
import jax
from benchmarks.workloads import WORKLOADS
found = {}
for name in NAMES:
    module, options = WORKLOADS[name].loaded(), dict(WORKLOADS[name].options)
    for case, count, alone in (("one", 1, False), ("two", 2, False), ("alone", 2, True)):
        if case == "one" and name in NOT_ON_ONE:
            continue
        size = module.size_of("tiny", count, **options)
        devices = jax.devices()[:1] * count if alone else jax.devices()[:count]
        step, state, batch = module.build(devices, size, alone=alone, **options)
        step = step.lower(state, batch).compile()
        losses = []
        for _ in range(4):
            state, loss = step(state, batch)
            losses.append(float(loss))
        found.setdefault(name, {})[case] = {"losses": losses, "collectives": step.as_text().count("channel_id")}
tell(found)
"""
FAST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
REFERENCE = {
    **{name: name for name in WORKLOADS},
    **dict.fromkeys(("fsdp_first", "fsdp_comm", "tensor_parallel", "pipeline"), "data_parallel"),
}
"""What each is compared with on one device. Four train the same model as data_parallel, cut in other ways."""
PLAIN = tuple(name for name, workload in WORKLOADS.items() if not workload.of_a_library)
"""Those in plain JAX; programs of libraries have tests of their own."""
NAMES = tuple(name for name in PLAIN if name != "fsdp_compute")
"""Tiny, fsdp_compute is fsdp_comm."""


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    """Losses and collectives of each workload on one device, on two, and one share of two alone."""
    others = [name for name in NAMES if REFERENCE[name] != name]
    code = TRAIN.replace("NAMES", repr(NAMES)).replace("NOT_ON_ONE", repr(others))
    return dict(told(code, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="2", XLA_FLAGS=FAST))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_devices_train_as_one(trained: dict[str, Any], name: str) -> None:
    """The same losses, up to rounding in bfloat16, however the work is cut."""
    assert trained[name]["two"]["losses"] == pytest.approx(trained[REFERENCE[name]]["one"]["losses"], rel=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("decode", "stencil")])
def test_training_learns(trained: dict[str, Any], name: str) -> None:
    """The loss becomes smaller at every step."""
    losses = trained[name]["two"]["losses"]
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_share_alone_communicates_nothing(trained: dict[str, Any], name: str) -> None:
    """Two devices do, so that the step less the share is communication."""
    assert trained[name]["two"]["collectives"] > 0
    assert trained[name]["alone"]["collectives"] == 0
    assert all(0 < loss < 10 for loss in trained[name]["alone"]["losses"])


SIZES = """
import jax
from benchmarks.workloads import WORKLOADS
found = {}
for name, workload in WORKLOADS.items():
    if workload.of_a_library:
        continue
    module, options = workload.loaded(), dict(workload.options)
    size = module.size_of("tiny", 3, **options)
    step, state, batch = module.build(jax.devices(), size, **options)
    found[name] = float(step(state, batch)[1])
tell(found)
"""


@pytest.mark.slow
def test_any_number_of_devices_shares_the_work() -> None:
    """Three do, on sizes that are made to fit."""
    losses = told(SIZES, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="3", XLA_FLAGS=FAST)
    assert set(losses) == set(PLAIN) and all(0 < loss < 10 for loss in losses.values())
