"""What changed between two releases."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.knowledge.flags import canonical, flag, flags, releases
from jaxgpu_tune.planning.release.changes import KINDS, flag_changes
from jaxgpu_tune.render.changes import changes_text

RELEASES = st.sampled_from(releases())


@settings(max_examples=25, deadline=None)
@given(old=RELEASES, new=RELEASES)
def test_the_changes_lead_from_one_release_to_the_other(old: str, new: str) -> None:
    """Names come out exactly; the way back tells the same, turned round."""
    changes, back = flag_changes(old, new), flag_changes(new, old)
    came = {change.name for change in changes if change.change == "appeared"}
    went = {change.name for change in changes if change.change == "vanished"}
    assert (set(flags(old)) | came) - went == set(flags(new))
    assert {change.name for change in back if change.change == "vanished"} == came
    changed = {change.name for change in changes if change.change == "default"}
    assert changed == {change.name for change in back if change.change == "default"}
    for name in set(flags(old)) & set(flags(new)) - {change.name for change in changes}:
        before, after = flag(name, old), flag(name, new)
        assert before is not None and after is not None and before.type == after.type
        held, holds = (spec.default if spec.undefined else spec.effective for spec in (before, after))
        assert (held is None) == (holds is None)
        if held is not None:
            assert canonical(before, held) == canonical(after, holds)


def test_a_release_does_not_differ_from_itself() -> None:
    """And the text says so."""
    assert flag_changes("0.11.2", "0.11.2") == ()
    assert changes_text((), ("0.11.2", "0.11.2"), 80) == "Nothing changed from 0.11.2 to 0.11.2."


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("xla_gpu_graph_level", "vanished", "--xla_gpu_enable_command_buffer="),
        ("xla_gpu_enable_pipelined_all_gather", "meaning", "no longer"),
        ("xla_gpu_enable_cublaslt", "default", "false -> true"),
        ("xla_gpu_enable_cudnn_fmha", "effect", "sets nothing any more"),
        ("xla_gpu_disable_async_collectives", "values", "now also RAGGEDALLTOALL"),
        ("xla_gpu_pipeline_all_gather", "appeared", "= "),
    ],
)
def test_every_kind_of_change_is_told_with_what_it_means(name: str, change: str, told: str) -> None:
    """From 0.4.36 to 0.11.2, both for one flag alone and among all."""
    (found,) = (item for item in flag_changes("0.4.36", "0.11.2", {name}) if item.change == change)
    assert found in flag_changes("0.4.36", "0.11.2")
    assert told in changes_text([found], ("0.4.36", "0.11.2"), 200)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_the_text_keeps_within_its_width_and_goes_from_the_worst_to_the_harmless(width: int) -> None:
    """Whatever changed."""
    changes = flag_changes("0.4.30", "0.11.2")
    assert max(map(len, changes_text(changes, ("0.4.30", "0.11.2"), width).split("\n"))) <= max(width, 60)
    order = [KINDS.index(change.change) for change in changes]
    assert order == sorted(order)


def test_new_flags_are_counted_and_those_that_are_set_come_first() -> None:
    """The first line counts; what concerns the flags of this environment is above the rest."""
    found = flag_changes("0.7.0", "0.7.2")
    text = changes_text(found, ("0.7.0", "0.7.2"), 100, own={"xla_gpu_graph_level"}, new_too=False)
    first, second, third, *_ = text.split("\n")
    assert first.startswith("From jaxlib 0.7.0 to 0.7.2: 3 vanished") and "new" in f"{first} {second}"
    assert "Of the flags that are set here:" in (second, third)
    assert "Appeared" not in text and text.endswith("The new flags: --all")
    assert "Appeared" in changes_text(found, ("0.7.0", "0.7.2"), 100)


def test_what_takes_the_place_of_a_flag_that_vanished_is_told_for_each_value() -> None:
    """Where the value goes over as it is, a dot tells so; no brace of the tables is shown."""
    changes = [change for change in flag_changes("0.4.30", "0.11.2") if change.change == "vanished"]
    told = [text for change in changes for text in change.notes]
    assert told and not any("{" in text for text in told)
    assert any("=…" in text for text in told) and any(": write --" in text for text in told)
    assert any("take it out" in text for text in told)
