"""The faults that are planted: each changes what it says, and those known by name still fit the code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.mutate import __main__ as mutate
from tools.mutate.copies import Copy
from tools.mutate.faults import faults_of

SOURCE = '''"""Docstring."""
from typing import Any
__all__ = ["f"]
LIMIT: int = 3
def f(x: "int", y: Any = "word") -> "int":
    """Docstring."""
    if x < 2 and not y:
        print("a sentence stays")
    return x + len([z for z in y if z])
'''
EXPECTED = {
    "LIMIT: int = 4",
    'y: Any = "ord"',
    "if x <= 2 and not y",
    "if x < 3 and not y",
    "if ((x < 2) or (not y))",
    "if x < 2 and y:",
    "if not (x < 2 and not y):",
    "        pass\n",
    "    return None\n",
    "return (x) - (len([z for z in y if z]))",
    "if not (z)]",
}


def test_every_kind_of_fault_is_planted_and_nothing_else() -> None:
    """Annotations, docstrings, imports, ``__all__`` and sentences stay."""
    made = [fault.planted(SOURCE) for fault in faults_of(SOURCE) if fault.is_sound(SOURCE)]
    assert all(any(part.replace('"ord"', "'ord'") in one for one in made) for part in EXPECTED)
    assert len(made) == len(set(made)) == len(EXPECTED)
    assert all('"""Docstring."""' in one and '"int"' in one and '["f"]' in one for one in made)


@settings(max_examples=8)
@given(st.sampled_from(sorted(mutate.PACKAGE.rglob("planning/**/*.py"))))
def test_each_changes_the_program(path: Path) -> None:
    """And is told on one line."""
    source = path.read_text()
    plain = ast.dump(ast.parse(source))
    for fault in faults_of(source)[::41]:
        if fault.is_sound(source):
            assert ast.dump(ast.parse(fault.planted(source))) != plain
            assert "\n" not in fault.told(source) and " -> " in fault.told(source)


def test_those_known_by_name_fit_the_code() -> None:
    """Whoever changes such a line changes the table with it."""
    planted = list(mutate._by_name())
    assert len(planted) >= 25
    assert all(one.fault.is_sound(one.path.read_text()) for one in planted)
    assert all((mutate.ROOT / test).exists() for one in planted for test in one.tests)
    parts = mutate.PARTS["part"]
    assert all((mutate.ROOT / test).exists() for tests in parts.values() for test in tests)


@pytest.mark.slow
@pytest.mark.skipif(not (mutate.ROOT / ".git").exists(), reason="no checkout: git tells what to copy")
def test_a_copy_notices_and_is_as_before() -> None:
    """A fault that its tests know, and none."""
    (one,) = (planted for planted in mutate._by_name() if planted.fault.text.startswith("TOLERANCE = 0.1"))
    place, copy = one.path.relative_to(mutate.ROOT), Copy(mutate.ROOT, patience=300)
    try:
        assert copy.notices(place, one.fault, one.tests)
        assert (copy.root / place).read_text() == one.path.read_text()
        assert not copy.notices(place, one.fault._replace(text="TOLERANCE = 0.010"), one.tests)
    finally:
        copy.end()
    assert not copy.root.exists()
