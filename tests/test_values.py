"""The frozen values: what Python's own tools for values do with them."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

import jaxgpu_tune
from jaxgpu_tune.model import Processes
from jaxgpu_tune.values import Value

PUBLIC = [
    getattr(jaxgpu_tune, name)
    for name in jaxgpu_tune.__all__
    if isinstance(getattr(jaxgpu_tune, name), type) and issubclass(getattr(jaxgpu_tune, name), Value)
] + [Processes]


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_the_tools_know_the_fields(cls: type[Value]) -> None:
    """Signature, type hints and patterns name them in order."""
    assert tuple(inspect.signature(cls).parameters) == cls._fields == cls.__match_args__
    assert set(cls._fields) <= set(get_type_hints(cls))


def test_defaults_are_shown() -> None:
    """A field with a default may be left out, and the signature says so."""
    parameters = inspect.signature(jaxgpu_tune.Finding).parameters
    assert parameters["hint"].default == "" and parameters["code"].default is inspect.Parameter.empty


def test_match_takes_fields_by_position_and_by_name() -> None:
    """As of a dataclass."""
    match jaxgpu_tune.Finding("a-code", "note", "told"):
        case jaxgpu_tune.Finding(code, "note", hint=""):
            assert code == "a-code"
        case _:
            pytest.fail("no match")


def test_frozen_means_frozen() -> None:
    """Neither set nor deleted."""
    finding = jaxgpu_tune.Finding("a", "note", "b")
    with pytest.raises(AttributeError, match="frozen"):
        finding.code = "c"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del finding.code
