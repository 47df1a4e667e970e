"""Any value comes through each format's real reader unchanged, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.render.environ import FORMATS, render_environ
from tests.environ_readers import CARRIED, PIECES, PIECES_OF_WORDS, READERS, here

CHARACTERS = st.sampled_from(PIECES) | st.characters(exclude_characters="\0", exclude_categories=("Cs",))
VALUES = st.lists(CHARACTERS | st.sampled_from(PIECES_OF_WORDS), max_size=12).map("".join)


def test_every_format_has_a_reader_but_powershell() -> None:
    """PowerShell is in no package that can be installed here: its rules are held by the test below."""
    assert {form for form, _, _ in READERS.values()} == set(FORMATS) - {"powershell"}


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(VALUES, min_size=1, max_size=12))
def test_a_value_comes_through_or_is_refused(reader: str, values: list[str]) -> None:
    """All values that are not refused together, since one that is not closed would swallow the next."""
    form, program, read = READERS[reader]
    if not here(program):
        pytest.skip(f"{program} is not installed")
    named = {f"V{number}": value for number, value in enumerate(values)}
    sayable = {name: value for name, value in named.items() if _refusal({name: value}, form) is None}
    found = read(render_environ({**sayable, "GONE": None, **CARRIED}, form))
    wanted = {**sayable, **CARRIED}
    assert {name: found.get(name) for name in wanted} == wanted
    assert found.get("GONE") is None or form in ("dotenv", "docker", "compose", "kubernetes", "ray")


def _refusal(changes: dict[str, str], form: str) -> str | None:
    try:
        render_environ(changes, form)
    except BadSetting as refused:
        return str(refused)
    return None


@pytest.mark.parametrize(
    ("form", "value", "told"),
    [
        ("docker", "a\nb", "end of the line"),
        ("docker", "a\r", "carriage return"),
        ("docker", "a" * 70000, "65535"),
        ("dotenv", "a ${HOME}", "replace ${…}"),
        ("ray", "$HOME/x", "no escape"),
        ("powershell", "", "before 7.5"),
        ("sh", "\udcff", "not UTF-8"),
    ],
)
def test_what_cannot_be_said_is_refused_with_the_reason(form: str, value: str, told: str) -> None:
    """It names the variable, and what can be done."""
    refused = _refusal({"V": value}, form)
    assert refused is not None and told in refused and "V=" in refused and "hange the value" in refused
    assert ("--format json" in refused) is (told != "not UTF-8")  # which JSON cannot carry either


def test_all_problems_come_at_once() -> None:
    """Not one a try."""
    refused = _refusal({"A": "a\nb", "B": "c\nd", "a b": "x"}, "docker")
    assert refused is not None and all(name in refused for name in ("A=", "B=", "a b="))


def test_an_unknown_form_is_a_mistake_of_the_program() -> None:
    """Users meet the list of choices first."""
    with pytest.raises(KeyError):
        render_environ({}, "csh")


def test_a_form_that_there_is_not() -> None:
    with pytest.raises(KeyError, match="csh"):
        render_environ({}, "csh")
