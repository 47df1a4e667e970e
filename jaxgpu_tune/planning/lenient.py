"""A text meant for XLA_FLAGS, read by its intent: past the damage at which XLA would stop or go astray.

What XLA reads well is read here to the same words; what it does not, comes with a finding or is left to ``repair``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..model import Finding
from .xla_flags import BLANKS, read_quoted

__all__ = ["DASHES", "NAME", "Item", "Word", "code_points", "read"]

NAME = re.compile(r"[0-9A-Za-z_][-_0-9A-Za-z]*")
"""The names that a flag can have."""

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u00ad\u2500"
"""What passes for a dash: hyphens, figure, en and em dash, horizontal bar, minus, full-width forms, box drawing."""

_DOUBLE = "\"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02"
_SINGLE = "'\u2018\u2019\u201a\u201b\u2032\u00b4`\uff07"
_QUOTES = _DOUBLE + _SINGLE
_ODD = "\f\v\x1c-\x1f\u0085\u00a0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_BETWEEN = re.compile(
    rf"(?P<blanks>[{BLANKS}]+)|(?P<odd>[{_ODD}]+)|(?P<continued>\\[ \t]*(?:\r?\n|\Z))|(?P<comment>\#[^\n]*)|(?P<comma>[,;]+)"
)
_DASH_RUN = re.compile(f"[{re.escape(DASHES)}]+")
_WORD = re.compile(f"[^{BLANKS}]*")
_HEAD = re.compile(f"[_0-9A-Za-z{re.escape(DASHES)}]*")
_TAIL = re.compile(rf"[,;{_ODD}]+\Z")
_INNER = re.compile(rf"(?P<between>[,;{_ODD}]+)(?P<dashes>[{re.escape(DASHES)}]+)(?P<name>[A-Za-z_][-_0-9A-Za-z]*)")
_SWALLOWED = re.compile(rf"[{BLANKS}]+(?=[{re.escape(DASHES)}]{{2}}[A-Za-z_])")
_BETWEEN_CODES = {
    "odd": ("odd-blank", "XLA does not separate flags at {points}; it is read as a blank."),
    "continued": ("backslash-newline", "A backslash at the end of a line would end XLA's reading; it is read as a blank."),
    "comment": ("comment", "XLA knows no comments and would stop reading here: {given!r} is left out."),
    "comma": ("comma-between-flags", "{given!r} does not separate flags; it is read as a blank."),
}


@dataclass(frozen=True)
class Word:
    """One word. ``dashes``: those before it, as written; empty for a stray word, whose ``value`` is its text unquoted.

    ``name``: as written. ``value``: unquoted; None for a bare flag. ``repaired``: not as XLA would read it.
    """

    text: str
    dashes: str
    name: str
    value: str | None
    repaired: bool = False


Item = Word | Finding
Meant = Callable[[str], bool]


def code_points(characters: str) -> str:
    """``U+2013 (en dash)`` and the like, each once."""
    import unicodedata

    named = (f"U+{ord(c):04X} ({unicodedata.name(c, 'control character').lower()})" for c in dict.fromkeys(characters))
    return ", ".join(named)


def read(text: str, meant: Meant) -> Iterator[Item]:
    """The words of a text and a finding for each repair. ``meant``: whether a name is one of XLA's."""
    at = 0
    while at < len(text):
        between = _BETWEEN.match(text, at)
        if between:
            yield from _separator(between)
            at = between.end()
            continue
        items, at = _reader(text, at)(text, at, meant)
        yield from items


def _reader(text: str, at: int) -> Callable[[str, int, Meant], tuple[list[Item], int]]:
    if text[at] in DASHES:
        return _flag
    return _wrapped if text[at] in _QUOTES and text[at + 1 :].lstrip()[:1] in tuple(DASHES) else _stray


def _separator(found: re.Match[str]) -> Iterator[Finding]:
    if found.lastgroup in _BETWEEN_CODES:
        code, message = _BETWEEN_CODES[found.lastgroup]
        yield Finding(code, "warning", message.format(given=found[0].strip(BLANKS), points=code_points(found[0])))


def _flag(text: str, start: int, meant: Meant) -> tuple[list[Item], int]:
    dashes = _DASH_RUN.match(text, start)[0]  # type: ignore[index]  # the caller saw one
    after = start + len(dashes)
    head = _HEAD.match(text, after).end()  # type: ignore[union-attr]  # it matches everywhere
    mark = text[head + 1 : head + 2] if text[head : head + 1] == "=" else ""
    bare = Word(text[start:head], dashes, text[after:head], None)
    if mark and mark in "'\"":
        return _quoted(text, bare, head + 1)
    if mark and mark in _QUOTES.replace("`", "").replace("\u00b4", ""):
        return _typographic(text, bare, head + 1)
    end = _end_of_word(text, head, meant)
    name, equals, value = text[after:end].partition("=")
    word = Word(text[start:end], dashes, name, value if equals else None)
    return _split_by_line(text, word, end) or _quote_within(text, word, end) or ([word], end)


def _end_of_word(text: str, head: int, meant: Meant) -> int:
    end = _WORD.match(text, head).end()  # type: ignore[union-attr]  # it matches everywhere
    for inner in _INNER.finditer(text, head, end):
        only_blanks = not set(inner["between"]) & set(",;")
        if meant(inner["name"]) or (only_blanks and inner["dashes"] == "--"):
            return inner.start()
    if text[end : end + 1] in ("\n", "\r") and text[head:end].endswith("\\"):
        end -= 1
    tail = _TAIL.search(text, head, end)
    return tail.start() if tail else end


def _split_by_line(text: str, word: Word, end: int) -> tuple[list[Item], int] | None:
    broken = re.compile(r"\\\r?\n").match(text, end)
    rest = _WORD.match(text, broken.end())[0] if broken else ""  # type: ignore[index]  # it matches everywhere
    if not broken or not rest or word.value is None or rest[0] in DASHES + _QUOTES + "#\\,;":
        return None
    message = f"{word.text!r} is broken by a backslash and a new line before {rest!r}; whether they belong together is not clear."
    return [Finding("ambiguous-flag", "error", f"{message} Both are left out.", "Write the flag on one line.")], broken.end() + len(rest)


def _quote_within(text: str, word: Word, end: int) -> tuple[list[Item], int] | None:
    odd = [mark for mark in "'\"" if (word.value or "").count(mark) % 2]
    if not odd or text.find(odd[0], end) < 0 or _SWALLOWED.search(text, end, text.find(odd[0], end)):
        return None
    close = text.find(odd[0], end) + 1
    whole = text[end - len(word.text) : close]
    message = f"{whole!r}: XLA heeds quotes only right after '=' and would read {word.value!r} and drop the rest. It is left out."
    return [Finding("ambiguous-flag", "error", message, "Put the quotes around the whole value.")], close


def _quoted(text: str, bare: Word, start: int) -> tuple[list[Item], int]:
    value, end, closed = read_quoted(text, start)
    if not closed:
        return _unclosed(text, bare, start)
    glued = _WORD.match(text, end)[0]  # type: ignore[index]  # it matches everywhere
    whole = bare.text + "=" + text[start:end]
    if glued and glued[0] not in DASHES and not _BETWEEN.match(text, end):
        message = f"{whole + glued!r}: {glued!r} right after the closing quote would end XLA's reading. It is left out."
        return [Finding("ambiguous-flag", "error", message, "Put the quotes around the whole value.")], end + len(glued)
    return [replace(bare, text=whole, value=value)], end


def _unclosed(text: str, bare: Word, start: int) -> tuple[list[Item], int]:
    swallowed = _SWALLOWED.search(text, start + 1)
    end = swallowed.start() if swallowed else len(text)
    value, given = read_quoted(text[:end], start)[0], f"{bare.text}={text[start:end]}"
    if swallowed and any(blank in value for blank in BLANKS):
        message = f"The quote in {given!r} is never closed, and XLA would read all that follows into the value. The flag is left out."
        return [Finding("unclosed-quote", "error", message, "Close the quote.")], end
    message = f"The quote in {given!r} is never closed; it is closed at the end of that, and the value is {value!r}."
    return [Finding("unclosed-quote", "warning", message), replace(bare, text=given, value=value, repaired=True)], end


def _closers(mark: str) -> str:
    return _DOUBLE if mark in _DOUBLE else _SINGLE


def _typographic(text: str, bare: Word, start: int) -> tuple[list[Item], int]:
    end = next((i for i in range(start + 1, len(text)) if text[i] in _closers(text[start])), None)
    if end is None or _SWALLOWED.search(text, start + 1, end):
        end = _WORD.match(text, start).end()  # type: ignore[union-attr]  # it matches everywhere
        message = f"The quote {code_points(text[start])} in {bare.text}={text[start:end]} is never closed. The flag is left out."
        return [Finding("unclosed-quote", "error", message, "Use a plain quote, and close it.")], end
    value, whole = text[start + 1 : end], bare.text + "=" + text[start : end + 1]
    message = f"{whole!r}: {code_points(text[start])} is no quote for XLA and would become part of the value; the value is {value!r}."
    return [Finding("typographic-quote", "warning", message), replace(bare, text=whole, value=value, repaired=True)], end + 1


def _wrapped(text: str, start: int, meant: Meant) -> tuple[list[Item], int]:
    close = _closing(text, start)
    inner = text[start + 1 : close]
    if text[start] == '"':
        inner = re.sub(r'\\(["\\])', r"\1", inner)
    message = f"Quotes around flags ({code_points(text[start])} before {inner.split()[0]!r}) would end XLA's reading; they are taken off."
    words = (replace(item, repaired=True) if isinstance(item, Word) else item for item in read(inner, meant))
    return [Finding("quoted-flags", "warning", message), *words], close + 1


def _closing(text: str, start: int) -> int:
    """Where the quote at ``start`` ends that was put around flags: not at quotes around a value within."""
    at, closers = start + 1, _closers(text[start])
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] in closers and _ends_there(text, at + 1):
            return at
        elif text[at] == "=" and text[at + 1 : at + 2] in tuple(_QUOTES) and not _ends_there(text, at + 2):
            inner = _closers(text[at + 1])
            at = next((i for i in range(at + 2, len(text)) if text[i] in inner), at)
        at += 1
    return len(text)


def _ends_there(text: str, at: int) -> bool:
    return at >= len(text) or text[at] in _QUOTES or bool(_BETWEEN.match(text, at))


def _stray(text: str, start: int, meant: Meant) -> tuple[list[Item], int]:
    if text[start] in _QUOTES:
        end = next((i + 1 for i in range(start + 1, len(text)) if text[i] in _closers(text[start])), len(text))
        return [Word(text[start:end], "", "", text[start + 1 : max(end - 1, start + 1)])], end
    assigned = re.compile("XLA_FLAGS=").match(text, start)
    if assigned:
        message = "'XLA_FLAGS=' stands within the value of XLA_FLAGS and would be taken for a file's name; it is left out."
        return [Finding("assignment-within", "warning", message)], assigned.end()
    end = max(_end_of_word(text, start, meant), start + 1)
    return [Word(text[start:end], "", "", text[start:end])], end
