"""The faults that are planted: each changes what it says, and those known by name still fit the code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.child import run
from tools.mutate import __main__ as mutate
from tools.mutate.copies import Copy
from tools.mutate.faults import faults_of
from tools.mutate.reach import Place, Seen, able

SOURCE = '''"""Docstring."""
from typing import Any, Literal
Word = Literal["one", "two"]
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
    assert all(one["line"] in (mutate.PACKAGE / one["file"]).read_text() for one in mutate.PARTS["equivalent"])
    parts = mutate.PARTS["part"]
    assert all((mutate.ROOT / test).exists() for tests in parts.values() for test in tests)


def test_the_lines_of_a_fault_are_those_of_its_statement() -> None:
    """A test that runs only the head of a statement may notice what stands further down in it."""
    source = "x = 1\nif x:\n    y = [\n        2,\n        3,\n    ]\n"
    (fault,) = (fault for fault in faults_of(source) if fault.text == "4")
    assert fault.lines(source) == sum(1 << line for line in (3, 4, 5))
    (fault,) = (fault for fault in faults_of(source) if fault.text == "not (x)")
    assert fault.lines(source) == 1 << 2


def test_those_that_run_the_line_come_first_and_strangers_not_at_all() -> None:
    """As many as take the time that there is."""
    place = Place("p/m.py", Path("tests/test_m.py"), 1 << 5)

    def seen(name: str, seconds: float = 1, *, starts: bool = False, **lines: int) -> Seen:
        return Seen(name, seconds, starts, {f"p/{module}.py": 1 << line for module, line in lines.items()})

    runs_it, near = seen("tests/x/test_o.py::a", m=5), seen("tests/test_m.py::a", 2)
    quick, touches = seen("tests/test_m.py::b", m=5), seen("tests/x/test_o.py::b", m=9)
    starts = seen("tests/test_o.py::c", starts=True)
    assert able([starts], place._replace(own=Path("tests/y/test_m.py")), 1) == [starts]
    others = [seen("tests/x/test_o.py::d", starts=True, n=5), seen("tests/x/test_o.py::e", n=5)]
    beside = seen("tests/test_o.py::f", n=5)
    every = [*others, beside, starts, touches, near, quick, runs_it]
    assert able(every, place, 10) == [quick, runs_it, near, touches, starts, beside]
    assert able(every, place, 3) == [quick, runs_it, near]


needs_checkout = pytest.mark.skipif(not (mutate.ROOT / ".git").exists(), reason="no checkout: git tells what to copy")


@pytest.fixture
def copy() -> Iterator[Copy]:
    """A copy of the repository; gone afterwards."""
    made = Copy(mutate.ROOT)
    yield made
    made.end()
    assert not made.root.exists()


@needs_checkout
def test_a_fault_is_in_the_copy_as_long_as_it_is_planted(copy: Copy) -> None:
    """And what was compiled of the file before is valid again afterwards, not in between."""
    fault = mutate._by_name()[0]
    place = fault.path.relative_to(mutate.ROOT)
    was = (copy.root / place).stat().st_mtime_ns
    with copy.planted(place, fault.fault):
        assert (copy.root / place).read_text() == fault.fault.planted(fault.source)
        assert (copy.root / place).stat().st_mtime_ns != was
    assert (copy.root / place).read_text() == fault.source
    assert (copy.root / place).stat().st_mtime_ns == was


@pytest.mark.slow
@needs_checkout
@pytest.mark.skipif(sys.version_info < (3, 12), reason="what runs which line is seen from 3.12 on")
def test_a_fault_is_noticed_and_no_fault_is_not(tmp_path: Path) -> None:
    """As a user starts it: a fault that the tests know, one that changes nothing, and the end of an endless one."""
    code = """
import sys
from pathlib import Path
from tools.mutate import __main__ as mutate
from tools.mutate.copies import Copy
from tools.mutate.forks import import_others, in_fork
import time

(one,) = (planted for planted in mutate._by_name() if planted.fault.text.startswith("TOLERANCE = 0.1"))
one = one._replace(tests=())
import_others()
copy = Copy(mutate.ROOT)
tests = mutate.tests_of(copy.root, ["tests/proof/test_memory_read_back.py"], Path(sys.argv[1]))
again = mutate.tests_of(copy.root, ["tests/proof/test_memory_read_back.py"], Path(sys.argv[1]))
same = one._replace(fault=one.fault._replace(text="TOLERANCE = 0.010"))
print([mutate._shown(planted, copy, tests, 10)[0] for planted in (one, same, one)])
print([test.lines for test in tests] == [test.lines for test in again] and len(tests) > 3)
print(in_fork(copy.root, time.sleep, 60, patience=0.1))
print(in_fork(copy.root, lambda size: len(bytearray(size)) and 0, 9 << 30, patience=60))
copy.end()
"""
    ended = run(code, argv=(str(tmp_path),), cwd=mutate.ROOT)
    assert ended.status == 0, ended.stderr
    assert ended.stdout.splitlines()[-4:] == ["[True, False, True]", "True", "None", "1"], ended.stdout
