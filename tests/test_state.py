"""What became of XLA_FLAGS, as a value: the user's flags and ours, in the order in which they stand."""

from __future__ import annotations

import pytest

from jaxgpu_tune.state import FlagsText

READ = ("--xla_a=1", "--xla_b=2")


@pytest.mark.parametrize(
    ("flags", "texts", "ours"),
    [
        (FlagsText(None), (), None),
        (FlagsText("  --xla_a=1 "), (), "  --xla_a=1 "),
        (FlagsText("--xla_a=1 --xla_b=2", READ), READ, "--xla_a=1 --xla_b=2"),
        (FlagsText("x", READ, (1, "--xla_c=3", 0)), ("--xla_b=2", "--xla_c=3", "--xla_a=1"), "--xla_b=2 --xla_c=3 --xla_a=1"),
        (FlagsText("x", READ, ()), (), None),
        (FlagsText(None, (), ("--xla_c=3",)), ("--xla_c=3",), "--xla_c=3"),
    ],
)  # fmt: skip
def test_what_stands_there(flags: FlagsText, texts: tuple[str, ...], ours: str | None) -> None:
    """To the letter where it was left alone; where nothing is left the variable is gone."""
    assert (flags.texts, flags.ours) == (texts, ours)
