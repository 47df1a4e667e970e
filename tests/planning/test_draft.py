"""A draft: every origin's settings come to one outcome, with what the request holds to be in force."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.model import Machine, Observation
from jaxgpu_tune.planning.composing import compose
from jaxgpu_tune.planning.draft import Draft, Sight, drafted
from jaxgpu_tune.planning.request import make_request
from tests.fleet import machine

LEVEL = "xla_gpu_autotune_level"


def draft(preset: str = "auto", environ: dict[str, str] | None = None, here: Machine | None = None, looks: bool = True, **asked: Any) -> Draft:  # fmt: skip
    """Of a preset on eight H100s."""
    sight = Sight(Observation(here or machine(), environ or {}), compose(preset), looks_around=looks)
    return drafted(make_request(preset, asked), sight)


def test_what_is_set_stays_and_what_is_asked_for_comes_last() -> None:
    """One decision for each setting, sorted; and the flags as they will stand."""
    found = draft("fsdp", {"XLA_FLAGS": f"--{LEVEL}=3 --xla_dump_to=a"}, flags={LEVEL: 2}, env={"NCCL_DEBUG": "INFO"})
    keys = [(one.kind, one.name) for one in found.decisions]
    assert len({*keys}) == len(keys) and {("xla_flag", LEVEL), ("env", "NCCL_DEBUG")} <= {*keys}
    assert f"--{LEVEL}=2" in found.flags.split() and "--xla_dump_to=a" in found.flags.split()
    assert found.settled.flags[LEVEL] == "2" and found.settled.variables["NCCL_DEBUG"] == "INFO"
    assert {one.name for one in found.wishes} == {
        *found.settled.flags,
        *found.settled.variables,
        *found.settled.options,
    }


def test_a_preset_is_of_the_facts_of_this_machine() -> None:
    """On one GPU what needs two is not met, and nothing is wrong with that."""
    one = draft("fsdp", here=machine(count=1))
    assert one.facts.devices == 1 and one.flags == "" and one.problems == ()
    assert {decision.status for decision in one.decisions} == {"unmet"}
    assert draft("fsdp").flags and draft("fsdp").facts.devices == 8


@pytest.mark.parametrize("looks", [True, False])
def test_faults_of_what_is_installed_are_avoided_where_one_looks_around(looks: bool) -> None:
    """They are known in either case."""
    faulty = machine("H200", 2, "0.12.0.1", nccl="2.28.9", libraries={"nvidia-nccl-cu13": "2.28.9"})
    found = draft(here=faulty, looks=looks)
    assert [fault.code for fault in found.faults] == ["nccl-too-old-for-kernels"]
    assert bool(found.flags) is looks
    assert {one.origin for one in found.wishes} == ({"fault"} if looks else set())


def test_all_that_is_wrong_with_the_arguments_is_kept() -> None:
    """Those of the request, and those that only a build can tell."""
    wrong = draft(flags={LEVEL: "many", "xla_no_such_flag": 1}, memory_fraction="half")
    messages = " ".join(problem.finding.message for problem in wrong.problems)
    assert len(wrong.problems) == 3 and all(word in messages for word in ("many", "xla_no_such_flag", "half"))


def test_what_the_binaries_said_goes_before_the_tables() -> None:
    observation, request = Observation(machine()), make_request("auto", {"flags": {LEVEL: 2, "xla_brand_new": 1}})
    sight = Sight(observation, compose("auto"), refused=frozenset({LEVEL}), accepted=frozenset({"xla_brand_new"}))
    found = drafted(request, sight)
    assert found.flags == "--xla_brand_new=1"
    assert {one.name: one.status for one in found.decisions} == {LEVEL: "absent", "xla_brand_new": "set"}
