"""The forms that programs read: files and objects."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.render.environ import render_environ
from tests.environ_readers import CARRIED, PIECES, PIECES_OF_WORDS, compose, here


def test_json_keeps_what_is_to_be_removed() -> None:
    """As null."""
    changes = {"A": "--xla_b='x \"y\"' $HOME `id` \\ !", "EMPTY": "", "GONE": None, "UNICODE": "ü—"}
    assert json.loads(render_environ(changes, "json")) == changes


def test_dotenv_quotes_only_where_it_has_to() -> None:
    """Backslash and the quote itself are escaped; what must not be set is a comment."""
    assert (
        render_environ({"A": "it's", "B": None, "C": "a/b=c"}, "dotenv") == "A='it\\'s'\n# B must not be set\nC=a/b=c"
    )


def test_signs_that_compose_and_kubernetes_replace_are_doubled() -> None:
    """What must not be set is a comment there, too; for Ray it is left out."""
    changes = {"A": "$HOME $(B)", "B": None}
    assert render_environ(changes, "compose") == 'environment:\n  A: "$$HOME $$(B)"\n  # B must not be set'
    assert render_environ(changes, "kubernetes") == (
        'env:\n  - name: A\n    value: "$$HOME $$(B)"\n  # B must not be set'
    )
    assert json.loads(render_environ({"A": "1", "B": None}, "ray")) == {"env_vars": {"A": "1"}}


@pytest.mark.parametrize("changes", [{}, {"B": None}])
def test_no_change_is_still_what_a_program_can_parse(changes: dict[str, str | None]) -> None:
    """An empty object or list, never nothing at all."""
    assert json.loads(render_environ(changes, "json")) == changes
    assert json.loads(render_environ(changes, "ray")) == {"env_vars": {}}
    assert render_environ(changes, "compose").splitlines()[0] == "environment: {}"
    assert render_environ(changes, "kubernetes").splitlines()[0] == "env: []"


@pytest.mark.skipif(not here("docker-compose"), reason="docker-compose is not installed")
def test_docker_compose_reads_the_map() -> None:
    """Once, as it takes half a second to start; U+0085 is left out, which its own printing loses."""
    values = {f"V{number}": text for number, text in enumerate([*PIECES.replace("\x85", ""), *PIECES_OF_WORDS])}
    wanted = {**values, **CARRIED, "ALL": "".join(values.values())}
    found = compose(render_environ({**wanted, "GONE": None}, "compose"))
    assert {name: found.get(name) for name in wanted} == wanted


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
