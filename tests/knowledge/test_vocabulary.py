"""The words of conditions, and what is wrong with a table of them."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgpu_tune.knowledge.vocabulary import when_problems


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"jaxlib": ">=0.5.0,<0.7.2"},
        {"compute_capability": "==9.0"},
        {"devices": ">=2"},
        {"nvlink": True},
        {"platform": "cuda"},
    ],
)
def test_what_a_table_may_say(when: dict[str, Any]) -> None:
    assert when_problems(when) == ()


@pytest.mark.parametrize(
    ("when", "told"),
    [
        (3, ["when = 3 is not a table of conditions"]),
        ({"devises": ">=2"}, ["devices"]),
        ({"devices": 2}, ["a range in quotes"]),
        ({"devices": "two"}, ["a range in quotes"]),
        ({"nvlink": "yes"}, ["true or false"]),
        ({"platform": "gpu"}, ['"cuda" or "cpu"']),
        ({"devices": 2, "nvlink": 1, "odd": 1}, ["devices", "nvlink", "odd"]),
    ],
)
def test_each_mistake_is_a_sentence_that_says_what_is_allowed(when: Any, told: list[str]) -> None:
    """All at once, and where: by the key of the table."""
    found = when_problems(when)
    assert len(found) == len(told) and all(word in one for word, one in zip(told, found, strict=True))
    assert all(one.startswith("when") for one in found)
    assert all(one.startswith("measured") for one in when_problems(when, "measured"))


def test_wrong_tables_are_told_with_the_allowed_words() -> None:
    """All problems at once; a near miss names the closest word."""
    problems = when_problems({"jaxlab": ">=1", "nvlink": "yes", "platform": "gpu", "devices": 2})
    assert len(problems) == 4
    assert "Did you mean 'jaxlib'?" in problems[0]
    assert "compute_capability" in problems[0]
    assert "true or false" in problems[1]
    assert '"cuda"' in problems[2]
    assert ">=2" in problems[3]
    assert when_problems("x")
    assert not when_problems({})
