"""What presets were measured to gain: of presets that there are, and told as the pairs of runs say it."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.gains import Gain, gains_of
from jaxgpu_tune.knowledge.presets import all_presets

BY_PRESET = {preset.name: gains_of(preset.name) for preset in all_presets()}
GAINS = [gain for gains in BY_PRESET.values() for gain in gains]


def test_each_gain_is_of_its_preset_and_of_a_release_that_is_known() -> None:
    """A preset that there is not has none; no workload of a preset is told twice for one place."""
    assert len(GAINS) > 20 and gains_of("no-such-preset") == ()
    assert all(gain.preset == name for name, gains in BY_PRESET.items() for gain in gains)
    assert {gain.jaxlib for gain in GAINS} <= {*flags.releases()}
    assert len({(g.preset, g.workload, g.gpu, g.count, g.jaxlib) for g in GAINS}) == len(GAINS)


@pytest.mark.parametrize("gain", GAINS, ids=lambda gain: f"{gain.preset}-{gain.workload}".replace(" ", "_"))
def test_a_verdict_says_what_the_pairs_say(gain: Gain) -> None:
    """Fewer than six decide nothing; faster and slower have every pair on one side of 1."""
    assert 0 < gain.low <= gain.speed <= gain.high and gain.pairs >= 1 and gain.count >= 1
    assert gain.pairs >= 6 or gain.verdict == "undecided"
    if gain.verdict == "faster":
        assert gain.low > 1
    if gain.verdict == "slower":
        assert gain.high < 1
