"""The GPUs that JAX's pool is to be taken from: what is wrong with them, and who else is there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge.pool import neighbours
from jaxgpu_tune.model import Finding, Machine, Observation, Processes
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.gpu_faults import check_gpus, check_surroundings, installed_neighbours
from jaxgpu_tune.planning.findings.pool_faults import pool_in
from jaxgpu_tune.planning.in_force import Settled
from jaxgpu_tune.planning.request import Request
from tests.fleet import machine

FRACTION = "XLA_CLIENT_MEM_FRACTION"


def told(modules: set[str], fraction: str | None = None, **more: str) -> list[Finding]:
    """What is said where these modules are imported; ``more``: options of jax that are set already."""
    wishes = [Wish("jax_config", name, value, "existing", "", "") for name, value in more.items()]
    wishes += [Wish("env", FRACTION, fraction, "argument", "", "")] if fraction else []
    seen = Observation(machine(), modules=frozenset(modules))
    return list(check_surroundings(Settled.of(wishes), seen, Request()))


@pytest.mark.parametrize("one", neighbours(), ids=lambda one: one.module)
def test_a_library_that_needs_the_gpu_too_is_told(one: object) -> None:
    """A warning once it uses the GPU, as far as that can be seen; nothing where JAX leaves it half."""
    used = {one.module, *([one.used_by] if one.used_by else [])}  # type: ignore[attr-defined]
    (finding,) = told(used)
    assert (finding.code, finding.severity) == ("gpu-neighbour", "warning")
    assert finding.message.startswith(f"{one.name} is imported here and {one.does}; ")  # type: ignore[attr-defined]
    assert finding.message.endswith("JAX is to take 75% of each GPU when it starts.")
    (finding,) = told({one.module})  # type: ignore[attr-defined]
    assert finding.severity == ("note" if one.used_by else "warning")  # type: ignore[attr-defined]
    assert told(used, "0.5") == [] and len(told(used, "0.51")) == 1 and told({"numpy"}) == []


@pytest.mark.parametrize("one", neighbours(), ids=lambda one: one.module)
def test_one_that_is_installed_is_told_to_who_asks_what_is_here(one: object) -> None:
    for name in one.distributions:  # type: ignore[attr-defined]
        here = machine()._replace(libraries={name: "1.0"})
        (finding,) = installed_neighbours(pool_in({}, "0.11.2"), here)
        assert (finding.code, finding.severity) == ("gpu-neighbour", "note")
        assert finding.message.startswith(f"{one.name} is installed beside JAX and ")  # type: ignore[attr-defined]
        assert list(installed_neighbours(pool_in({FRACTION: "0.5"}, "0.11.2"), here)) == []
    assert list(installed_neighbours(pool_in({}, "0.11.2"), machine())) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jax_platforms": "cpu"}, ["JAX_PLATFORMS=cpu is set already: JAX computes on the CPU although GPUs are here."]),
        ({"jax_platform_name": "cpu"}, ["JAX_PLATFORM_NAME=cpu is set already: JAX computes on the CPU although GPUs are here, and starts them all the same."]),
        ({"jax_platforms": "cuda"}, []),
    ],
)  # fmt: skip
def test_a_cpu_that_is_asked_for_already_is_told(options: dict[str, str], said: list[str]) -> None:
    """Where JAX leaves the GPUs alone, who else is there does not matter."""
    found = told({"cupy"}, **options)
    notes = [one.message for one in found if one.code == "platform-is-cpu"]
    assert notes == said and {one.severity for one in found if one.code == "platform-is-cpu"} <= {"note"}
    assert ("gpu-neighbour" in {one.code for one in found}) is ("jax_platforms" not in options or not said)


NEW, OLD = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
GIB = 2**30


def of_gpus(here: Machine, environ: dict[str, str] | None = None, processes: int = 1) -> dict[str, Finding]:
    """Code -> finding, of the GPUs that the pool is taken from."""
    return {one.code: one for one in check_gpus(pool_in(environ or {}, here.jaxlib), here, processes)}


@given(
    st.lists(st.sampled_from([None, 0, GIB - 1, GIB, 40 * GIB, 60 * GIB, 80 * GIB]), min_size=1, max_size=3),
    st.sampled_from(["imported", "started"]),
    st.sampled_from([None, (0,)]),
    st.sampled_from([1, 2]),
)
def test_gpus_that_others_hold(free: list[int | None], phase: Any, ids: Any, local: int) -> None:
    """Full below 1 GiB, an error; occupied below the share of 75 %; only this process's own count, and none once it has started."""
    here = machine(count=len(free), phase=phase)
    gpus = tuple(gpu._replace(free_bytes=left) for gpu, left in zip(here.gpus or (), free, strict=True))
    found = of_gpus(here._replace(gpus=gpus, processes=Processes(local_count=local, local_device_ids=ids)))
    seen = [] if phase == "started" or (ids is None and local > 1) else free if ids is None else free[:1]
    full = [index for index, left in enumerate(seen) if left is not None and left < GIB]
    occupied = [index for index, left in enumerate(seen) if left is not None and GIB <= left < 60 * GIB]
    expected = {code for code, which in (("gpu-full", full), ("gpu-occupied", occupied)) if which}
    assert set(found) == expected
    assert not full or found["gpu-full"].message.startswith(f"GPU {', '.join(map(str, full))} has less")
    assert not full or found["gpu-full"].severity == "error"
    if occupied:
        least = min(seen[index] or 0 for index in occupied) / (80 * GIB)
        assert found["gpu-occupied"].message.startswith(f"GPU {', '.join(map(str, occupied))} has {least:.0%} of")
        assert f"memory_fraction={int(least * 95) / 100:g} fits" in found["gpu-occupied"].hint


@given(st.lists(st.sampled_from(["", "GPU-1", "GPU-2"]), min_size=1, max_size=4))
def test_gpus_that_give_one_uuid(uuids: list[str]) -> None:
    here = machine(count=len(uuids))
    gpus = tuple(gpu._replace(uuid=uuid or None) for gpu, uuid in zip(here.gpus or (), uuids, strict=True))
    twice = {uuid for uuid in uuids if uuid and uuids.count(uuid) > 1}
    found = [one for one in check_gpus(pool_in({}, "0.11.2"), here._replace(gpus=gpus)) if "uuid" in one.code]
    assert len(found) == len(twice) and all(any(f"({uuid})" in one.message for uuid in twice) for one in found)


@given(st.sampled_from(["0.3", "0.5", "0.6"]), st.integers(1, 3), st.booleans())
def test_memory_that_is_the_hosts_own(fraction: str, processes: int, integrated: bool) -> None:
    """Half of it is left to the host's programs, whoever takes it."""
    here = machine(count=1)
    capability = "12.1" if integrated else "9.0"
    gpus = tuple(gpu._replace(compute_capability=capability) for gpu in here.gpus or ())
    found = of_gpus(here._replace(gpus=gpus), {NEW: fraction}, processes)
    assert ("host-memory-taken" in found) is (integrated and float(fraction) * processes > 0.5)
