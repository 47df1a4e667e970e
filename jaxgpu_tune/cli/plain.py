"""Reading a command line that is right, without click: importing click takes three times as long as starting Python.

What is unusual (help, completion, a mistake) is left to click, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .parameters import Argument, Option

__all__ = ["read_words"]

Given = tuple[Option, Any]


class _Unusual(Exception):
    pass


def read_words(parameters: Sequence[Option | Argument], words: Sequence[str]) -> dict[str, Any] | None:
    """The command's arguments exactly as click would give them; None: ask click."""
    values = {parameter.name: parameter.absent for parameter in parameters}
    argument = next(parameter for parameter in parameters if isinstance(parameter, Argument))
    loose: list[str] = []
    try:
        for option, value in _options(parameters, iter(words), loose, takes_any=argument.many):
            values[option.name] = (*values[option.name], value) if option.kind == "many" else value
    except _Unusual:
        return None
    if argument.many:
        values[argument.name] = tuple(loose)
    elif loose:
        values[argument.name] = loose[0]
    return values if argument.many or len(loose) < 2 else None


def _options(
    parameters: Sequence[Option | Argument], words: Iterator[str], loose: list[str], *, takes_any: bool
) -> Iterator[Given]:
    """Each option with its value; other words go to ``loose``, with ``takes_any`` unknown options too."""
    spelled = _spellings(parameters)
    for word in words:
        name, equals, value = word.partition("=")
        if name in spelled:
            yield _value(*spelled[name], value if equals else None, words)
        elif word[:1] == "-" and not (takes_any and word[:2] == "--" and name not in ("--", "--help")):
            raise _Unusual
        else:
            loose.append(word)


def _spellings(parameters: Sequence[Option | Argument]) -> Mapping[str, tuple[Option, bool]]:
    found = {}
    for option in parameters:
        if isinstance(option, Option):
            found[option.spelled] = option, True
            if option.kind == "on_off":
                found[f"--no-{option.spelled[2:]}"] = option, False
    return found


def _value(option: Option, on: bool, attached: str | None, words: Iterator[str]) -> Given:
    if option.kind in ("switch", "on_off"):
        if attached is not None:
            raise _Unusual
        return option, on
    text = next(words, None) if attached is None else attached
    if text is None or (option.choices and text not in option.choices):
        raise _Unusual
    return option, _number(text) if option.kind == "number" else text


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _Unusual from None
