"""Where a shell's text sets a variable, and what of its value is put in when it runs."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.files.mapped import HOLE
from jaxgpu_tune.planning.files.shell import shell_sites
from tests.planning.files.flags_in_files import FLAGS, expected, rewritten

A, B = "--xla_a=1", "--xla_b=2"


def values(text: str) -> list[str]:
    """Each value that is set, with what is put in as a hole; why it is unsure, where it is."""
    return [site.unsure or "".join(piece.text for piece in site.pieces) for site in shell_sites(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"export XLA_FLAGS='{A} {B}'", f"{A} {B}"),
        (f'XLA_FLAGS="{A} $(echo x) {B}" run', f"{A} {HOLE} {B}"),
        (f'XLA_FLAGS="{A} $(f (g) $(h)) {B}"', f"{A} {HOLE} {B}"),
        (f'XLA_FLAGS="{A} `echo x` {B}"', f"{A} {HOLE} {B}"),
        (f'XLA_FLAGS="{A} $MORE ${{OTHER}} {B}"', f"{A} {HOLE} {HOLE} {B}"),
        (f"XLA_FLAGS={A}\\ {B} run", f"{A} {B}"),
        (f"XLA_FLAGS={A}; run", A),
        (f"docker run -e XLA_FLAGS='{A}' image", A),
        (f"docker run -e 'XLA_FLAGS={A} {B}' image", f"{A} {B}"),
        (f'docker run -e "XLA_FLAGS={A} $MORE" image', f"{A} {HOLE}"),
    ],
)
def test_what_a_value_is(text: str, value: str) -> None:
    """Quotes and backslashes off; brackets and back quotes to their ends."""
    assert values(f"first line\n{text}\nlast line\n") == [value] or (
        text[-1] != "'" and values(f"first line\n{text}") == [value]
    )


@pytest.mark.parametrize("text", [f'XLA_FLAGS="{A} $(f" end', f'XLA_FLAGS="{A} `echo x'])
def test_what_is_not_closed_goes_to_the_end(text: str) -> None:
    assert values(text) == [f"{A} {HOLE}"]


def test_a_value_within_a_list_with_commas_is_unsure() -> None:
    assert values(f"sbatch --export=ALL,XLA_FLAGS={A},b job.sh") == ["the value is a part of a list with commas"]


SHOW = "sh -c 'printf %s \"$XLA_FLAGS\"'"


@pytest.mark.parametrize(
    "form", ["export XLA_FLAGS={}; " + SHOW, "XLA_FLAGS={} " + SHOW, "a=1; env XLA_FLAGS={} " + SHOW]
)
@settings(max_examples=25, deadline=None)
@given(flags=FLAGS, double=st.booleans())
def test_shells_read_what_was_meant(form: str, flags: list[str], double: bool) -> None:
    """In both kinds of quotes."""
    said = " ".join(flags)
    quoted = '"' + re.sub(r'([\\"$`])', r"\\\1", said) + '"' if double else shlex.quote(said)
    for kind in ("shell", "dockerfile"):
        new = rewritten(f"# don't\n{form.format(quoted)} # stays\n", kind)
        done = subprocess.run(["sh", "-c", new], capture_output=True, text=True, check=True)
        assert done.stdout.split() == expected(flags) and new.endswith(" # stays\n")
