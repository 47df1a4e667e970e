"""The grammar of XLA_FLAGS, as every XLA reads it, and the stable text that this library writes.

From ``xla/parse_flags_from_env.cc``, held against real builds by ``tests/planning/xla_flags/test_grammar.py``
and ``benchmarks/grammar_fuzz.py``. The surprises: the parse stops without a word at the first word
that does not begin with ``-``; quotes count only right after ``=``; a value that does not begin with
``-`` is the name of a file.
"""

from __future__ import annotations

from collections.abc import Callable

from ...values import Value

__all__ = ["BLANKS", "FLAGS", "Scan", "Token", "quote", "scan", "scan_file_text"]

FLAGS = "XLA_FLAGS"
BLANKS = " \t\r\n"
"""What separates flags. Form feed, vertical tab and the blanks beyond ASCII do not."""

# A NUL can stand in a file only; strchr() finds it in every set, so it passes for a name character and for a quote.
_HEAD = frozenset("-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\0")
_BARE = "_./:+%@=*,^$|()[]{}~!?<>&#-"


class Token(Value):
    """One argument as XLA takes it from the text.

    ``text``: as written. ``name``: without the dashes; None where it is not ``--name`` or
    ``--name=value`` (XLA then calls it unknown). ``value``: unquoted; None for a bare ``--name``.
    ``start``, ``end``: where ``text`` stands, in characters. ``closed``: False where a quote was
    left open, so that anything put behind this token would become part of its value. ``argument``:
    all of it, unquoted, as it stands in XLA's messages.
    """

    text: str
    name: str | None
    value: str | None
    start: int
    end: int
    closed: bool = True
    argument: str = ""

    @property
    def meant(self) -> str:
        """The value that counts: a bare ``--name`` means true."""
        return "true" if self.value is None else self.value


class Scan(Value):
    """What XLA makes of a text.

    ``stopped_at``: where it stops reading although text is left, which is ``lost`` (and never
    reported by XLA). ``file``: the name of the file that it would read instead. ``fatal``: why the
    text ends the process, whatever flags the build has.
    """

    tokens: tuple[Token, ...] = ()
    stopped_at: int | None = None
    lost: str = ""
    file: str | None = None
    fatal: str | None = None


def scan(text: str) -> Scan:
    """Read the value of XLA_FLAGS exactly as XLA does. Raises ValueError for a NUL: no variable can hold one."""
    if "\0" in text:
        raise ValueError("a NUL character cannot stand in an environment variable")
    start = text.lstrip(BLANKS)
    if text and not start:
        return Scan(
            fatal="XLA_FLAGS holds nothing but blanks, which XLA takes for the name of a file that it cannot open."
        )
    if start and start[0] != "-":
        return Scan(file=text)
    return scan_file_text(text)


def scan_file_text(text: str) -> Scan:
    """Read the content of a flag file as XLA does: the same syntax; no comments, no files within."""
    tokens, end = [], _run(text, 0, BLANKS.__contains__)
    while text.startswith("-", end):
        token = _token_at(text, end)
        tokens.append(token)
        end = _run(text, token.end, BLANKS.__contains__)
    if end == len(text):
        return Scan(tuple(tokens))
    return Scan(tuple(tokens), stopped_at=end, lost=text[end:])


def _run(text: str, start: int, belongs: Callable[[str], bool]) -> int:
    """Where the run of characters that belong together ends."""
    while start < len(text) and belongs(text[start]):
        start += 1
    return start


def _token_at(text: str, start: int) -> Token:
    head = _run(text, start, _HEAD.__contains__)
    if text[head : head + 1] == "=" and text[head + 1 : head + 2] in ("'", '"', "\0"):
        value, end, closed = read_quoted(text, head + 1)
        argument = text[start : head + 1] + value
    else:
        end, closed = _run(text, head, lambda character: character not in BLANKS), True
        argument = text[start:end]
    argument = argument.partition("\0")[0]
    name, decoded = split_argument(argument)
    return Token(text[start:end], name, decoded, start, end, closed, argument)


def read_quoted(text: str, start: int) -> tuple[str, int, bool]:
    """The value of the quotes that open at ``start``, where it ends, and whether they are closed.

    In double quotes a backslash takes the next character literally; in single quotes it is ordinary.
    """
    mark, value, end = text[start], [], start + 1
    while end < len(text) and text[end] != mark:
        if mark == '"' and text[end] == "\\" and end + 1 < len(text):
            end += 1
        value.append(text[end])
        end += 1
    closed = end < len(text)
    return "".join(value), end + closed, closed


def split_argument(argument: str) -> tuple[str | None, str | None]:
    """(name, value) of ``--name`` or ``--name=value``; the name is None for any other form."""
    name, equals, value = argument[2:].partition("=")
    if not argument.startswith("--") or name[:1] in ("", "-"):
        return None, None
    return name, value if equals else None


def quote(name: str, value: str) -> str:
    """The stable text of one flag: ``--name=value``, quoted only where else XLA or ``repair`` could read another value.

    Raises ValueError for a NUL and for a name that is not a flag's.
    """
    if not name or name[0] == "-" or not _HEAD.issuperset(name) or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a flag")
    if "\0" in value:
        raise ValueError(f"--{name}: a value cannot hold a NUL character")
    return f"--{name}={value if _is_plain(value) else _quoted(value)}"


def _is_plain(value: str) -> bool:
    """Whether it can stand without quotes: for XLA no blank and no quote at its head would do."""
    if value.endswith(",") or "--" in value or ",-xla_" in value.lower():
        return False
    return all(character.isalnum() or character in _BARE for character in value)


def _quoted(value: str) -> str:
    if "'" not in value:
        return f"'{value}'" if '"' in value or "\\" in value else f'"{value}"'
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
