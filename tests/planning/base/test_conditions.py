"""The vocabulary of conditions: what each says of known, of contradicting and of unknown facts."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.versions import is_specifier, matches, version_key
from jaxgpu_tune.knowledge.vocabulary import CONDITIONS
from jaxgpu_tune.planning.base.conditions import EVALUATORS, Facts, all_met, evaluate

H100S = Facts("0.11.2", ("9.0", "9.0"), 2, 2, True, 1, 1, "cuda", "2.28.9")


def test_the_vocabulary_equals_what_is_implemented() -> None:
    """A condition that may be written is implemented, and the other way round."""
    assert set(CONDITIONS) == set(EVALUATORS)


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_what_is_unknown_is_not_met_and_says_so(name: str) -> None:
    """Each condition on facts of which nothing is known."""
    demand = {"range": ">=1", "bool": True, "platform": "cuda"}[CONDITIONS[name]]
    (verdict,) = evaluate({name: demand}, Facts())
    assert verdict.met is None
    assert "unknown" in verdict.sentence
    assert name in verdict.sentence
    assert not all_met({name: demand}, Facts())


@pytest.mark.parametrize(
    ("when", "met"),
    [
        ({"jaxlib": ">=0.5.0,<0.12"}, True),
        ({"jaxlib": "<0.7.2"}, False),
        ({"jaxlib": "!=0.11.2"}, False),
        ({"nccl": "<2.29.2"}, True),
        ({"nccl": ">=2.100"}, False),
        ({"compute_capability": "==9.0"}, True),
        ({"compute_capability": ">=10.0"}, False),
        ({"devices": ">=2"}, True),
        ({"local_gpus": "==1"}, False),
        ({"processes": "==1"}, True),
        ({"hosts": ">=2"}, False),
        ({"nvlink": True}, True),
        ({"nvlink": False}, False),
        ({"platform": "cuda"}, True),
        ({"platform": "cpu"}, False),
    ],
)
def test_two_h100(when: dict[str, object], met: bool) -> None:
    """Each condition, met and not met, on two H100."""
    (verdict,) = evaluate(when, H100S)
    assert verdict.met is met
    assert verdict.sentence.endswith(".")


def test_gpus_that_differ_are_judged_by_the_least_able() -> None:
    """R54: one old card beside a new one."""
    mixed = Facts(compute_capabilities=("12.0", "6.1"))
    assert not all_met({"compute_capability": ">=8.0"}, mixed)
    assert not all_met({"compute_capability": "==12.0"}, mixed)
    assert all_met({"compute_capability": ">=6.0"}, mixed)
    assert "6.1" in evaluate({"compute_capability": ">=8.0"}, mixed)[0].sentence


def test_no_gpu_is_a_fact() -> None:
    """An empty tuple is not unknown: it is no."""
    (verdict,) = evaluate({"compute_capability": ">=8.0"}, Facts(compute_capabilities=()))
    assert verdict.met is False
    assert "no GPU" in verdict.sentence


def test_capability_10_is_above_9() -> None:
    """Numbers, not text, are compared."""
    assert matches(">=9.0", "10.0")
    assert not matches("==1.0", "10.0")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.6.0", "0.6.1.dev20250514+g12ab"),
        ("0.6.1.dev20250514", "0.6.1.dev20250601"),
        ("0.6.1.dev20250514", "0.6.1rc0"),
        ("0.6.1rc0", "0.6.1"),
        ("0.6.1", "0.6.1.post1"),
        ("0.9.0", "0.9.0.1"),
        ("0.9.2", "0.10.0"),
    ],
)
def test_versions_in_order(older: str, newer: str) -> None:
    """Development builds come before the release they lead to."""
    assert version_key(older) < version_key(newer)
    assert matches(f"<{newer.split('+', maxsplit=1)[0]}", older)


def test_a_local_part_and_trailing_zeros_do_not_count() -> None:
    """0.4.30+cuda12.cudnn89 is 0.4.30; 0.12 is 0.12.0."""
    assert matches("==0.4.30", "0.4.30+cuda12.cudnn89")
    assert matches("==0.12", "0.12.0")


def test_an_unreadable_version_is_unknown() -> None:
    """A version that no one can order is not met, and no exception."""
    (verdict,) = evaluate({"jaxlib": ">=0.5"}, Facts(jaxlib="nightly"))
    assert verdict.met is None
    assert "nightly" in verdict.sentence


@pytest.mark.parametrize("text", ["0.5", ">=", ">=0.5,", "~=0.5", ">=abc", "", 3, None, "=0.5"])
def test_what_is_no_range(text: object) -> None:
    """Texts that are refused as ranges."""
    assert not is_specifier(text)


def test_evaluating_a_wrong_table_raises() -> None:
    """A wrong table cannot pass in silence."""
    with pytest.raises(ValueError, match="no such condition"):
        evaluate({"moon": "full"}, H100S)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_gpus_that_are_alike_do_not_differ(count: int) -> None:
    """However many there are."""
    (verdict,) = evaluate({"compute_capability": ">=10.0"}, Facts(compute_capabilities=("9.0",) * count))
    assert verdict.met is False and verdict.sentence.startswith("Compute capability 9.0 ")
