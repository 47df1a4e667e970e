"""What a search tries: that it exists, that its values are accepted, and that hazards are told apart."""

from __future__ import annotations

import pytest

from jaxgpu_tune import plan
from jaxgpu_tune.knowledge import flags, options, variables
from jaxgpu_tune.knowledge.candidates import KINDS, Candidate, autotuning, candidates, starts, treatment
from jaxgpu_tune.knowledge.hazards import hazards
from jaxgpu_tune.knowledge.presets import preset_names
from jaxgpu_tune.knowledge.vocabulary import when_problems

NEWEST = flags.releases()[-1]
MACHINE = {"jaxlib": NEWEST, "jax": NEWEST, "gpus": [{"compute_capability": "9.0", "count": 2}]}
every_candidate = pytest.mark.parametrize("candidate", candidates(), ids=lambda candidate: candidate.name)


@every_candidate
def test_a_candidate_is_complete(candidate: Candidate) -> None:
    """Kinds from the closed list, a reason, a public source, conditions from the vocabulary."""
    assert candidate.settings
    assert set(candidate.kinds) <= set(KINDS)
    assert candidate.kinds
    assert candidate.acts in ("program", "run")
    assert candidate.why
    assert candidate.source.startswith("https://")
    assert not when_problems(dict(candidate.when))


@every_candidate
def test_a_candidate_is_of_the_newest_release_and_its_value_is_accepted(candidate: Candidate) -> None:
    """As arguments, which raise where a value is wrong."""
    kinds = {"xla_flag": "flags", "env": "env", "jax_config": "jax_config"}
    for setting in candidate.settings:
        there = {
            "xla_flag": lambda name: flags.flag(name, NEWEST) is not None,
            "env": variables.is_setting,
            "jax_config": lambda name: options.option(name, NEWEST) is not None,
        }
        assert there[setting.kind](setting.name), setting.name
        asked = {kinds[setting.kind]: {setting.name: setting.value}}
        report = plan("auto", environ={}, machine=MACHINE, probe=False, **asked)
        assert any(d.name == setting.name and d.status in ("set", "default") for d in report.decisions)


def test_names_are_unique_and_no_two_candidates_are_the_same() -> None:
    names = [candidate.name for candidate in candidates()]
    sets = [frozenset((s.kind, s.name, str(s.value)) for s in one.settings) for one in candidates()]
    assert len(set(names)) == len(names)
    assert len(set(sets)) == len(sets)


def test_hazards_are_told_apart() -> None:
    """Every code is a hazard's, none is treated twice, and what is said to hang, end or change numbers is treated."""
    codes = {hazard.code for hazard in hazards()}
    assert treatment().numbers | treatment().dies <= codes
    assert not treatment().numbers & treatment().dies
    words = (
        "did not come back",
        "wrong numbers",
        "wrong offsets",
        "diverged",
        "hang",
        "hung",
        "end the process",
        "ended programs",
        "crash",
    )
    grave = {h.code for h in hazards() if h.severity != "note" and any(word in h.message for word in words)}
    assert grave <= treatment().numbers | treatment().dies


def test_a_search_begins_with_presets_that_are_there() -> None:
    assert set(starts()) <= set(preset_names())


def test_what_chooses_kernels_anew_is_tried() -> None:
    assert autotuning() <= {setting.name for one in candidates() for setting in one.settings}


def test_every_kind_of_program_has_candidates() -> None:
    assert {kind for candidate in candidates() for kind in candidate.kinds} == set(KINDS)
