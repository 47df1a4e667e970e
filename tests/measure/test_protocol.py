"""What a comparison is asked, by default."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.comparison import VariantRun
from jaxgpu_tune.measure.protocol import Arm, Listener, Protocol
from jaxgpu_tune.measure.statistics import verdict


def test_the_pairs_that_are_run_by_default_are_the_fewest_that_show_a_difference() -> None:
    pairs = Protocol().pairs
    assert verdict((1.01,) * pairs).word == "faster"
    assert verdict((1.01,) * (pairs - 1)).word == "no-difference"


def test_who_listens_to_nothing_is_told_all_and_disturbs_nobody() -> None:
    """Progress overrides what it shows."""
    heard: list[str] = []

    class Ends(Listener):
        def ends(self, trial: VariantRun) -> None:
            heard.append(trial.variant)

    listener = Ends()
    listener.begins("a", 0, 6, None)
    listener.sees(())
    listener.ends(VariantRun("a", 0, "ok"))
    Listener().ends(VariantRun("b", 0, "ok"))
    assert heard == ["a"]


def test_an_arm_and_a_protocol_stay_as_they_were_asked_for() -> None:
    """Two runs of one variant are of one environment."""
    arm = Arm("a", {"A": "1"}, ("true",))
    assert arm == Arm("a", {"A": "1"}, ("true",)) != arm._replace(command=("false",))
    assert dict(arm.settings) == {} and arm.findings == ()
    for value, name in ((arm, "environ"), (Protocol(), "pairs")):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
