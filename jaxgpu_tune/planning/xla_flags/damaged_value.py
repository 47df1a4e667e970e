"""A tolerant reader of one flag's value: where it ends and what it is, where XLA would read something else. Pure."""

from __future__ import annotations

import re

from .grammar import BLANKS, quote, read_quoted
from .spelling import DASHES, INVISIBLE, ODD_BLANKS, Misspelling, Spelling, Vocabulary, code_point, plain_name

__all__ = ["NAME", "QUOTES", "WORD", "ValueReader", "emitted", "plain_quote", "span"]

_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f\xab\xbb", "\u2018\u2019\u201a\u201b"
_TYPOGRAPHIC = _DOUBLE + _SINGLE
QUOTES = "\"'" + _TYPOGRAPHIC

_ODD = f"[{ODD_BLANKS}{INVISIBLE}]"
_GAP = re.compile(
    rf"(?P<blank>[{BLANKS}]+)|(?P<odd>{_ODD}+)|(?P<continued>\\(?:[ \t]*\r?\n|[ \t]+|$))"
    rf"|(?P<escaped>(?:\\[nt])+(?=[{BLANKS}{DASHES}]|$))|(?P<separator>[,;]+)"
)
NAME = re.compile(rf"[^{BLANKS}{ODD_BLANKS}=,;\\{QUOTES}]*")
WORD = re.compile(f"[^{BLANKS}]*")
_FLAG = re.compile(
    rf"([{DASHES}]{{1,3}})([A-Za-z](?:[{DASHES}]?[A-Za-z0-9_])*)(?=[={BLANKS}{ODD_BLANKS}{INVISIBLE},;\\{QUOTES}]|--|$)"
)
_SUSPECT = re.compile(rf"(?:{_ODD}|[,;]|\\[nt])+\\?|\\$|--(?!-)|[{QUOTES}]")
_NUMBER = re.compile(rf"[{DASHES}]\d+(?:\.\d+)?(?=[{BLANKS}]|$)")
_JOINT = re.compile(f"[{BLANKS}]*(?:=[{BLANKS}]*)?")
_NEXT_MEMBER = re.compile(r",[ \t]+(?=[A-Za-z0-9_+-])")
_MARKS = re.compile(f"[{QUOTES}]+(?=[{BLANKS}]|$)")
_CLOSING = {'"': re.compile(f'[{_DOUBLE}"]'), "'": re.compile(f"[{_SINGLE}']")}
_BEHIND_WRAPPER = BLANKS + ODD_BLANKS + INVISIBLE + ",;\\" + QUOTES


class ValueReader:
    """Reads a value at its position in the text, and notes what it took for what."""

    def __init__(self, text: str, words: Vocabulary) -> None:
        self.notes: list[Misspelling] = []
        self._text, self._words, self._at = text, words, 0
        self._wrapper, self._wrapped_at = "", -1  # the kind of quote that wraps flags whole, and where the last opened

    def _note(self, code: str, wrong: str, given: str, used: str = "") -> None:
        self.notes.append(Misspelling(code, wrong, given, used))

    # --- what stands at a place

    def _gap(self, at: int) -> re.Match[str] | None:
        return _GAP.match(self._text, at)

    def _closes(self, at: int) -> bool:
        """Whether the quote here closes one that wraps a flag, or several, whole."""
        if not self._wrapper or plain_quote(self._text[at]) != self._wrapper:
            return False
        return self._text[at + 1 : at + 2] in ("", *_BEHIND_WRAPPER)

    def _starts_flag(self, at: int) -> bool:
        return self._is_flag(_FLAG.match(self._text, at))

    def _is_flag(self, match: re.Match[str] | None) -> bool:
        return match is not None and self._words.is_xla(plain_name(match[2]))

    def _starts_flag_without_dashes(self, at: int) -> bool:
        name = span(NAME, self._text, at)
        plain = plain_name(name)
        known = bool(name) and self._words.known(plain)
        return known and (self._text[at + len(name) :][:1] == "=" or self._words.boolean(plain) is True)

    # --- where a value stands that is not directly behind the '='

    def _joint(self, spelling: Spelling) -> int | None:
        """Where the next word begins, if it is meant as the value of this flag."""
        at = self._at + len(span(_JOINT, self._text, self._at))
        if at == len(self._text) or (self._words.is_xla(spelling.name) and not spelling.known):
            return None
        is_bool = self._words.boolean(spelling.name) is True
        if self._text[at] in DASHES:
            return at if not is_bool and _NUMBER.match(self._text, at) else None
        if self._gap(at) or self._text[at] == "#" or self._starts_flag_without_dashes(at):
            return None
        if self._text[at] in QUOTES and (self._closes(at) or self._text[at + 1 : at + 2] in DASHES):
            return None
        word = span(WORD, self._text, at).strip(QUOTES + ",;").lower()
        return at if not is_bool or word in ("true", "false", "0", "1") else None

    # --- the value

    def _value_at(self, spelling: Spelling) -> str | None:
        """The value that begins here; None if what was meant cannot be told."""
        mark = self._text[self._at]
        if mark in QUOTES and not self._closes(self._at):
            return self._quoted(spelling) if mark in "\"'" else self._typographic(spelling)
        return self._unquoted(spelling)

    def _quoted(self, spelling: Spelling) -> str | None:
        start = self._at
        value, self._at, closed = read_quoted(self._text, start)
        if closed:
            return value + self._behind_quote(spelling, start, value)
        swallowed = next((m for m in _FLAG.finditer(self._text, start + 1) if self._is_flag(m)), None)
        if swallowed is None:
            self._note("unclosed-quote", "a quote is not closed", self._text[start:], emitted(spelling.name, value))
            return value
        self._at = swallowed.start()
        wrong = "a quote is not closed, so that XLA takes the flags behind it for part of the value"
        self._ambiguous(spelling, start, wrong)
        return None

    def _typographic(self, spelling: Spelling) -> str | None:
        start, mark = self._at, self._text[self._at]
        closing = _CLOSING[plain_quote(mark)].search(self._text, start + 1)
        if not closing:
            self._at += len(span(WORD, self._text, start))
            self._ambiguous(spelling, start, f"{code_point(mark)} is no quote to XLA, and nothing closes it")
            return None
        self._at = closing.end()
        value = self._text[start + 1 : closing.start()]
        wrong = f"{code_point(mark)} is no quote to XLA"
        self._note("typographic-quote", wrong, self._text[start : self._at], emitted(spelling.name, value))
        return value + self._behind_quote(spelling, start, value)

    def _ambiguous(self, spelling: Spelling, start: int, wrong: str) -> None:
        given = f"--{spelling.name}={self._text[start : self._at].rstrip(BLANKS)}"
        self._note("ambiguous-quote", f"{wrong}; what was meant cannot be told", given)

    def _behind_quote(self, spelling: Spelling, start: int, value: str) -> str:
        """What stands directly behind a closing quote and, to a shell, would be part of the value."""
        at = self._at
        if at == len(self._text) or self._gap(at) or self._text[at] == "-" or self._closes(at) or self._starts_flag(at):
            return ""
        marks = span(_MARKS, self._text, at)
        self._at += len(marks)  # quotes alone are no part of what was meant
        rest = "" if marks else self._unquoted(spelling)
        wrong = "XLA ends the value at the closing quote, and the parse with it"
        self._note("text-behind-quote", wrong, self._text[start : self._at], emitted(spelling.name, value + rest))
        return rest

    def _unquoted(self, spelling: Spelling) -> str:
        start = self._at
        self._at = self._end_of_word()
        value = self._text[start : self._at]
        if rest := self._rest_of_list(spelling, value) or self._rest_within_wrapper(spelling):
            return value + rest
        if (mark := self._open_quote(value)) and (closed := self._closing(mark)):
            self._at = closed
            self._at = self._end_of_word()
            given = self._text[start : self._at]
            value = given.replace(mark, "")
            self._note("quote-within", "quotes count only right after '='", given, emitted(spelling.name, value))
        if _NUMBER.fullmatch(value) and value[0] != "-":
            self._note("typographic-dash", f"{code_point(value[0])} is no sign to XLA", value, f"-{value[1:]}")
            return f"-{value[1:]}"
        return value

    # --- where an unquoted value ends

    def _end_of_word(self) -> int:
        end = self._at + len(span(WORD, self._text, self._at))
        for suspect in _SUSPECT.finditer(self._text, self._at, end):
            if self._ends_value(suspect, end):
                return suspect.start()
        return end

    def _ends_value(self, suspect: re.Match[str], end: int) -> bool:
        mark = suspect[0][0]
        if mark == "-":
            return self._glued(self._at, suspect.start())
        if mark in QUOTES:
            return self._closes(suspect.start())
        if suspect[0] == "\\":
            return self._continues(end)
        if suspect.end() == end:
            return mark != "\\" and not (suspect[0].endswith("\\") and not self._continues(end))
        return self._starts_flag(suspect.end()) or self._closes(suspect.end())

    def _continues(self, end: int) -> bool:
        return self._text[end:].lstrip(" \t\r").startswith("\n")

    def _glued(self, start: int, at: int) -> bool:
        """Whether a flag begins here, where no blank parts it from what began at ``start``."""
        match = _FLAG.match(self._text, at)
        if match is None or match[1] != "--" or not self._words.known(match[2]):
            return False
        before = self._text[start:at]
        self._note("missing-blank", "no blank stands between two flags", before + match[0], f"{before} {match[0]}")
        return True

    def _rest_of_list(self, spelling: Spelling, value: str) -> str:
        """The members of a comma list that stand behind a blank; XLA would stop at them."""
        match = _NEXT_MEMBER.match(self._text, self._at)
        if not match or not value or not spelling.known or self._words.boolean(spelling.name) is True:
            return ""
        at = match.end()
        if self._text.startswith("--", at) or self._starts_flag(at) or self._starts_flag_without_dashes(at):
            return ""
        self._at = at
        rest = "," + self._unquoted(spelling)
        wrong = "a blank ends a list, and XLA stops at the member behind it"
        self._note("blank-in-list", wrong, value + match[0] + rest[1:], value + rest)
        return rest

    def _rest_within_wrapper(self, spelling: Spelling) -> str:
        """What stands behind a blank in ``"--flag=a b"``: one flag alone in quotes, as for a shell."""
        if not self._wrapper or self._wrapped_at < 0 or self._words.boolean(spelling.name) is True:
            return ""
        closing = _CLOSING[self._wrapper].search(self._text, self._at)
        rest = self._text[self._at : closing.start()] if closing else ""
        if not rest.strip(BLANKS) or re.search(f"(?:^|[{BLANKS}])[{DASHES}#]", rest) or "\n" in rest:
            return ""
        self._at += len(rest)
        return rest

    def _open_quote(self, value: str) -> str:
        return next((mark for mark in "\"'" if value.count(mark) % 2 and mark != self._wrapper), "")

    def _closing(self, mark: str) -> int | None:
        closing = self._text.find(mark, self._at)
        between = self._text[self._at : closing]
        if closing < 0 or "\n" in between or re.search(f"[{BLANKS}][{DASHES}]", between):
            return None
        return closing + 1


def span(pattern: re.Pattern[str], text: str, at: int) -> str:
    """What ``pattern`` matches at this place; "" if nothing."""
    match = pattern.match(text, at)
    return match[0] if match else ""


def plain_quote(mark: str) -> str:
    """The plain quote that a typographic one stands for."""
    return '"' if mark in '"' + _DOUBLE else "'" if mark in "'" + _SINGLE else ""


def emitted(name: str, value: str | None) -> str:
    """The stable text of one flag; "" where the name is none that XLA could have."""
    try:
        return quote(name, value or "") if value is not None else quote(name, "")[:-1]
    except ValueError:
        return ""
