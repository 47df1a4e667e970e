"""Who differs from whom, without any process: laws, and what a finding says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.planning.findings.agreement import disagreements, missing

SAME = {
    "host": {"name": "n0"},
    "versions": {"jax": "0.11.2", "jaxlib": "0.11.2", "driver": "580"},
    "gpus": {"kind": "H100"},
    "flags": {"xla_gpu_autotune_level": "4"},
    "env": {"NCCL_PROTO": "LL"},
    "options": {"jax_enable_x64": "False"},
}
CODES = {
    "versions": "versions-differ",
    "gpus": "gpus-differ",
    "flags": "flags-differ",
    "env": "environment-differs",
    "options": "options-differ",
}


def one_odd(section: str, name: str, text: str) -> dict[str, dict[str, str]]:
    """What all have, but for one text."""
    return {**SAME, section: {**SAME[section], name: text}}


@given(st.integers(1, 40))
def test_processes_that_are_alike_agree(count: int) -> None:
    """On whichever hosts."""
    assert not list(disagreements({rank: {**SAME, "host": {"name": f"n{rank}"}} for rank in range(count)}))


@given(st.integers(3, 40), st.data())
def test_the_odd_one_is_named_whichever_it_is(count: int, data: st.DataObject) -> None:
    """With its host, and as the only one, for each section."""
    odd = data.draw(st.integers(0, count - 1))
    section, name = data.draw(st.sampled_from([(s, n) for s in CODES for n in SAME[s]]))
    found = {rank: SAME if rank != odd else one_odd(section, name, "9.9") for rank in range(count)}
    (finding,) = disagreements(found)
    assert finding.code == CODES[section]
    assert finding.message.startswith(f"Process {odd} (n0) and the other {count - 1} processes differ in ")
    assert f"{name}: 9.9 instead of {SAME[section][name]}" in finding.message


def test_of_two_neither_is_called_the_right_one() -> None:
    """Both are named."""
    (finding,) = disagreements({0: SAME, 1: one_odd("flags", "xla_gpu_autotune_level", "0")})
    assert finding.message.startswith("Process 1 (n0) and process 0 (n0) differ in XLA flags:")


def test_all_that_one_process_has_alone_is_one_finding_a_section() -> None:
    """Not one a flag; what exceeds a readable line is counted."""
    flags = {f"xla_gpu_flag_{number:02}": "1" for number in range(20)}
    (finding,) = disagreements({0: SAME, 1: {**SAME, "flags": {**SAME["flags"], **flags}}, 2: SAME})
    assert "xla_gpu_flag_00" in finding.message and "; and 12 more." in finding.message


def test_a_value_for_each_process_is_not_a_finding_for_each() -> None:
    """As from a variable with the process's number in it."""
    found = {rank: one_odd("env", "NCCL_PROTO", str(rank)) for rank in range(30)}
    (finding,) = disagreements(found)
    assert "29 other values" in finding.message and "and 21 more" in finding.message


def test_of_two_releases_of_jax_only_the_options_that_both_have_count() -> None:
    """The versions are the finding."""
    newer = {
        **SAME,
        "versions": {**SAME["versions"], "jax": "0.12.0"},
        "options": {**SAME["options"], "jax_new": "1"},
    }
    assert [finding.code for finding in disagreements({0: SAME, 1: SAME, 2: newer})] == ["versions-differ"]


def test_severities() -> None:
    """What may be meant is a warning; what each process may have of its own is nothing."""
    cases = {
        ("versions", "driver"): "warning",
        ("gpus", "kind"): "warning",
        ("versions", "jaxlib"): "error",
        ("flags", "xla_gpu_autotune_level"): "error",
        ("flags", "xla_dump_to"): None,
        ("env", "NCCL_PROTO"): "error",
        ("env", "NCCL_SOCKET_IFNAME"): None,
        ("env", "XLA_PYTHON_CLIENT_PREALLOCATE"): "warning",
        ("env", "SLURM_PROCID"): None,
        ("options", "jax_enable_x64"): "error",
        ("options", "jax_cuda_visible_devices"): None,
        ("options", "jax_compilation_cache_dir"): "warning",
    }
    for (section, name), expected in cases.items():
        found = [finding.severity for finding in disagreements({0: SAME, 1: SAME, 2: one_odd(section, name, "x")})]
        assert found == ([] if expected is None else [expected]), name


def test_who_is_missing() -> None:
    """By rank; nobody is no finding."""
    assert not list(missing([], 5))
    (finding,) = missing([3, 5], 5)
    assert finding.message == "Processes 3, 5 did not come to check_processes() within 5 s."
