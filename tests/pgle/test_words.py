"""What is concluded from XLA's words; the lines are those that the GPU compiler of jaxlib 0.12.0.1 wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.pgle.words import Use, cache_findings, findings_of, main_use, recording_findings, uses_in

LOG = (Path(__file__).parent / "files" / "fsdp_missing.log").read_text().splitlines()
HEAD = "I1128 21:46:04.400022   13661 gpu_hlo_schedule.cc:"
READ = f"{HEAD}392] Using PGLE profile from /p.pbtxt"
SMALL = f"{HEAD}537] Found profile for module input_reduce_fusion, using profile guided latency estimator"
WHOLE = f"{HEAD}537] Found profile for module jit_f, using profile guided latency estimator"
ESTIMATOR = "W1128 21:46:05.675163   13661 profile_guided_latency_estimator.cc:"
SOME = [
    f"{ESTIMATOR}192] Found 79 instructions from the profile.",
    f"{ESTIMATOR}194] Missing 1 instructions from the profile.",
]
GATHER = f"{ESTIMATOR}197]   all-gather-start"

SEVERITIES = {"pgle-used": "note", "pgle-unreadable": "error"}


def codes(lines: list[str]) -> list[str]:
    found = findings_of(lines)
    assert all(one.severity == SEVERITIES.get(one.code, "warning") for one in found)
    return [one.code for one in found]


def test_nothing_missing_is_told_by_the_program_alone() -> None:
    """Small programs that XLA compiles to try its kernels are not the user's."""
    lines = ["mine", READ, SMALL, READ, WHOLE, f"{HEAD[:-19]}latency_hiding_scheduler.cc:1] other"]
    assert main_use(uses_in(lines)[0]) == Use("jit_f")
    (finding,) = findings_of(lines)
    assert finding.code == "pgle-used" and "jit_f" in finding.message and "none" in finding.message


def test_a_missing_collective_is_named() -> None:
    lines = [READ, SMALL, WHOLE, *SOME, GATHER]
    assert codes(lines) == ["pgle-used", "pgle-collectives-missing"]
    found = findings_of(lines)
    assert "79 costs of jit_f" in found[0].message and "all-gather-start" in found[1].message


def test_warnings_alone_are_enough() -> None:
    """JAX hides what is below; releases before 0.7 do not name the program."""
    assert main_use(uses_in([*SOME, GATHER])[0]) == Use("", 79, ("all-gather-start",))
    old = f"{HEAD}1] Found profile, using profile guided latency estimator"
    assert main_use(uses_in([old, *SOME, GATHER])[0]) == Use("", 79, ("all-gather-start",))


def test_a_profile_of_another_program() -> None:
    assert codes(LOG) == ["pgle-little-match", "pgle-collectives-missing"]


def test_ends_of_asynchronous_operations_run_nothing() -> None:
    (use,), _ = uses_in(LOG)
    assert set(use.missing) - set(use.measurable) == {name for name in use.missing if "done" in name} != set()
    assert set(use.collectives) < set(use.measurable)


def test_only_what_is_listed_is_missing() -> None:
    """Two blanks before each, and as many as were announced; whatever else the thread says between."""
    missing = f"{ESTIMATOR}194] Missing 2 instructions from the profile."
    names = [f"{ESTIMATOR}197]   fusion.{number}" for number in range(3)]
    (use,), _ = uses_in([WHOLE, SOME[0], missing, names[0], f"{ESTIMATOR}9]  one blank", *names[1:]])
    assert use == Use("jit_f", 79, ("fusion.0", "fusion.1"))


@pytest.mark.parametrize(("found", "code"), [(1, "pgle-little-match"), (2, "pgle-used"), (3, "pgle-used")])
def test_a_profile_that_has_less_than_half_is_of_another_program(found: int, code: str) -> None:
    counts = [f"{ESTIMATOR}192] Found {found} instructions from the profile."]
    counts.append(f"{ESTIMATOR}194] Missing 2 instructions from the profile.")
    assert codes([WHOLE, *counts, *(f"{ESTIMATOR}197]   fusion.{number}" for number in range(2))]) == [code]


def test_threads_of_the_compiler_do_not_mix() -> None:
    other = [line.replace("  13661 ", "  99 ") for line in (WHOLE.replace("jit_f", "jit_g"), *SOME)]
    uses, _ = uses_in([WHOLE, other[0], *other[1:], other[0].replace("jit_g", "jit_h")])
    assert [use.module for use in uses] == ["jit_f", "jit_g", "jit_h"] and uses[1].found == 79


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], ["pgle-not-used"]),
        (["step 1", SMALL], ["pgle-not-used"]),
        ([f"E{HEAD[1:]}1] PGLE profile file does not exist: /p.pb"], ["pgle-unreadable"]),
        ([f"E{HEAD[1:]}1] Tried but failed to parse PGLE proto from text file"] * 3, ["pgle-unreadable"]),
    ],
)
def test_what_speaks_against_it(lines: list[str], told: list[str]) -> None:
    assert codes(lines) == told


def test_what_jax_says_of_its_cache() -> None:
    """Each program once; a miss and a key that is new are told apart, and nothing loaded is a warning of its own."""
    loaded = [f"PGLE-optimized {name} loaded from compilation cache" for name in ("jit_b", "jit_a", "jit_b")]
    (finding,) = cache_findings(loaded)
    assert (finding.code, finding.severity, finding.message) == ("pgle-used", "note", "Loaded optimized: jit_a, jit_b.")
    missed = cache_findings([*loaded, "PERSISTENT CACHE MISS for PGLE-optimized jit_c"])
    assert [(one.code, one.severity) for one in missed] == [("pgle-used", "note"), ("pgle-miss", "warning")]
    assert "No optimized executable was kept of jit_c:" in missed[1].message
    made = cache_findings(["PERSISTENT CACHE WRITE with key jit_d-0123, size 4"])
    assert [(one.code, one.severity) for one in made] == [("pgle-miss", "warning"), ("pgle-not-used", "warning")]
    assert "has not this key: jit_d-0123." in made[0].message
    assert [one.code for one in cache_findings(["step 1"])] == ["pgle-not-used"]


def test_a_recording_whose_trace_was_empty_is_an_error() -> None:
    (finding,) = recording_findings(["step", "W PGLE collected an empty trace, so"])
    assert (finding.code, finding.severity) == ("pgle-empty-trace", "error")
    assert recording_findings([READ, WHOLE]) == findings_of([READ, WHOLE])
