"""What the installed build would make of a flag, and what it leaves undefined."""

from __future__ import annotations

from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.release.target import Target
from tests.fleet import codes, decision, machine

UNROLLING = "xla_gpu_enable_while_loop_unrolling"
AUTO = "WHILE_LOOP_UNROLLING_AUTO_UNROLL"
UNDEFINED = ("0.4.34", "0.5.3", "0.8.1", "0.9.0.1")


@pytest.mark.parametrize("release", UNDEFINED)
class TestUndefined:
    """The setter of these releases writes to a place in memory that is chance."""

    def test_stating_the_default_is_not_the_same_as_leaving_it_out(self, release: str) -> None:
        assert not Target((release,)).is_default(UNROLLING, AUTO)
        with pytest.raises(jaxgpu_tune.BadFlagValue, match="chance"):
            jaxgpu_tune.plan(flags={UNROLLING: AUTO}, environ={}, machine=machine(jaxlib=release))

    def test_no_preset_sets_it(self, release: str, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(f'[[set]]\nflag = "{UNROLLING}"\nvalue = "{AUTO}"\nreason = "faster"\n')
        report = jaxgpu_tune.plan(str(tmp_path / "mine.toml"), environ={}, machine=machine(jaxlib=release))
        assert UNROLLING not in report.xla_flags
        assert "chance" in decision(report, UNROLLING).reason

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
