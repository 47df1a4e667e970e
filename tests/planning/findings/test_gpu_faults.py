"""Who else is on the GPUs that JAX's pool is to be taken from."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.pool import neighbours
from jaxgpu_tune.model import Finding, Observation
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.gpu_faults import check_surroundings, installed_neighbours
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
