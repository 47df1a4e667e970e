"""What the installed build would make of a flag, and what it leaves undefined."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.release.target import ENDS_PROCESS, Target, target_of
from tests.fleet import codes, decision, machine

UNROLLING = "xla_gpu_enable_while_loop_unrolling"
AUTO = "WHILE_LOOP_UNROLLING_AUTO_UNROLL"
UNDEFINED = ("0.4.34", "0.5.3", "0.8.1", "0.9.0.1")


@pytest.mark.parametrize("release", UNDEFINED)
class TestUndefined:
    """The setter of these releases writes to an undefined place in memory."""

    def test_stating_the_default_is_not_the_same_as_leaving_it_out(self, release: str) -> None:
        assert not Target((release,)).is_default(UNROLLING, AUTO)
        with pytest.raises(jaxgpu_tune.BadFlagValue, match="undefined place"):
            jaxgpu_tune.plan(flags={UNROLLING: AUTO}, environ={}, machine=machine(jaxlib=release))

    def test_no_preset_sets_it(self, release: str, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(f'[[set]]\nflag = "{UNROLLING}"\nvalue = "{AUTO}"\nreason = "faster"\n')
        report = jaxgpu_tune.plan(str(tmp_path / "mine.toml"), environ={}, machine=machine(jaxlib=release))
        assert UNROLLING not in report.xla_flags
        assert "undefined place" in decision(report, UNROLLING).reason

    def test_what_is_inherited_is_left_out_and_told(self, release: str) -> None:
        """With jaxlib 0.4.35 a process with the flag alone in XLA_FLAGS ends with a segmentation fault at jax.devices()."""
        text = f"--{UNROLLING}=WHILE_LOOP_UNROLLING_DOUBLE_BUFFER"
        report = jaxgpu_tune.plan(environ={"XLA_FLAGS": text}, machine=machine(jaxlib=release))
        assert report.xla_flags == ""
        assert "undefined-unrolling" in codes(report) and decision(report, UNROLLING).status == "dropped"


def test_a_later_release_reads_it() -> None:
    assert Target(("0.9.1",)).is_default(UNROLLING, AUTO)
    report = jaxgpu_tune.plan(flags={UNROLLING: AUTO}, environ={}, machine=machine(jaxlib="0.9.1"))
    assert "undefined-unrolling" not in codes(report)


def test_an_upgrade_over_what_was_undefined_is_no_change_of_its_default() -> None:
    from jaxgpu_tune.planning.release.changes import flag_changes

    assert not [c for c in flag_changes("0.9.0.1", "0.9.1", [UNROLLING]) if c.change == "default"]


def test_nothing_undefined_says_what_holds_without_it() -> None:
    """Of every release: what is undefined has no text that states its default."""
    found = [spec for release in known.releases() for spec in known.flags(release).values() if spec.undefined]
    assert len(found) > 10
    assert all(spec.effective is None for spec in found)


RELEASES = (known.releases()[0], "0.4.31", "0.5.3", "0.8.1", known.releases()[-1])


@given(st.sampled_from(RELEASES), st.sampled_from(RELEASES), st.data())
def test_what_one_of_two_builds_refuses_both_together_refuse(one: str, other: str, data: st.DataObject) -> None:
    """The worst of what either does comes of it."""
    name = data.draw(st.sampled_from(sorted(set(known.flags(one)) & set(known.flags(other)))))
    text = data.draw(st.sampled_from(("x", "1", "true", "", "-1", "99999999999999999999", " 2")))
    both, each = Target((one, other)), (Target((one,)), Target((other,)))
    assert (both.refusal(name, text) is None) is all(target.refusal(name, text) is None for target in each)
    assert both.ends_process(name, text) is any(target.ends_process(name, text) for target in each)
    assert both.is_default(name, text) is all(target.is_default(name, text) for target in each)
    assert not any(target.ends_process(name, text) for target in each if target.refusal(name, text) is None)
    assert both.is_taken_elsewhere(name, text) or all(target.refusal(name, text) for target in each)


def test_a_value_ends_the_process_where_the_parser_says_so() -> None:
    """An unknown flag does in any release, a flag without the value that it needs as well."""
    target = Target((known.releases()[-1],))
    assert target.ends_process("xla_gpu_autotune_level", "x") and not target.ends_process("xla_gpu_autotune_level", "1")
    assert target.ends_process("xla_no_such", "1") and target.ends_process("xla_gpu_autotune_level", None)
    assert not target.ends_process("xla_dump_hlo_as_text", None)
    assert "needs a value" in str(target.refusal("xla_gpu_autotune_level", None))
    assert Target(target.releases, refused=frozenset({"xla_dump_to"})).flag("xla_dump_to") is None
    assert Target(()).flag("xla_dump_to") is None


@given(st.integers(-3, 3), st.sampled_from(["", "+", " "]))
def test_a_count_of_devices_is_at_least_one(count: int, before: str) -> None:
    """With another XLA finds no device, and JAX does not start."""
    target, name = Target((known.releases()[-1],)), "xla_force_host_platform_device_count"
    refused = target.refusal(name, f"{before}{count}")
    assert (refused is None) is (count >= 1)
    assert refused is None or "whole numbers of at least 1" in refused
    assert refused is None or target.outcome(name, f"{before}{count}") in ("JAX would find no device", ENDS_PROCESS)


def test_a_build_that_is_in_no_table_is_both_its_neighbours() -> None:
    """Which is told, as is a plugin of another release."""
    found = target_of(machine(jaxlib="0.99.0"))
    assert found.releases == (known.releases()[-1],) and found.label == "jaxlib 0.99.0"
    assert {one.code for one in found.findings} == {"unknown-build"}
    assert all(one.severity == "warning" and "0.99.0" in one.message for one in found.findings)
    between = target_of(machine(jaxlib="0.8.0.5"))
    assert len(between.releases) == 2 and all(" and ".join(between.releases) in one.message for one in between.findings)
    here = machine(plugins={"jax-cuda13-plugin": "0.11.1", "jax-cuda13-pjrt": "0.11.1"})
    skewed = target_of(here)
    assert skewed.releases == ("0.11.2", "0.11.1") and skewed.findings == ()
    assert target_of(machine(jaxlib="0.11.2")).findings == ()
    nothing = target_of(jaxgpu_tune.Machine.from_dict({"gpus": []}))
    assert nothing.releases == () and [one.code for one in nothing.findings] == ["no-jaxlib"]
    assert nothing.label == "an unknown jaxlib" and nothing.jax_release is None


@pytest.mark.parametrize(
    ("pjrt", "name", "build"),
    [
        ("0.4.34", "xla_gpu_experimental_parallel_collective_overlap_limit", "jax-cuda12-pjrt 0.4.34"),
        ("0.4.36", "xla_gpu_enable_pgle_accuracy_checker", "jax-cuda12-pjrt 0.4.36"),
        ("0.4.36", "xla_gpu_pgle_accuracy_checker", "jaxlib 0.4.35"),
        ("0.4.36", "xla_no_such", "jaxlib 0.4.35"),
    ],
)
def test_of_two_builds_the_one_is_named_that_lacks_a_flag(pjrt: str, name: str, build: str) -> None:
    """R07: the older of the two may be the plugin."""
    here = machine(jaxlib="0.4.35", plugins={"jax-cuda12-plugin": pjrt, "jax-cuda12-pjrt": pjrt})
    assert target_of(here).without(name) == build
    report = jaxgpu_tune.plan("auto", machine=here, environ={"XLA_FLAGS": f"--{name}=1"})
    told = [finding.message for finding in report.findings if name in finding.message]
    assert report.xla_flags == "" and any(build in message for message in told)
    assert not any("instead" in message for message in told)
