"""How people write the name of a flag, and which flag they mean. Pure."""

from __future__ import annotations

from collections.abc import Callable

from ...values import Value

__all__ = ["DASHES", "INVISIBLE", "ODD_BLANKS", "Misspelling", "Spelling", "Vocabulary", "code_point", "spell"]

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d"
"""The hyphen and what word processors, chats and web pages put in its place."""

ODD_BLANKS = (
    "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)
"""Blanks to the eye, ordinary characters to XLA."""

INVISIBLE = "\xad\u200b\u200c\u200d\u2060\ufeff"

_PLAIN = {ord(dash): "_" for dash in DASHES} | {ord(nothing): None for nothing in INVISIBLE}


class Misspelling(Value):
    """One thing that was wrong: ``given`` as it stands in the text, ``used`` in its place ("": left out)."""

    code: str
    wrong: str
    given: str
    used: str = ""


class Vocabulary(Value):
    """What is known of names: whether a flag exists, which is closest, whether it is a bool (None: cannot be told)."""

    known: Callable[[str], bool]
    closest: Callable[[str], str | None]
    boolean: Callable[[str], bool | None]

    def is_xla(self, name: str) -> bool:
        """Whether the name is a known flag's, or looks like one of XLA's."""
        return self.known(name) or plain_name(name).startswith("xla_")


class Spelling(Value):
    """The flag that is meant; ``value`` where the name itself held one (``--noflag``); ``wrong`` says how it was written."""

    name: str
    known: bool
    value: str | None = None
    wrong: str = ""


def spell(written: str, *, bare: bool, words: Vocabulary) -> Spelling:
    """Which flag ``written`` (without leading dashes) means; ``bare``: no ``=`` follows, so it may hold a value itself."""
    if words.known(written):
        return Spelling(written, known=True)
    plain = plain_name(written)
    if words.known(plain):
        return Spelling(plain, known=True, wrong=_how(written, plain))
    within = _value_within(plain, words) if bare else None
    return within or Spelling(written, known=False)


def plain_name(written: str) -> str:
    """Lower case, underscores for dashes of any kind, without invisible characters."""
    return written.translate(_PLAIN).lower()


def _value_within(plain: str, words: Vocabulary) -> Spelling | None:
    for prefix in ("no_", "no"):
        name = plain[len(prefix) :]
        if plain.startswith(prefix) and words.known(name) and words.boolean(name) is not False:
            return Spelling(name, known=True, value="false", wrong=f"XLA has no form that begins with {prefix[:2]!r}")
    for value in ("true", "false"):
        name = plain.removesuffix(value)[:-1]
        joint = plain[len(name) : len(name) + 1]
        if plain.endswith(value) and joint in ("_", ":") and words.known(name) and words.boolean(name) is not False:
            return Spelling(name, known=True, value=value, wrong="a value is given with '='")
    return None


def _how(written: str, plain: str) -> str:
    if written.lower() == plain:
        return "XLA's names are in lower case"
    if any(nothing in written for nothing in INVISIBLE):
        return f"an invisible character stands in the name ({code_point(next(c for c in written if c in INVISIBLE))})"
    return "XLA's names have underscores where this has dashes"


def code_point(character: str) -> str:
    """``EN DASH (U+2013)``."""
    import unicodedata

    return f"{unicodedata.name(character, 'control character')} (U+{ord(character):04X})"
