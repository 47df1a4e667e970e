"""The pool that variables give, and what is wrong with it: by size, by release, by what is not there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.pool_faults import check_pool, pool_in
from jaxgpu_tune.planning.in_force import Settled
from tests.fleet import machine

NEW, OLD = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
PREALLOCATE, ALLOCATOR = "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR"
SECOND = "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"
USER = "xla_gpu_enable_nccl_user_buffers"
GIB = 2**30
FRACTIONS = st.sampled_from([None, "", "0", "x", "-1", "0.2", "0.5", "0.8", "0.95", "1", "1.5", "nan", "inf"])


def told(environ: dict[str, str], devices: int = 2, flags: dict[str, str] | None = None, **here: Any) -> dict[str, Finding]:  # fmt: skip
    """Code -> finding, of the settings in force."""
    wishes = [Wish("env", name, value, "existing", "", "") for name, value in environ.items()]
    wishes += [Wish("xla_flag", name, value, "existing", "", "") for name, value in (flags or {}).items()]
    return {one.code: one for one in check_pool(Settled.of(wishes), machine(**here), Facts(devices=devices))}


@given(FRACTIONS, FRACTIONS, st.sampled_from([None, "false", "False", "0", "true"]), st.sampled_from([None, "platform", "cuda_async"]))  # fmt: skip
def test_the_share_that_is_taken_at_the_start(new: Any, old: Any, preallocate: Any, allocator: Any) -> None:
    """The old name's fraction before the new one's; what no reader takes counts as not set; none where nothing is taken."""
    stated = {NEW: new, OLD: old, PREALLOCATE: preallocate, ALLOCATOR: allocator}
    environ = {name: value for name, value in stated.items() if value is not None}
    pool = pool_in(environ, "0.11.2")
    text = old or new or ""
    fraction = float(text) if text in ("0.2", "0.5", "0.8", "0.95", "1") else 0.75
    assert pool.fraction == fraction and pool.allocator == (allocator or "default")
    nothing = pool.per_array or preallocate in ("false", "False", "0")
    assert pool.share == (0.0 if nothing else fraction)
    assert dict(pool.stated) == {name: value for name, value in environ.items() if value}
    assert not pool_in({**environ, ALLOCATOR: "cuda_async"}, "0.11.2").per_array


@given(st.sampled_from(["0.2", "0.5", "0.8", "0.9", "0.91", "0.95", "0.99", "1"]), st.sampled_from([NEW, OLD]), st.sampled_from([None, 2, 8, 80]), st.sampled_from([None, 1, 2]))  # fmt: skip
def test_a_high_fraction_leaves_too_little(text: str, name: str, size: int | None, devices: int | None) -> None:
    """For the libraries beside the pool, and for NCCL where it is needed; the default is nobody's statement."""
    here = machine(count=2)
    gpus = tuple(gpu._replace(memory_bytes=size and size * GIB) for gpu in here.gpus or ())
    wishes = [Wish("env", name, text, "existing", "", "")]
    found = [one.code for one in check_pool(Settled.of(wishes), here._replace(gpus=gpus), Facts(devices=devices))]
    left = (size or 10**9) * (1 - float(text))
    assert ("memory-fraction-high" in found) is (float(text) > 0.95 or left < (2 if devices == 2 else 1))
    assert "memory-fraction-high" not in told({})


@given(st.integers(0, 4096), st.sampled_from(["0.10.2", "0.11.2"]), st.sampled_from(["0.5", "0.98"]))
def test_a_second_pool_is_a_multiple_of_512_mib_and_fits(size: int, jaxlib: str, fraction: str) -> None:
    """Before 0.11.0 beside the first."""
    found = [
        one
        for one in check_pool(
            Settled.of(
                [Wish("env", SECOND, str(size), "existing", "", ""), Wish("env", NEW, fraction, "existing", "", "")]
            ),
            machine(jaxlib=jaxlib),
            Facts(devices=2),
        )
        if one.code == "collective-pool-size"
    ]
    uneven = [one for one in found if one.severity == "note"]
    assert bool(uneven) is (size % 512 != 0)
    assert not uneven or uneven[0].hint == f"Say {(size + 511) // 512 * 512}."
    full = size > 0 and jaxlib == "0.10.2" and size * 2**20 > 80 * GIB * (1 - float(fraction))
    assert ("warning" in {one.severity for one in found}) is full


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(("fraction", "second", "on"), [("0.9", "512", ""), ("0.9", "", "true"), ("0.5", "512", "true"), ("0.9", "", "false")])  # fmt: skip
def test_what_is_registered_lies_beside_a_large_fraction(devices: int, fraction: str, second: str, on: str) -> None:
    environ = {NEW: fraction, **({SECOND: second} if second else {})}
    found = told(environ, devices, {USER: on} if on else {}).get("registered-buffers-outside")
    causes = [f"--{USER}"] * (on == "true") + [f"{SECOND}=512"] * bool(second)
    assert (found is not None) is (devices > 1 and fraction == "0.9" and bool(causes))
    assert found is None or (found.severity == "warning" and found.message.startswith(" and ".join(causes)))


@pytest.mark.parametrize(("jaxlib", "one", "more", "none"), [("0.11.2", "means nothing.", "mean nothing.", None), ("0.10.1", "counts.", "count.", "fills it as by default")])  # fmt: skip
def test_settings_that_are_idle(jaxlib: str, one: str, more: str, none: str | None) -> None:
    """Of a pool that is not there its settings; where the release makes one all the same, what asks for none."""

    def said(**others: str) -> str:
        found = told({ALLOCATOR: "platform", **others}, jaxlib=jaxlib).get("memory-settings-idle")
        return "" if found is None else found.message

    assert said(**{PREALLOCATE: "true"}).endswith(f"{PREALLOCATE}=true {one}")
    assert said(**{PREALLOCATE: "true", NEW: "0.5"}).endswith(f"{PREALLOCATE}=true and {NEW}=0.5 {more}")
    assert (none in said()) if none else said() == ""
    assert "memory-settings-idle" not in told({ALLOCATOR: "cuda_async", NEW: "0.5"}, jaxlib=jaxlib)


@pytest.mark.parametrize(("mib", "told"), [(20480, False), (20992, True)])
def test_a_second_pool_may_take_all_that_the_first_leaves(mib: int, told: bool) -> None:
    """A quarter of 80 GiB beside three quarters, and no more."""
    wishes = [Wish("env", SECOND, str(mib), "existing", "", "")]
    found = check_pool(Settled.of(wishes), machine(jaxlib="0.10.2"), Facts(devices=2))
    assert ("collective-pool-size" in {one.code for one in found}) is told
