"""What one setting passes inside ``plan()``, held to what was reached; and that the counts would see more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.house import code_lines, function_lines, functions_of, main
from tools.walk import Step, decides, is_held, returns, to_decision

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def walks() -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.walk", "--json"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout))


def test_an_inherited_flag_goes_straight_to_its_decision(walks: dict[str, Any]) -> None:
    """From its text to a wish and the decision, judged once."""
    walk = walks["inherited flag"]
    assert walk["forms"] == ["Token", "Wish", "Decision"]
    assert (walk["functions"] <= 45, walk["modules"] <= 12, walk["judged"]) == (True, True, 1)


@pytest.mark.parametrize(
    ("name", "forms"), [("damaged flag", "Spelling"), ("renamed flag", "Translation"), ("preset flag", "Setting")]
)
def test_each_other_takes_one_more_form_at_most(walks: dict[str, Any], name: str, forms: str) -> None:
    """What is damaged is spelt, what is renamed translated, what a preset states a setting before it is a wish."""
    walk = walks[name]
    assert set(walk["forms"]) - {"Token", "Wish", "Decision"} == {forms}
    assert walk["judged"] == 1 + (name == "renamed flag")  # what stands for it is judged, too


def test_a_way_ends_with_the_decision_and_counts_who_is_entered_again() -> None:
    steps = [
        Step("a.py", "f", True, ("str",), False),
        Step("b.py", "g", True, ("Wish",), False),
        Step("a.py", "h", True, ("Wish",), False),
        Step("a.py", "h", False, ("Decision",), True),
        Step("c.py", "i", True, ("Decision",), False),
    ]
    assert to_decision(steps) == steps[:4] and returns(steps) == 1


def test_what_holds_a_setting() -> None:
    """A text, a number, a field, plain values within a field; no mapping, and nothing whole."""
    from jaxgpu_tune.knowledge.translations import Translation
    from jaxgpu_tune.model import Decision, Observation
    from jaxgpu_tune.planning.base.wish import Outcome

    marks = ("xla_a", "7")
    decision = Decision("xla_flag", "xla_a", "1", "set", "")
    assert is_held("--xla_a=1", marks) and is_held(7, marks) and not is_held(8, marks)
    assert is_held(decision, marks) and decides(decision) and decides(Outcome(decisions=(decision,)))
    assert not decides(decision._replace(status="translated"))
    assert is_held(Translation((("xla_flag", "xla_a", "1"),), ""), marks)
    assert not is_held({"xla_a": "7"}, marks) and not is_held(Observation.__name__, marks)


def test_lines_of_code_leave_out_what_is_said() -> None:
    text = '"""Of what."""\n\n# why\ndef f():\n    """What.\n\n    More.\n    """\n    return (\n        1\n    )\n'
    assert code_lines(text) == {4, 9, 10, 11} and [function_lines(one) for one in functions_of(text)] == [4]


@pytest.mark.slow
def test_no_module_needs_one_that_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--root", str(ROOT)])
    assert "a circle of imports at the top of modules: none" in capsys.readouterr().out
