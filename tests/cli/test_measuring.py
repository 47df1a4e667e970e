"""Durations, shares and regular expressions of a command line."""

from __future__ import annotations

import math

import pytest

from jaxgpu_tune.cli.measuring import SECONDS, check_regex, duration, share
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.protocol import Protocol
from jaxgpu_tune.measure.statistics import PAIRS


def test_what_is_measured_by_default() -> None:
    """A command and a call of the function measure alike."""
    asked = Protocol()
    assert (asked.seconds, asked.pairs, asked.caches) == (duration(SECONDS.default, "--seconds"), PAIRS, "cold")
    assert asked.stop_when_futile and not asked.whole and not asked.higher_is_better


def test_durations() -> None:
    """With a unit or in seconds; nothing else, and nothing that is not positive."""
    assert [duration(text, "--budget") for text in ("90", "90s", "1.5h", None)] == [90.0, 90.0, 5400.0, None]
    for text in ("", "m", "-1", "nan", "1d"):
        with pytest.raises(BadSetting, match="--budget"):
            duration(text, "--budget")


def test_shares() -> None:
    """With a percent sign or without; what is no number passes no bound."""
    assert [share(text) for text in ("5%", "0.05", "0")] == [0.05, 0.05, 0.0]
    assert math.isnan(share("much")) and math.isnan(share("%"))


def test_regular_expressions() -> None:
    """None was given, or it can be used; else the error names the option."""
    check_regex("--metric", None)
    check_regex("--metric", r"loss (\d+)")
    with pytest.raises(BadSetting, match="--metric '\\(' is not a regular expression"):
        check_regex("--metric", "(")
