"""A tolerant reader of XLA_FLAGS: it reads on where XLA would stop, and notes what it took for what. Pure.

Where a text is sound it reads exactly what :func:`.xla_flags.scan` reads. ``repair`` turns its
pieces and notes into flags and findings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .spelling import DASHES, INVISIBLE, ODD_BLANKS, Spelling, Vocabulary, code_point, plain_name, spell
from .xla_flags import BLANKS, quote, read_quoted, scan_file_text

__all__ = ["Note", "Piece", "Reader"]

_ODD = f"[{ODD_BLANKS}{INVISIBLE}]"
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f\xab\xbb", "\u2018\u2019\u201a\u201b"
_TYPOGRAPHIC = _DOUBLE + _SINGLE
_QUOTES = "\"'" + _TYPOGRAPHIC

_GAP = re.compile(
    rf"(?P<blank>[{BLANKS}]+)|(?P<odd>{_ODD}+)|(?P<continued>\\(?:[ \t]*\r?\n|[ \t]+|$))"
    rf"|(?P<escaped>(?:\\[nt])+(?=[{BLANKS}{DASHES}]|$))|(?P<separator>[,;]+)"
)
_DASHES = re.compile(f"[{DASHES}]*")
_NAME = re.compile(rf"[^{BLANKS}{ODD_BLANKS}=,;\\{_QUOTES}]*")
_FLAG = re.compile(rf"([{DASHES}]{{1,3}})([A-Za-z][A-Za-z0-9_{DASHES[1:]}-]*)(?=[={BLANKS}{ODD_BLANKS},;\\{_QUOTES}]|$)")
_WORD = re.compile(f"[^{BLANKS}]*")
_SUSPECT = re.compile(rf"{_ODD}+|[,;]+|(?:\\[nt])+|\\$|--|[{_QUOTES}]")
_NUMBER = re.compile(rf"[{DASHES}]\d+(\.\d+)?(?=[{BLANKS}]|$)")


@dataclass(frozen=True)
class Note:
    """One thing that was wrong: ``given`` as it stands in the text, ``used`` in its place ("": left out)."""

    code: str
    wrong: str
    given: str
    used: str = ""


@dataclass(frozen=True)
class Piece:
    """One flag as it was meant. ``written``: as it stands; ``text``: what XLA reads as was meant."""

    name: str
    value: str | None
    known: bool
    written: str
    text: str


class Reader:
    """Reads one text: ``pieces`` and ``notes``, in its order."""

    def __init__(self, text: str, words: Vocabulary) -> None:
        self.pieces: list[Piece] = []
        self.notes: list[Note] = []
        self._text, self._words, self._at, self._wrapper = text, words, 0, ""
        while self._skip_gaps():
            self._read_one()

    # --- between the flags

    def _skip_gaps(self) -> bool:
        while match := _GAP.match(self._text, self._at):
            self._at = match.end()
            self._note_gap(match.lastgroup or "", match[0])
        return self._at < len(self._text)

    def _note_gap(self, kind: str, found: str) -> None:
        if kind == "odd":
            self._note("odd-blank", f"{code_point(found[0])} does not separate flags", found, " ")
        elif kind in ("continued", "escaped"):
            self._note("backslash-newline", "a backslash does not continue the line here: XLA takes it literally", found, " ")
        elif kind == "separator":
            self._note("separator", "flags are separated by blanks alone", found, " ")

    def _read_one(self) -> None:
        mark = self._text[self._at]
        if mark in DASHES:
            self._read_flag(_DASHES.match(self._text, self._at)[0])  # type: ignore[index]  # matches everywhere
        elif mark == "#":
            self._leave_comment()
        elif mark in _QUOTES and (self._closes(self._at) or self._opens(self._at)):
            self._at += 1
        else:
            self._read_stray()

    def _closes(self, at: int) -> bool:
        if not self._wrapper or _kind(self._text[at]) != self._wrapper:
            return False
        after = self._text[at + 1 : at + 2]
        closes = not after or after in BLANKS + ODD_BLANKS + INVISIBLE + ",;\\" + _QUOTES
        return closes

    def _opens(self, at: int) -> bool:
        opened = re.compile(rf"[{BLANKS}{ODD_BLANKS}{INVISIBLE}]*[{DASHES}]").match(self._text, at + 1)
        if opened:
            self._wrapper = _kind(self._text[at])
            end = self._text.rfind(self._text[at], at + 1) + 1 or len(self._text)
            self._note("wrapped-in-quotes", "quotes count only right after '='", self._text[at:end], self._text[at + 1 : end - 1])
        return bool(opened)

    def _leave_comment(self) -> None:
        line = re.compile("[^\r\n]*").match(self._text, self._at)[0]  # type: ignore[index]
        self._at += len(line)
        self._note("comment", "XLA knows no comments: it stops at the '#' and never reads the lines below", line)

    # --- a word that does not begin with a dash: XLA would end here

    def _read_stray(self) -> None:
        if self._text.startswith("XLA_FLAGS=", self._at):
            self._at += len("XLA_FLAGS=")
            self._note("variable-in-value", "the value begins with the name of the variable", "XLA_FLAGS=")
        elif self._is_flag_without_dashes(self._at):
            self._read_flag("")
        else:
            word = _WORD.match(self._text, self._at)[0]  # type: ignore[index]
            self._at += len(word)
            self._note("stray-word", "XLA stops at a word that does not begin with '--' and never reads what follows", word)

    def _is_flag_without_dashes(self, at: int) -> bool:
        name = _NAME.match(self._text, at)[0]  # type: ignore[index]
        follows = self._text[at + len(name) : at + len(name) + 1]
        known = bool(name) and self._words.known(plain_name(name))
        return known and (follows == "=" or self._words.boolean(plain_name(name)) is True)

    # --- a flag

    def _read_flag(self, dashes: str) -> None:
        start = self._at
        written = _NAME.match(self._text, start + len(dashes))[0]  # type: ignore[index]
        self._at = start + len(dashes) + len(written)
        if not written:
            return self._leave_nameless(start)
        bare = self._text[self._at : self._at + 1] != "="
        spelling = spell(written, bare=bare, words=self._words)
        before = len(self.notes)
        readable, value = True, spelling.value
        if value is None:
            readable, value = self._read_value(spelling, bare)
        if readable:
            self._add(start, spelling, value, dashes, before)

    def _leave_nameless(self, start: int) -> None:
        if self._text[self._at : self._at + 1] == "=":
            self._at = _WORD.match(self._text, self._at).end()  # type: ignore[union-attr]
        wrong = "dashes without a name behind them make XLA call this, and all that follows, unknown"
        self._note("lone-dashes", wrong, self._text[start : self._at])

    def _add(self, start: int, spelling: Spelling, value: str | None, dashes: str, before: int) -> None:
        written = self._text[start : self._at]
        text = _faithful(written, spelling.name, value)
        self.pieces.append(Piece(spelling.name, value, spelling.known, written, text))
        if spelling.wrong:
            self.notes.insert(before, Note("flag-name", spelling.wrong, written, text))
        if dashes != "--" and self._words.is_xla(spelling.name):
            self.notes.insert(before, _wrong_dashes(dashes, written, text))

    def _read_value(self, spelling: Spelling, bare: bool) -> tuple[bool, str | None]:
        """(whether it can be read, the value); notes what is wrong with it."""
        if not bare:
            self._at += 1
        start = self._at
        if not bare and self._text[start : start + 1] not in ("", *BLANKS):
            return self._value_at(spelling)
        joint = self._joint(spelling)
        if joint is None:
            return self._without_value(spelling) if bare else (True, "")
        self._at = joint
        readable, value = self._value_at(spelling)
        if readable and self._words.is_xla(spelling.name):
            given = f"--{spelling.name}{'' if bare else '='}{self._text[start : self._at]}"
            self._note("blank-before-value", "no blank may stand between a flag, '=' and its value", given, _emitted(spelling.name, value))
        return readable, value

    def _without_value(self, spelling: Spelling) -> tuple[bool, None]:
        if not spelling.known or self._words.boolean(spelling.name) is not False:
            return True, None
        self._note("missing-value", "a flag that is no bool needs a value", f"--{spelling.name}")
        return False, None

    def _joint(self, spelling: Spelling) -> int | None:
        """Where the value of a flag stands that has none directly behind its ``=``, if the next word is meant as one."""
        at = re.compile(f"[{BLANKS}]*(=[{BLANKS}]*)?").match(self._text, self._at).end()  # type: ignore[union-attr]
        if at == len(self._text) or (self._words.is_xla(spelling.name) and not spelling.known):
            return None
        if self._text[at] in DASHES:
            return at if self._words.boolean(spelling.name) is not True and _NUMBER.match(self._text, at) else None
        if _GAP.match(self._text, at) or self._text[at] == "#" or self._is_flag_without_dashes(at):
            return None
        if self._text[at] in _QUOTES and (self._closes(at) or self._text[at + 1 : at + 2] in DASHES):
            return None
        word = _WORD.match(self._text, at)[0].strip(_QUOTES + ",;").lower()  # type: ignore[index]
        fits = self._words.boolean(spelling.name) is not True or word in ("true", "false", "0", "1")
        return at if fits else None

    # --- a value

    def _value_at(self, spelling: Spelling) -> tuple[bool, str | None]:
        mark = self._text[self._at]
        if mark in "\"'" and not self._closes(self._at):
            return self._quoted(spelling)
        if mark in _TYPOGRAPHIC and not self._closes(self._at):
            return self._typographic(spelling)
        return True, self._unquoted(spelling)

    def _quoted(self, spelling: Spelling) -> tuple[bool, str | None]:
        start = self._at
        value, self._at, closed = read_quoted(self._text, start)
        if closed:
            return True, value + self._behind_quote(spelling)
        swallowed = next((m for m in _FLAG.finditer(self._text, start + 1) if self._starts_flag(m)), None)
        if swallowed is None:
            self._note("unclosed-quote", "a quote is not closed", self._text[start:], _emitted(spelling.name, value))
            return True, value
        self._at = swallowed.start()
        wrong = "a quote is not closed, so XLA takes the flags behind it for a part of the value; what was meant cannot be told"
        self._note("ambiguous-quote", wrong, f"--{spelling.name}={self._text[start : self._at].rstrip(BLANKS)}")
        return False, None

    def _typographic(self, spelling: Spelling) -> tuple[bool, str | None]:
        start, kind = self._at, _kind(self._text[self._at])
        closing = re.compile(f"[{_DOUBLE if kind == chr(34) else _SINGLE}{kind}]").search(self._text, start + 1)
        if not closing:
            self._at = _WORD.match(self._text, start).end()  # type: ignore[union-attr]
            wrong = f"{code_point(self._text[start])} is no quote to XLA, and nothing closes it; what was meant cannot be told"
            self._note("ambiguous-quote", wrong, f"--{spelling.name}={self._text[start : self._at]}")
            return False, None
        self._at = closing.end()
        value = self._text[start + 1 : closing.start()] + self._behind_quote(spelling)
        given = self._text[start : self._at]
        self._note("typographic-quote", f"{code_point(given[0])} is no quote to XLA", given, _emitted(spelling.name, value))
        return True, value

    def _behind_quote(self, spelling: Spelling) -> str:
        """What stands directly behind a closing quote and, to a shell, would be part of the value."""
        at = self._at
        if at == len(self._text) or _GAP.match(self._text, at) or self._closes(at) or self._starts_flag(_FLAG.match(self._text, at)):
            return ""
        rest = self._unquoted(spelling)
        self._note("text-behind-quote", "XLA ends the value at the closing quote, and the parse with it", self._text[at : self._at], rest)
        return rest

    def _unquoted(self, spelling: Spelling) -> str:
        start, end = self._at, self._end_of_word()
        self._at = end
        value = self._text[start:end]
        if rest := self._rest_of_list(spelling, value):
            return value + rest
        if (mark := self._open_quote(value)) and (closed := self._closing(mark)):
            self._at = closed
            value = self._text[start:closed].replace(mark, "")
            self._note("quote-within", "quotes count only right after '='", self._text[start:closed], _emitted(spelling.name, value))
        if _NUMBER.fullmatch(value) and value[0] != "-":
            self._note("typographic-dash", f"{code_point(value[0])} is no minus sign to XLA", value, f"-{value[1:]}")
            return f"-{value[1:]}"
        return value

    def _end_of_word(self) -> int:
        end = _WORD.match(self._text, self._at).end()  # type: ignore[union-attr]
        for suspect in _SUSPECT.finditer(self._text, self._at, end):
            if self._ends_value(suspect, end):
                return suspect.start()
        return end

    def _ends_value(self, suspect: re.Match[str], end: int) -> bool:
        mark = suspect[0][0]
        if mark == "-":
            return self._glued(suspect.start())
        if mark in _QUOTES:
            return self._closes(suspect.start())
        if suspect[0] == "\\":
            return self._text[end : end + 2].lstrip(" \t\r").startswith("\n")
        if mark == "\\" and suspect.end() == end:
            return False
        return suspect.end() == end or self._starts_flag(_FLAG.match(self._text, suspect.end())) or self._closes(suspect.end())

    def _glued(self, at: int) -> bool:
        match = _FLAG.match(self._text, at)
        glued = match is not None and match[1] == "--" and self._words.known(match[2])
        if glued and at > self._at:
            self._note("missing-blank", "a blank is missing between two flags", self._text[self._at : match.end()], f"--{match[2]}")  # type: ignore[union-attr, index]
        return glued

    def _starts_flag(self, match: re.Match[str] | None) -> bool:
        return match is not None and self._words.is_xla(plain_name(match[2]))

    def _rest_of_list(self, spelling: Spelling, value: str) -> str:
        """The members of a comma list that stand behind a blank; XLA would stop at them."""
        match = re.compile(rf",[ \t]+(?=[A-Za-z0-9_+-])").match(self._text, self._at)
        if not match or not value or not spelling.known or self._words.boolean(spelling.name) is True:
            return ""
        if self._text.startswith("--", match.end()) or self._starts_flag(_FLAG.match(self._text, match.end())):
            return ""
        if self._is_flag_without_dashes(match.end()):
            return ""
        self._at = match.end()
        rest = "," + self._unquoted(spelling)
        self._note("blank-in-list", "a blank ends a list; XLA stops at the member behind it", f"{value}{match[0]}{rest[1:]}", value + rest)
        return rest

    def _open_quote(self, value: str) -> str:
        return next((mark for mark in "\"'" if value.count(mark) % 2 and mark != self._wrapper), "")

    def _closing(self, mark: str) -> int | None:
        closing = self._text.find(mark, self._at)
        between = self._text[self._at : closing]
        if closing < 0 or "\n" in between or re.search(f"[{BLANKS}][{DASHES}]", between):
            return None
        return closing + 1

    def _note(self, code: str, wrong: str, given: str, used: str = "") -> None:
        self.notes.append(Note(code, wrong, given, used))


def _kind(mark: str) -> str:
    return '"' if mark in '"' + _DOUBLE else "'"


def _faithful(written: str, name: str, value: str | None) -> str:
    """``written`` if XLA reads it as meant and nothing behind it could change that; else stable text."""
    read = scan_file_text(written)
    if not read.lost and [(t.name, t.value, t.closed, t.text) for t in read.tokens] == [(name, value, True, written)]:
        return written
    return _emitted(name, value)


def _emitted(name: str, value: str | None) -> str:
    try:
        return f"--{name}" if value is None else quote(name, value)
    except ValueError:
        return ""


def _wrong_dashes(dashes: str, written: str, text: str) -> Note:
    odd = next((dash for dash in dashes if dash != "-"), None)
    if odd:
        return Note("typographic-dash", f"a flag begins with two hyphens, not with {code_point(odd)}", written, text)
    if not dashes:
        return Note("missing-dashes", "a flag begins with two hyphens", written, text)
    return Note("wrong-dashes", f"a flag begins with two hyphens, not with {len(dashes)}", written, text)
