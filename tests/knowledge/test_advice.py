"""Rules of advice: their form, the measures they speak of, and that each applies to its example and spares its neighbour."""

from __future__ import annotations

import string

import pytest

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.advice import COMPARISON, MEASURES, AdviceRule, advice_for, advice_rules, link_gb_per_s
from jaxgpu_tune.knowledge.tables import DATA, read_toml

AUTHORED = {table["code"]: table for table in read_toml(f"{DATA}/advice.toml")["rule"]}
every_rule = pytest.mark.parametrize("rule", advice_rules(), ids=lambda rule: rule.code)


@every_rule
def test_a_rule_is_complete(rule: AdviceRule) -> None:
    """Code, sentences, a public source, and conditions on measures that exist."""
    assert rule.code == rule.code.lower() and " " not in rule.code
    assert rule.message.endswith(".") and rule.do.endswith(".") and rule.evidence.endswith(".")
    assert rule.source.startswith("https://")
    assert rule.when and set(rule.when) <= set(MEASURES)
    for demand in rule.when.values():
        assert all(COMPARISON.fullmatch(part) for part in demand.split(","))


@every_rule
def test_a_rule_tells_figures(rule: AdviceRule) -> None:
    """What it gave where it was measured, or what it can give here; its own measures are among those that exist."""
    names = {name for text in (rule.message, rule.evidence) for _, name, _, _ in string.Formatter().parse(text) if name}
    assert names <= set(MEASURES)
    assert (
        any(character.isdigit() for character in rule.evidence) or "{" in rule.evidence or rule.code.startswith("waits")
    )


@every_rule
def test_a_rule_names_flags_that_exist(rule: AdviceRule) -> None:
    """A misspelt flag would never be set."""
    known = {name for release in flags.releases() for name in (*rule.set, *rule.unset) if flags.flag(name, release)}
    assert {*rule.set, *rule.unset} == known


@every_rule
def test_a_rule_applies_to_its_example_and_spares_its_neighbour(rule: AdviceRule) -> None:
    """With the measures that it names, and with those that differ."""
    table = AUTHORED[rule.code]
    codes = {advice.code for advice in advice_for(table["example"], rule.set)}
    assert rule.code in codes
    assert not rule.applies({**table["example"], **table["spared"]}, rule.set)


@every_rule
def test_a_rule_needs_what_it_asks_for_to_be_known(rule: AdviceRule) -> None:
    """Nothing measured, nothing advised; a flag that must be set or must not be is looked at."""
    table = AUTHORED[rule.code]
    assert not rule.applies({}, rule.set)
    assert not rule.applies({**table["example"], next(iter(rule.when)): None}, rule.set)
    assert not rule.set or not rule.applies(table["example"], ())
    assert all(not rule.applies(table["example"], (*rule.set, name)) for name in rule.unset)


@pytest.mark.parametrize(
    ("code", "older"),
    [
        ("gathers-exposed", "xla_gpu_enable_pipelined_collectives"),
        ("cuda-graphs-in-turn", "xla_gpu_graph_enable_concurrent_region"),
        ("open-loops", "xla_gpu_graph_level"),
        ("no-graphs-to-set", "xla_gpu_graph_enable_concurrent_region"),
        ("no-collectives-to-set", "xla_gpu_enable_pipelined_collectives"),
    ],
)
def test_a_flag_is_set_by_its_older_name_too(code: str, older: str) -> None:
    """As other releases have it: nothing is advised that is done already."""
    (rule,) = (one for one in advice_rules() if one.code == code)
    example = AUTHORED[code]["example"]
    assert rule.applies(example, (older,)) is bool(rule.set)
    assert rule.applies(example, ()) is not bool(rule.set)


def test_codes_are_unique() -> None:
    """An advice's code names one rule."""
    assert len({rule.code for rule in advice_rules()}) == len(advice_rules())


@pytest.mark.parametrize(
    ("gpu", "speed"),
    [
        ("NVIDIA H200", 450),
        ("NVIDIA H100 80GB HBM3", 450),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA A100-SXM4-80GB", 300),
        ("NVIDIA A100 80GB PCIe", None),
        ("NVIDIA GeForce RTX 4090", None),
        ("NVIDIA B200", 900),
    ],
)
def test_links_are_known_by_the_gpus_name(gpu: str, speed: float | None) -> None:
    """Cards of one generation differ in what connects them."""
    assert link_gb_per_s(gpu) == speed
