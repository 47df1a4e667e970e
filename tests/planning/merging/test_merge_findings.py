"""What is told where wishes meet, and how a wish is written."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.merging.merge import equal, list_steps, overruled, repeats, shown, yielding
from jaxgpu_tune.planning.release.target import Target

HERE = Target(("0.11.2",))
LEVEL = "xla_gpu_autotune_level"


def wish(value: object, origin: str = "existing", name: str = LEVEL, kind: str = "xla_flag", **more: object) -> Wish:
    return Wish(kind, name, value, origin, f"asked by {origin}", f"the {origin}", **more)  # type: ignore[arg-type]


def test_who_gives_way_is_told_once() -> None:
    """What is set already by whatever wins; an earlier call by an argument alone; what a preset wanted is no loss."""
    losers = [wish("1"), wish("2"), wish("3", "request"), wish("4", "preset"), wish(None, "request", "gone")]
    told = [(one.code, one.severity, one.message) for one in overruled(losers, wish("0", "argument"))]
    assert told == [
        ("overruled", "warning", f"--{LEVEL}=2 was set already; --{LEVEL}=0 (the argument) takes its place."),
        ("overruled", "warning", f"--{LEVEL}=3 was asked by request; --{LEVEL}=0 (the argument) takes its place."),
    ]
    assert [one.code for one in overruled(losers, wish("0", "request"))] == ["request-holds"]
    (removed,) = overruled([wish("3", "request")], wish(None, "argument"))
    assert removed.message.endswith("it is removed.")


def test_each_preset_that_would_set_it_otherwise_is_told() -> None:
    """The same in other words needs no word."""
    group = [wish("true"), wish("1", "preset"), wish("false", "preset")._replace(source="another")]
    (found,) = yielding([one._replace(name="xla_gpu_ftz") for one in group], wish("true", name="xla_gpu_ftz"), HERE)
    assert found.message == "--xla_gpu_ftz=true was set already and wins over --xla_gpu_ftz=false (another)."


def test_of_repeats_those_that_say_something_else_are_told() -> None:
    """Of steps of a list each, unless it stands for another flag."""
    given = [wish("1"), wish("2"), wish("2")]
    assert [one.message.partition(" ")[0] for one in repeats(given, {LEVEL: given[-1]})] == [f"--{LEVEL}=1"]
    steps = [wish("A,B", given="+B"), wish("A", given="-B", translated=True), wish("A")]
    assert [one.message.partition(" ")[0] for one in list_steps(steps)] == [f"--{LEVEL}=+B"]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (wish("2"), wish("2", "preset"), True),
        (wish("2"), wish("3"), False),
        (wish(None), wish(None), True),
        (wish(None), wish("2"), False),
        (wish("2"), wish("2", name="other"), False),
        (wish("1", name="xla_gpu_ftz"), wish("true", name="xla_gpu_ftz"), True),
        (wish("1", name="A", kind="env"), wish("true", name="A", kind="env"), False),
    ],
)
def test_flags_are_equal_if_xla_reads_them_alike(left: Wish, right: Wish, same: bool) -> None:
    """Variables if their texts are."""
    assert equal(left, right, HERE) is equal(right, left, HERE) is same


def test_a_wish_is_written_as_a_person_would() -> None:
    """A secret is not shown, and of a change to a list the change."""
    assert [wish(value).emitted for value in (None, "a", True, False, 3)] == [None, "a", "true", "false", "3"]
    assert shown(wish("A,B", given="+B")) == f"--{LEVEL}=+B"
    assert shown(wish("INFO", name="NCCL_DEBUG", kind="env")) == "NCCL_DEBUG=INFO"
    assert "abc123" not in shown(wish("abc123", name="WANDB_API_KEY", kind="env"))
