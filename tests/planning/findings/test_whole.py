"""What is wrong with a plan as a whole: every kind of check looks at what is in force."""

from __future__ import annotations

import pytest

from jaxgpu_tune.model import Machine, Observation
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.whole import of_settings, of_surroundings
from jaxgpu_tune.planning.in_force import Settled
from jaxgpu_tune.planning.release.target import target_of
from jaxgpu_tune.planning.request import make_request
from jaxgpu_tune.planning.select import facts_of
from tests.fleet import machine

SHARED = {"jax_share_binary_between_hosts": True}


def codes(here: Machine, flags: dict[str, str] | None = None, env: dict[str, str] | None = None, **options: object) -> set[str]:  # fmt: skip
    """Of settings in force on a machine."""
    kinds = (("xla_flag", flags or {}), ("env", env or {}), ("jax_config", options))
    wishes = [Wish(kind, n, v, "existing", "", "") for kind, values in kinds for n, v in values.items()]  # type: ignore[arg-type]
    request = make_request()
    found = of_settings(
        Settled.of(wishes), facts_of(here, request), request, Observation(here, env or {}), target_of(here)
    )
    return {one.code for one in found}


def test_where_nothing_is_in_force_only_the_job_is_looked_at() -> None:
    """Which GPU a process takes is a variable of jax's, and no setting of a plan."""
    assert codes(machine()) == set()
    here, request = machine(count=2), make_request()
    seen = Observation(here, {"JAX_LOCAL_DEVICE_IDS": "9"})
    found = of_settings(Settled.of(()), facts_of(here, request), request, seen, target_of(here))
    assert [one.code for one in found] == ["bad-local-device-ids"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"env": {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.99"}}, "memory-fraction-high"),
        ({"flags": {"xla_gpu_enable_nccl_user_buffers": "true"}, "env": {"NCCL_NVLS_ENABLE": "0"}}, "user-buffers-without-nvls"),
        (SHARED, "share-binary-hangs"),
    ],
)  # fmt: skip
def test_each_check_sees_what_is_in_force(settings: dict[str, object], code: str) -> None:
    """By flags, by variables, by options."""
    here = machine(processes={"rank": 0, "count": 2, "local_rank": 0, "local_count": 1})
    assert code in codes(here, **settings)  # type: ignore[arg-type]


def test_surroundings_are_those_of_gpus() -> None:
    """Without one there is nobody to share with."""
    crowded = machine(count=1)
    full = crowded._replace(gpus=tuple(gpu._replace(free_bytes=0) for gpu in crowded.gpus or ()))
    for here, expected in ((full, {"gpu-full"}), (crowded, set()), (full._replace(gpus=()), set())):
        found = of_surroundings(Settled.of(()), Observation(here), make_request())
        assert {one.code for one in found} == expected
