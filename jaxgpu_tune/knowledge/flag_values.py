"""What the text of a flag means, and when a parser refuses it (``xla/tsl/util/command_line_flags.cc`` and the setters).

``meaning_of`` takes what any release takes, ``refusal`` adds what one release is stricter about.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from ..wording import did_you_mean
from .flag_spec import ENDS_PROCESS, FlagSpec, Rules

__all__ = ["meaning_of", "on_top", "outcome_by_rules", "refusal"]

_BLANKS = " \t\n\v\f\r"
_INT = r"[+-]?[0-9]+"
_FLOAT = (
    r"(?i)[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]*)?"
    r"|0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]*)?|inf|infinity|nan(\([a-z0-9_]*\))?)"
)
_DURATION = r"[+-]?(0|inf|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|ms|s|m|h))+)"
_BITS = {"int32": 32, "int64": 64}
_LEAST, _MOST = -(2**63), 2**63 - 1


def meaning_of(spec: FlagSpec, text: str | None) -> object:
    """The value of ``text``; equal for texts with the same effect. Raises ValueError with a sentence."""
    if text is None:
        raise ValueError(f"No text of --{spec.name} gives what holds without it.")
    return _READERS[spec.form](spec, text)


def on_top(spec: FlagSpec, before: str, text: str) -> str:
    """What ``text`` leaves where ``before`` was given earlier: ``+X,-Y`` changes that list, any other text takes its place."""
    if not (
        spec.form == "list" and spec.incremental and text and all(i[:1] in ("", "+", "-") for i in _items(spec, text))
    ):
        return text
    return _joined(_list(spec._replace(effective=_joined(_list(spec, before))), text))


def _joined(members: tuple[object, ...]) -> str:
    return ",".join(map(str, members))


def refusal(spec: FlagSpec, text: str, rules: Rules) -> str | None:
    """Why a parser with these rules refuses ``text``, or None."""
    try:
        value = meaning_of(spec, text)
        _stricter(spec, text, rules)
        _own_limits(spec, text, value)
    except ValueError as error:
        return str(error)
    return None


def outcome_by_rules(spec: FlagSpec, text: str, rules: Rules) -> str:
    """What a parser with these rules does with a ``text`` that counts as refused, as half a sentence."""
    if spec.form in _BITS and rules.int_wraps and re.fullmatch(_INT, text.strip(_BLANKS)):
        return f"XLA would take it for {_wrapped(int(text), _BITS[spec.form])}"
    return ENDS_PROCESS if rules.bad_value_fatal else "XLA would log it and keep the default"


def _wrapped(number: int, bits: int) -> int:
    """As C's strtoll reads it, to the bounds of 64 bits, then cut to the flag's own size."""
    cut = max(_LEAST, min(_MOST, number)) & ((1 << bits) - 1)
    return cut - (1 << bits) if cut >> (bits - 1) else cut


def _wrong(spec: FlagSpec, text: str, allowed: str, near: str = "") -> ValueError:
    if text == "None":
        near = f"To take it out: --no-flag {spec.name}, or None without quotes."
    return ValueError(f"--{spec.name} does not take {text!r}: it takes {allowed}. {near}".rstrip())


def _near(item: str, words: tuple[str, ...]) -> str:
    """Most of them are written in capitals."""
    return did_you_mean(item, words) or did_you_mean(item.upper(), words)


def _stricter(spec: FlagSpec, text: str, rules: Rules) -> None:
    """What not every release takes: ``1`` for true, blanks around numbers, hexadecimal floats."""
    if spec.form == "bool" and text in ("0", "1") and not rules.bool_digits:
        raise _wrong(spec, text, "true or false in this release")
    if spec.form in _BITS and _blank(text, rules.int_leading_blanks, rules.int_trailing_blanks):
        raise _wrong(spec, text, "a number without blanks in this release")
    if spec.form == "float" and not _float_passes(text, rules):
        raise _wrong(spec, text, "a plain decimal number in this release")


def _blank(text: str, leading: bool, trailing: bool) -> bool:
    return (not leading and text[:1] in _BLANKS) or (not trailing and text[-1:] in _BLANKS)


def _float_passes(text: str, rules: Rules) -> bool:
    word = text.strip(_BLANKS).lower().lstrip("+-")
    shape = "nan(1)" if word.startswith("nan(") else word
    return not (
        _blank(text, rules.float_leading_blanks, rules.float_trailing_blanks)
        or (word.startswith("0x") and not rules.float_hex)
        or (_open_exponent(word) and not rules.float_open_exponent)
        or (word[:1] in "in" and shape not in rules.float_words)
    )


def _open_exponent(number: str) -> bool:
    """Whether nothing follows the ``e`` of a decimal number, or the ``p`` of a hexadecimal one."""
    return number.rstrip("+-").endswith("p" if "0x" in number else "e")


def _own_limits(spec: FlagSpec, text: str, value: object) -> None:
    """What this one flag's setter refuses though the type allows it."""
    if spec.refuses == "true" and value is True:
        raise _wrong(spec, text, "only false: this build was made without that library")
    if isinstance(value, int) and spec.form in _BITS and value < {"<0": 0, "<=0": 1}.get(spec.refuses, value):
        raise _wrong(spec, text, "numbers from 0 on" if spec.refuses == "<0" else "numbers above 0")


def _bool(spec: FlagSpec, text: str) -> bool:
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise _wrong(spec, text, "true or false", did_you_mean(text, ("true", "false")))
    return value


def _int(spec: FlagSpec, text: str) -> int:
    if not re.fullmatch(_INT, text.strip(_BLANKS)):
        raise _wrong(spec, text, "a whole number in decimal digits")
    value, top = int(text), 1 << (_BITS[spec.form] - 1)
    if not -top <= value < top:
        raise _wrong(spec, text, f"numbers from {-top} to {top - 1}")
    return value


def _float(spec: FlagSpec, text: str) -> object:
    """As XLA keeps it, in 32 bits. Not-a-number becomes a text, since it does not equal itself."""
    plain = text.strip(_BLANKS).lower()
    if not re.fullmatch(_FLOAT, plain):
        raise _wrong(spec, text, "a number such as 0.5 or 1e-3")
    if "nan" in plain:
        return "nan"
    closed = plain + "0" if _open_exponent(plain) else plain
    value = float.fromhex(closed) if "0x" in closed else float(closed)
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return value * float("inf")


def _text(_: FlagSpec, text: str) -> str:
    return text


def _enum(spec: FlagSpec, text: str) -> str:
    if text == "" and spec.empty:
        return spec.members[0]
    return _member(spec, text, text)


def _member(spec: FlagSpec, item: str, text: str) -> str:
    """The member as ``members`` spells it."""
    spelled = {_shape(spec, prefix + member): member for member in spec.members for prefix in (spec.prefix, "")}
    spelled |= {_shape(spec, word): member for word, member in spec.aliases}
    found = spelled.get(_shape(spec, item))
    if found is None:
        some = "a comma-separated list of " if spec.form == "list" else "one of "
        words = (*spec.members, *(word for word, _ in spec.aliases))
        case = _case_hint(spec, item)
        raise _wrong(spec, text, f"{some}{', '.join(words)}{case}", "" if case else _near(item, words))
    return found


def _shape(spec: FlagSpec, word: str) -> str:
    """One spelling of all that a release takes for the same member."""
    plain = "".join(mark for mark in word if mark not in spec.ignored) if spec.ignored else word
    return plain.upper() if spec.case == "any" else plain


def _case_hint(spec: FlagSpec, item: str) -> str:
    wrong_case = spec.case == "exact" and item.upper() in {member.upper() for member in spec.members}
    return " (the case of letters counts)" if wrong_case else ""


def _list(spec: FlagSpec, text: str) -> tuple[object, ...]:
    if not spec.members:
        return _free_list(spec, text)
    if text == "":
        if not spec.empty:
            raise _wrong(spec, text, f"a comma-separated list of {', '.join(spec.members)}, but not an empty one")
        return ()
    items = _items(spec, text)
    signed = [item[:1] in ("+", "-") for item in items]
    if spec.incremental and any(signed):
        return _changed(spec, items, text)
    named = [item for item in items if item] if spec.trailing else items
    if spec.incremental and not named:
        return _list(spec, spec.effective or "")
    return tuple(dict.fromkeys(_item(spec, item, text) for item in named))


def _items(spec: FlagSpec, text: str) -> list[str]:
    return [item.strip(_BLANKS) for item in text.split(",")] if spec.blanks else text.split(",")


def _item(spec: FlagSpec, item: str, text: str) -> object:
    if not spec.suffix:
        return _member(spec, item, text)
    name, *rest = item.split(":")
    return (_member(spec, name, text), *_suffix(spec, rest, text))


def _suffix(spec: FlagSpec, rest: list[str], text: str) -> tuple[object, ...]:
    """What follows a colon: a number, then perhaps the name of an element type; XLA does not look at what follows that."""
    number, kind = rest[:1], [word.upper() for word in rest[1:2]]
    if not all(map(_is_int64, number)) or not set(kind) <= set(spec.types):
        raise _wrong(spec, text, "NAME, NAME:BYTES or NAME:BYTES:TYPE, separated by commas")
    return (*map(int, number), *kind)


def _changed(spec: FlagSpec, items: list[str], text: str) -> tuple[object, ...]:
    """``+X,-Y``: the default list with X added and Y taken away."""
    if not all(item[:1] in ("+", "-") for item in items):
        raise _wrong(spec, text, "either plain names or names that all begin with + or -")
    default = list(_list(spec, spec.effective or ""))
    changes = [(item[0], _member(spec, item[1:], text)) for item in items]
    for sign, member in changes[:1] if spec.first_only else changes:
        if sign == "+" and member not in default:
            default.append(member)
        if sign == "-" and member in default:
            default.remove(member)
    return tuple(default)


def _free_list(spec: FlagSpec, text: str) -> tuple[object, ...]:
    """Names of passes, files, expressions: anything goes, and an empty text is one empty name."""
    items = text.split(spec.separator) if spec.separator else [text]
    numbers = [number for item in items for number in item.split(":", 1)[1:]]
    if spec.suffix == "int" and not all(map(_is_int64, numbers)):
        raise _wrong(spec, text, "names, each perhaps followed by a colon and a number")
    return tuple(items)


def _map(spec: FlagSpec, text: str) -> tuple[tuple[str, object], ...]:
    pairs = [(key, value) for key, _, value in (item.partition("=") for item in text.split(","))]
    if spec.suffix == "int" and not all(_is_int64(value) for _, value in pairs):
        raise _wrong(spec, text, "NAME=NUMBER, separated by commas")
    return tuple(sorted(dict(pairs).items()))


def _duration(spec: FlagSpec, text: str) -> str:
    if not re.fullmatch(_DURATION, text):
        raise _wrong(spec, text, "a time with its unit (ns, us, ms, s, m, h) such as 1h30m, or inf")
    return text


def _ranges(spec: FlagSpec, text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_bounds(spec, item.split(":"), text) for item in text.split(","))


def _bounds(spec: FlagSpec, ends: list[str], text: str) -> tuple[int, int]:
    """``3``, ``3:5``, ``3:`` or ``:5``."""
    stated = [end for end in ends if end]
    if not stated or len(ends) > 2 or not all(map(_is_int64, stated)):
        raise _wrong(spec, text, "numbers and ranges such as 1,3:5,7:")
    first, last = int(ends[0] or _LEAST), int(ends[-1] or _MOST)
    if first > last:
        raise _wrong(spec, text, "ranges whose first number is not above the last")
    return first, last


def _is_int64(text: str) -> bool:
    return bool(re.fullmatch(_INT, text.strip(_BLANKS))) and _LEAST <= int(text) <= _MOST


_READERS: dict[str, Callable[[FlagSpec, str], object]] = {
    "bool": _bool,
    "int32": _int,
    "int64": _int,
    "float": _float,
    "text": _text,
    "enum": _enum,
    "list": _list,
    "map": _map,
    "duration": _duration,
    "ranges": _ranges,
}
