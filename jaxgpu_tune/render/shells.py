"""The environment as code of shells: sh (and bash, zsh), fish, PowerShell, and batch scripts of Slurm."""

from __future__ import annotations

from .environ import Changes, Unable

__all__ = ["FORMS"]

POWERSHELL_ESCAPES = {"\n": "`n", "\r": "`r", "\t": "`t"}


def _sh(value: str) -> str:
    """zsh puts the path of a command for ``=name``, at the beginning and behind a colon, which other shells keep."""
    from shlex import quote

    said = quote(value)
    return f"'{said}'" if said == value and ":=" in f":{value}" else said


def _sh_lines(said: Changes) -> str:
    return _lines(said, "export {}={}", "unset {}")


def _fish(value: str) -> str:
    r"""Within single quotes fish reads only ``\\`` and ``\'`` as escapes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_lines(said: Changes) -> str:
    return _lines(said, "set -gx {} {}", "set -e {}")


def _powershell(value: str) -> str:
    """On one line: what a program prints reaches Invoke-Expression line by line.

    PowerShell takes typographic quotes for quotes too; whichever it is, twice stands for once.
    """
    if not value:
        raise Unable("PowerShell before 7.5 removes a variable that is set to an empty text")
    if value.isprintable():
        return "'" + "".join(c * 2 if c in "'\u2018\u2019\u201a\u201b" else c for c in value) + "'"
    return '"' + "".join(map(_powershell_character, value)) + '"'


def _powershell_character(character: str) -> str:
    if character in '"`$':
        return f"`{character}"
    if character.isprintable() and character not in "\u201c\u201d\u201e":
        return character
    return POWERSHELL_ESCAPES.get(character) or f"$([char]::ConvertFromUtf32({ord(character)}))"


def _powershell_lines(said: Changes) -> str:
    return _lines(said, "$env:{} = {}", "Remove-Item Env:{} -ErrorAction Ignore")


def _slurm_lines(said: Changes) -> str:
    """For a batch script, before srun; under ``--export=NONE`` srun would hand on nothing of this."""
    return f"{_sh_lines(said)}\nexport SLURM_EXPORT_ENV=ALL"


def _lines(said: Changes, assign: str, remove: str) -> str:
    return "\n".join(remove.format(name) if text is None else assign.format(name, text) for name, text in said.items())


FORMS = {
    "sh": (_sh, _sh_lines),
    "fish": (_fish, _fish_lines),
    "powershell": (_powershell, _powershell_lines),
    "slurm": (_sh, _slurm_lines),
}
"""How each form says a value, and how it says all of them."""
