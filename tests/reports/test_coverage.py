"""Every public report that was gathered has a test that bears its number."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REPORTS = range(1, 88)


def test_each_report_has_its_test() -> None:
    """In a name such as ``test_R48_…`` or ``test_R01_R02_…``."""
    names = (name for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (test\w+)", path.read_text()))
    borne = {int(number) for name in names for number in re.findall(r"_[rR](\d\d)(?=_)", name)}
    assert set(REPORTS) - borne == set()
