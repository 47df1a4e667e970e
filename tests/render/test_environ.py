"""Any value comes through each format's real reader unchanged, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.render.environ import FORMATS, render_environ
from tests.environ_readers import READERS, compose, here

PIECES = "ab01 =-_,:.#'\"`$\\!%&*()[]{}<>|;~?^@\n\r\t\x01\x1b\x7f\x85é–‘’“„\u2028\ufeff😀"
PIECES_OF_WORDS = ["$HOME", "${HOME}", "$(HOME)", "$$", "$(id)", "`id`", "\\'", "''", " #", "%HOME%", "--xla_a=1"]
CHARACTERS = st.sampled_from(PIECES) | st.characters(exclude_characters="\0", exclude_categories=("Cs",))
VALUES = st.lists(CHARACTERS | st.sampled_from(PIECES_OF_WORDS), max_size=12).map("".join)

CARRIED = {
    "flags": "--xla_gpu_autotune_level=2 --xla_dump_to='/tmp/a b'",
    "json": '{"XLA_FLAGS":[null,"--xla_b=\\"x y\\""]}',
    "empty member": "--xla_gpu_enable_command_buffer= --xla_a=b",
}
"""What this library really emits; every format carries it."""


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
    found = read(render_environ({**sayable, "GONE": None, **CARRIED_NAMED}, form))
    wanted = {**sayable, **CARRIED_NAMED}
    assert {name: found.get(name) for name in wanted} == wanted
    assert found.get("GONE") is None or form in ("dotenv", "docker", "compose", "kubernetes", "ray")


@pytest.mark.parametrize("value", ["=ls", "a:=ls", "~", "a:~", "a=ls", "%d", "@a,+b"])
@pytest.mark.parametrize("reader", [name for name, (form, _, _) in READERS.items() if form == "sh"])
def test_words_that_a_shell_replaces_without_a_blank_or_a_dollar(reader: str, value: str) -> None:
    """zsh puts a command's path for ``=ls``; each shell a home for ``~``."""
    form, program, read = READERS[reader]
    if not here(program):
        pytest.skip(f"{program} is not installed")
    assert read(render_environ({"V": value}, form))["V"] == value


CARRIED_NAMED = {f"C{number}": value for number, value in enumerate(CARRIED.values())}


@pytest.mark.skipif(not here("docker-compose"), reason="docker-compose is not installed")
def test_docker_compose_reads_the_map() -> None:
    """Once, as it takes half a second to start; U+0085 is left out, which its own printing loses."""
    values = {f"V{number}": text for number, text in enumerate([*PIECES.replace("\x85", ""), *PIECES_OF_WORDS])}
    wanted = {**values, **CARRIED_NAMED, "ALL": "".join(values.values())}
    found = compose(render_environ({**wanted, "GONE": None}, "compose"))
    assert {name: found.get(name) for name in wanted} == wanted


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


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ('a $b `c "d"', "'a $b `c \"d\"'"),
        ("it's ‘x’", "'it''s ‘‘x’’'"),
        ('a\nb $c "d" `e “', '"a`nb `$c `"d`" ``e $([char]::ConvertFromUtf32(8220))"'),
        ("\x01", '"$([char]::ConvertFromUtf32(1))"'),
    ],
)
def test_powershell_is_quoted_as_its_tokenizer_reads(value: str, code: str) -> None:
    """In single quotes every quote, typographic ones too, is doubled; what is not printable stays on one line."""
    assert render_environ({"V": value}, "powershell") == f"$env:V = {code}"
    assert render_environ({"V": None}, "powershell") == "Remove-Item Env:V -ErrorAction Ignore"


@pytest.mark.parametrize(
    ("form", "value", "why"),
    [
        ("dotenv", "a ${B}", "readers of such files replace ${…}, in quotes too"),
        ("dotenv", "a b\\", "a backslash at its end would hide the closing quote"),
        ("dotenv", "a\rb", "readers of such files take a carriage return for the end of a line"),
        ("docker", "a\nb", "docker ends a value at the end of the line, quotes or not"),
        ("docker", "a\r", "docker takes a carriage return off the end of a line"),
        ("docker", "a" * 65001, "docker reads lines of at most 65535 bytes"),
    ],
)
def test_what_a_form_cannot_carry_is_refused_with_the_reason(form: str, value: str, why: str) -> None:
    """Rather than said as something else."""
    with pytest.raises(BadSetting) as raised:
        render_environ({"V": value, "W": "fine"}, form)
    (finding,) = raised.value.findings
    assert "V" in finding.message and why in finding.message


def test_a_form_that_there_is_not() -> None:
    with pytest.raises(KeyError, match="csh"):
        render_environ({}, "csh")
