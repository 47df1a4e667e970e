"""A search's answer as text, table and page: everything escaped, nothing from outside, failures told."""

from __future__ import annotations

import re
from typing import Any

from jaxgpu_tune.render.tuned import trial_heading, trial_line, tuned_html, tuned_page, tuned_text

NASTY = "<script>alert('x')</script>"


def trial(name: str, ms: float | None, purpose: str, failure: str = "") -> dict[str, Any]:
    return {"name": name, "ms": ms, "purpose": purpose, "failure": failure, "seconds": 9.0, "detail": {"cause": NASTY}}


TOLD: dict[str, Any] = {
    "command": ["python", NASTY],
    "answer": f"1.300 times as fast as what you have {NASTY}",
    "path": "tuned.toml",
    "ms_as_it_is": 10.0,
    "settings": [["env", "X", NASTY]],
    "hazards": ["some-code: it may hang."],
    "findings": [{"severity": "warning", "message": "GPU 0 is busy.", "hint": "End what runs there."}],
    "did": [
        {"name": "a", "tried": 2, "effect": 1.3, "spread": 0.01, "chosen": True, "why": ""},
        {"name": NASTY, "tried": 1, "effect": None, "spread": None, "chosen": False, "why": "hang: it was ended"},
        {"name": "c", "tried": 0, "effect": None, "spread": None, "chosen": False, "why": "no such flag"},
    ],
    "contests": [
        {"reference": "what you have", "challenger": NASTY, "ratios": [1.3, 1.31], "verdict": "faster", "won": True},
        {"reference": "what you have", "challenger": "b", "ratios": [], "verdict": "failed", "won": False},
    ],
    "trials": [trial("what you have", 10.0, "start"), trial("a", 7.7, "check"), trial(NASTY, None, "toggle", "hang")],
}


def test_the_page_escapes_all_and_loads_nothing() -> None:
    page = tuned_page(TOLD)
    assert "<script" not in page
    assert not re.search(r"(src|href)=", page)
    assert page.count("<circle") == 2 + 2
    assert "hang" in page and "GPU 0 is busy" in page
    assert "<script" not in tuned_html(TOLD)


def test_a_search_that_has_measured_nothing_has_a_page() -> None:
    empty = {
        **TOLD,
        "ms_as_it_is": None,
        "trials": [trial("a", None, "start", "died")],
        "contests": [],
        "did": [],
        "settings": [],
    }
    assert "<svg" not in tuned_page(empty)


def test_the_text_tells_the_answer_the_warnings_and_each_setting() -> None:
    text = tuned_text(TOLD, 100)
    assert text.startswith("1.300 times as fast")
    assert "configure('tuned.toml')" in text
    assert "warning: some-code: it may hang." in text and "warning: GPU 0 is busy. End what runs there." in text
    assert re.search(r"a +2 +1\.300 ± 0\.010 +chosen", text)
    assert "Not tried: c" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_run_is_one_line() -> None:
    assert (
        trial_line(TOLD["trials"][1], 2, 10.0, 75.4) == "  2           7.7 ms   1.299  fresh pair      a  (1:15 left)"
    )
    assert trial_line(TOLD["trials"][1], 2, 10.0, 75.4, "b").endswith("fresh pair      a  (1:15 left; best so far: b)")
    assert trial_heading() == "run             time   speed  what for        settings"
    assert "hang" in trial_line(TOLD["trials"][2], 3, 10.0, 0)
    assert trial_heading({"clock": "metric"}).startswith("run           metric   speed")
    assert "0:00 left" in trial_line(TOLD["trials"][2], 3, None, -5)
