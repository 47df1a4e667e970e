"""A tolerant reader of XLA_FLAGS: it reads on where XLA would stop, and notes what it took for what. Pure.

Where a text is sound it reads exactly what :func:`.xla_flags.scan` reads. ``repair`` turns its
notes into findings.
"""

from __future__ import annotations

import re

from .damaged_value import NAME, QUOTES, WORD, ValueReader, emitted, plain_quote, span
from .grammar import BLANKS, Token, scan_file_text
from .spelling import DASHES, INVISIBLE, ODD_BLANKS, Misspelling, Spelling, Vocabulary, code_point, spell

__all__ = ["Reader"]

_DASHES = re.compile(f"[{DASHES}]*")
_WRAPPED = re.compile(rf"[{BLANKS}{ODD_BLANKS}{INVISIBLE}]*[{DASHES}][^{BLANKS}]*")
_LINE = re.compile("[^\r\n]*")


class Reader(ValueReader):
    """Reads one text: ``flags`` and ``notes``, in its order.

    Of a flag ``text`` is what XLA reads as was meant, ``argument`` what is written, and ``start`` and ``end`` are where that stands.
    """

    def __init__(self, text: str, words: Vocabulary) -> None:
        super().__init__(text, words)
        self.flags: list[Token] = []
        while self._skip_gaps():
            self._read_one()

    def settled(self) -> list[Token]:
        """The flags with texts that read the same alone: what is taken for damage depends on what stands beside it."""
        return [self._alone(flag) for flag in self.flags] if self.notes else self.flags

    def _alone(self, flag: Token) -> Token:
        noted = Reader(flag.text, self._words).notes
        return flag._replace(text=emitted(str(flag.name), flag.value)) if noted else flag

    # --- between the flags

    def _skip_gaps(self) -> bool:
        while match := self._gap(self._at):
            self._at = match.end()
            self._note_gap(match.lastgroup, match[0])
        return self._at < len(self._text)

    def _note_gap(self, kind: str | None, found: str) -> None:
        if kind == "odd":
            self._note("odd-blank", f"{code_point(found[0])} does not separate flags", found, " ")
        elif kind in ("continued", "escaped"):
            self._note("backslash-newline", "to XLA a backslash outside quotes is an ordinary character", found, " ")
        elif kind == "separator":
            self._note("separator", "flags are separated by blanks alone", found, " ")

    def _read_one(self) -> None:
        mark = self._text[self._at]
        if mark in DASHES:
            self._read_flag(span(_DASHES, self._text, self._at))
        elif mark == "#":
            self._leave_comment()
        elif mark in QUOTES and (self._close() or self._open()):
            self._at += 1
        else:
            self._read_stray()

    def _close(self) -> bool:
        closes = self._closes(self._at)
        if closes:
            self._wrapper = ""
        return closes

    def _open(self) -> bool:
        wrapped = span(_WRAPPED, self._text, self._at + 1)
        if wrapped:
            self._wrapper, self._wrapped_at = plain_quote(self._text[self._at]), self._at
            wrong = "quotes count only right after '=', not around a flag"
            self._note("wrapped-in-quotes", wrong, self._text[self._at] + wrapped, wrapped.rstrip(QUOTES))
        return bool(wrapped)

    def _leave_comment(self) -> None:
        line = span(_LINE, self._text, self._at)
        self._at += len(line)
        self._note("comment", "XLA knows no comments: it stops at the '#' and never reads what follows", line)

    # --- a word that does not begin with a dash: XLA would end here

    def _read_stray(self) -> None:
        if self._text.startswith("XLA_FLAGS=", self._at):
            self._at += len("XLA_FLAGS=")
            self._note("variable-in-value", "the value begins with the name of the variable", "XLA_FLAGS=")
        elif self._starts_flag_without_dashes(self._at):
            self._read_flag("")
        else:
            start = self._at
            self._at = max(self._end_of_word(), start + 1)
            word = self._text[start : self._at]
            wrong = "XLA stops at a word that does not begin with '-', and never reads what follows"
            self._note("unexpanded-variable" if word.startswith("$") else "stray-word", wrong, word)

    # --- a flag

    def _read_flag(self, dashes: str) -> None:
        start = self._at
        written = self._name_at(start + len(dashes))
        self._at = start + len(dashes) + len(written)
        if not written:
            self._leave_nameless(start)
            return
        bare = self._text[self._at : self._at + 1] != "="
        spelling = spell(written, bare=bare, words=self._words)
        before = len(self.notes)
        readable, value = (True, spelling.value) if spelling.value is not None else self._read_value(spelling, bare)
        self._wrapped_at = -1
        if readable:
            self._add(start, spelling, value, dashes, before)

    def _name_at(self, at: int) -> str:
        name = span(NAME, self._text, at)
        cut = name.find("--", 1)
        return name[:cut] if cut > 0 and self._glued(at, at + cut) else name

    def _leave_nameless(self, start: int) -> None:
        if self._text[self._at : self._at + 1] == "=":
            self._at += len(span(WORD, self._text, self._at))
        wrong = "for dashes without a name XLA calls them, and all that follows, unknown"
        self._note("lone-dashes", wrong, self._text[start : self._at])

    def _add(self, start: int, spelling: Spelling, value: str | None, dashes: str, before: int) -> None:
        written = self._text[start : self._at]
        text = _faithful(written, spelling.name, value)
        self.flags.append(Token(text, spelling.name, value, start, self._at, argument=written))
        if spelling.wrong:
            self.notes.insert(before, Misspelling("flag-name", spelling.wrong, written, text))
        if dashes != "--" and self._words.is_xla(spelling.name):
            self.notes.insert(before, _wrong_dashes(dashes, written, text))

    def _read_value(self, spelling: Spelling, bare: bool) -> tuple[bool, str | None]:
        """(whether it can be told, the value); notes what is wrong with it."""
        if not bare:
            self._at += 1
            if self._text[self._at : self._at + 1] not in ("", *BLANKS):
                value = self._value_at(spelling)
                return value is not None, value
        joint = self._joint(spelling)
        if joint is not None:
            return self._read_joined(spelling, bare, joint)
        return self._without_value(spelling) if bare else (True, "")

    def _read_joined(self, spelling: Spelling, bare: bool, joint: int) -> tuple[bool, str | None]:
        start, self._at = self._at, joint
        value = self._value_at(spelling)
        if value is not None and self._words.is_xla(spelling.name):
            given = f"--{spelling.name}{'' if bare else '='}{self._text[start : self._at]}"
            wrong = "no blank may stand between a flag, '=' and its value"
            self._note("blank-before-value", wrong, given, emitted(spelling.name, value))
        return value is not None, value

    def _without_value(self, spelling: Spelling) -> tuple[bool, None]:
        if not spelling.known or self._words.boolean(spelling.name) is not False:
            return True, None
        self._note("missing-value", "a flag that is no bool needs a value", f"--{spelling.name}")
        return False, None


def _faithful(written: str, name: str, value: str | None) -> str:
    """``written`` if XLA reads it as meant and nothing behind it could change that; else stable text."""
    read = scan_file_text(written)
    if not read.lost and [(t.name, t.value, t.closed, t.text) for t in read.tokens] == [(name, value, True, written)]:
        return written
    return emitted(name, value)


def _wrong_dashes(dashes: str, written: str, text: str) -> Misspelling:
    odd = next((dash for dash in dashes if dash != "-"), None)
    if odd:
        return Misspelling(
            "typographic-dash", f"a flag begins with two hyphens, not with {code_point(odd)}", written, text
        )
    code, count = ("wrong-dashes", len(dashes)) if dashes else ("missing-dashes", "none")
    return Misspelling(code, f"a flag begins with two hyphens, not with {count}", written, text)
