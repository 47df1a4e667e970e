"""The errors: each tells all that is wrong, and can be caught as Python's own."""

from __future__ import annotations

import pickle

import pytest

from jaxgpu_tune import errors
from jaxgpu_tune.errors import BadSetting, JaxGpuTuneError, TooLate, UnknownArgument
from jaxgpu_tune.model import Finding

ONE, OTHER = Finding("a", "error", "A is wrong.", "Write B."), Finding("b", "error", "B is wrong.")


def test_one_problem_is_its_sentence_and_several_are_a_list() -> None:
    """Each with what to do about it, as far as that is known."""
    assert str(BadSetting.of([ONE])) == "A is wrong. Write B."
    assert str(BadSetting.of([OTHER])) == "B is wrong."
    assert str(BadSetting.of(iter([ONE, OTHER]))) == "2 problems:\n  - A is wrong. Write B.\n  - B is wrong."
    assert BadSetting.of(iter([ONE, OTHER])).findings == (ONE, OTHER)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_the_librarys(name: str) -> None:
    """What is wrong with an argument is a ValueError, what comes at a wrong time a RuntimeError."""
    kind = getattr(errors, name)
    assert issubclass(kind, JaxGpuTuneError) and kind.__doc__
    assert type(kind.of([ONE])) is kind
    assert issubclass(kind, ValueError) is name.startswith(("Bad", "Unknown"))
    assert issubclass(kind, RuntimeError) is name.startswith("Too")
    assert issubclass(UnknownArgument, (BadSetting, TypeError))


def test_an_error_that_is_sent_to_another_process_says_the_same() -> None:
    again = pickle.loads(pickle.dumps(TooLate.of([ONE, OTHER])))
    assert isinstance(again, TooLate) and str(again) == str(TooLate.of([ONE, OTHER]))
    assert again.findings == (ONE, OTHER)
