"""The forms that shells evaluate."""

from __future__ import annotations

import subprocess

import pytest

from jaxgpu_tune.render.environ import FORMATS, PARSED, render_environ
from tests.environ_readers import READERS, here

NASTY = {
    "XLA_FLAGS": "--xla_a=1 --xla_b='x \"y\"' $HOME `id` \\ !",
    "EMPTY": "",
    "GONE": None,
    "UNICODE": "ü—",
}


def test_sh_reads_back_what_was_written() -> None:
    """A real shell evaluates it; a removed variable is gone."""
    script = render_environ(NASTY, "sh") + "\nenv -0"
    done = subprocess.run(
        ["sh", "-c", script], env={"GONE": "x", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    found = dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if line)
    assert {name: found.get(name) for name in NASTY} == NASTY


def test_fish_escapes_only_what_single_quotes_do_not_protect() -> None:
    """Backslash and the quote itself."""
    assert render_environ({"A": "it's \\ $x"}, "fish") == "set -gx A 'it\\'s \\\\ $x'"
    assert render_environ({"B": None}, "fish") == "set -e B"


@pytest.mark.parametrize("form", sorted(set(FORMATS) - set(PARSED)))
def test_no_change_is_no_code(form: str) -> None:
    """Nothing to evaluate."""
    assert render_environ({}, form) == ""


@pytest.mark.parametrize("value", ["=ls", "a:=ls", "~", "a:~", "a=ls", "%d", "@a,+b"])
@pytest.mark.parametrize("reader", [name for name, (form, _, _) in READERS.items() if form == "sh"])
def test_words_that_a_shell_replaces_without_a_blank_or_a_dollar(reader: str, value: str) -> None:
    """zsh puts a command's path for ``=ls``; each shell a home for ``~``."""
    form, program, read = READERS[reader]
    if not here(program):
        pytest.skip(f"{program} is not installed")
    assert read(render_environ({"V": value}, form))["V"] == value


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


def test_a_batch_script_hands_on_what_it_sets() -> None:
    """srun under --export=NONE would start from nothing."""
    code = render_environ({"A": "x y", "B": None}, "slurm")
    assert code == f"{render_environ({'A': 'x y', 'B': None}, 'sh')}\nexport SLURM_EXPORT_ENV=ALL"
    assert "export A='x y'" in code and "unset B" in code
