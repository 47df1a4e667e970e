"""What the real parser makes of each flag: which fields it writes, which values it takes, and how."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jaxgpu_tune.proof import wire

from .binary import Binary, Options, UnreadableError
from .spellings import Members, text_list, values_of_enum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Facts = dict[str, Any]
_JUNK = "zz_Junk9"
_WORDS = (
    "all",
    "none",
    "any",
    "default",
    "auto",
    "off",
    "on",
    "true",
    "false",
    "disabled",
    "enabled",
    "*",
    "0",
    "1",
    "-1",
)
"""What parsers know beside the members of an enum."""


class Questions:
    """Asks one binary. ``base`` is what it makes of an empty XLA_FLAGS, every field filled in."""

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self.fields = binary.fields()
        self._zeros = wire.zeros(binary.schema, ".xla.DebugOptions")
        base = self.ask("")
        assert base is not None
        self.base: Options = base

    def ask(self, flags: str) -> Options | None:
        """The options that ``flags`` give, or None where they are refused."""
        options = self.binary.ask(flags).options
        return None if options is None else self._filled(options)

    def given(self, name: str, *values: str) -> Options | None:
        """The options with ``name`` given each of ``values`` in turn (quoted, as blanks may be part of them)."""
        return self.ask(" ".join(f'--{name}="{value}"' for value in values))

    def changed(self, options: Options | None) -> set[str]:
        """The fields that differ from the base; of refused options none."""
        return set() if options is None else {k for k in self.base if options[k] != self.base[k]}

    def about(self, flag: dict[str, str]) -> Facts:
        """Everything asked about one flag: ``fields``, ``values``, ``refuses``, ``effective``, ``compile_option``."""
        facts = _OF_TYPE[flag["type"]](self, flag)
        name, own = flag["name"], self.fields.get(flag["name"])
        written = facts["fields"]
        plain = own is not None and not own.is_message
        facts["compile_option"] = plain and (name in written or not written)
        return facts

    def _filled(self, options: Options) -> Options:
        return {name: options.get(name, zero) for name, zero in self._zeros.items()}


def _bool(asked: Questions, flag: dict[str, str]) -> Facts:
    answers = {text: asked.given(flag["name"], text) for text in ("true", "false")}
    return _scalar(asked, flag, answers, [text for text in answers if answers[text] is None])


def _int(asked: Questions, flag: dict[str, str]) -> Facts:
    default = int(flag["default"])
    top = 2**31 - 1 if flag["type"] == "int32" else 2**63 - 1
    tried = dict.fromkeys([default, min(default + 1, top), max(default - 1, -top), -1, 0, 1, 2, top])
    answers = {str(number): asked.given(flag["name"], str(number)) for number in tried}
    refused = [text for text in ("-1", "0", "1", str(top)) if answers[text] is None]
    return _scalar(asked, flag, answers, refused)


def _float(asked: Questions, flag: dict[str, str]) -> Facts:
    texts = dict.fromkeys([flag["default"], f"{float(flag['default']) + 1:.9g}", "-1", "0", "0.5"])
    answers = {text: asked.given(flag["name"], text) for text in texts}
    return _scalar(asked, flag, answers, [text for text in ("-1", "0") if answers[text] is None])


def _scalar(asked: Questions, flag: dict[str, str], answers: dict[str, Options | None], refused: list[str]) -> Facts:
    facts: Facts = {"fields": sorted(set().union(*map(asked.changed, answers.values())))}
    if refused:
        facts["refuses"] = {("-1", "0"): "<=0", ("-1",): "<0"}.get(tuple(refused), ",".join(refused))
    restating = [text for text, options in answers.items() if options == asked.base]
    if flag["default"] not in restating:
        facts["effective"] = restating[0] if restating else None
    return facts


def _string(asked: Questions, flag: dict[str, str]) -> Facts:
    name = flag["name"]
    junk = asked.given(name, _JUNK)
    facts = _free(asked, name, junk) if junk is not None else _choice(asked, flag)
    if not facts.get("undefined") and asked.given(name, flag["default"]) != asked.base:
        facts.update(_restating(asked, name, facts))
    return facts


def _free(asked: Questions, name: str, junk: Options) -> Facts:
    """A flag that takes any text: one string, a list of strings, or key=value pairs."""
    written = sorted(asked.changed(junk) | asked.changed(asked.given(name, "11")))
    field = asked.fields[written[0]] if written else None
    if field is not None and field.is_message and not field.repeated:
        return {"fields": written, "values": {"form": "list", "repeat": "append", "empty": True}}
    if field is None or not field.repeated:
        return {"fields": written}
    if field.of in asked.binary.schema.maps:
        return {"fields": written, "values": {"form": "map", "repeat": "merge", "empty": _takes(asked, name, "")}}
    values = {
        "form": "list",
        "repeat": _repeat(asked, name, _JUNK, "other"),
        "empty": _takes(asked, name, ""),
    }
    split = asked.given(name, f"{_JUNK},other")
    if split is not None and len(split[field.name]) == len(asked.base[field.name]) + 1:
        values["separator"] = ""
    if not _takes(asked, name, f"{_JUNK}:text"):
        values["suffix"] = "int"
    return {"fields": written, "values": values}


def _choice(asked: Questions, flag: dict[str, str]) -> Facts:
    """A flag that refuses junk: an enum, a list of enum members, or one of the few with a grammar of its own."""
    name = flag["name"]
    own = asked.fields.get(name)
    special = _special(asked, name)
    if special is not None:
        return special
    names = values_of_enum(asked.binary.schema.enums[own.of]) if own and own.is_enum else []
    if any(_crashes(asked, name, text) for text in names):
        return _undefined(asked, name, names)
    for field, members in _enums(asked, [own] if own else asked.fields.values()):
        found = Members.find(lambda text: asked.given(name, text), asked.base, field, members)
        if found:
            return {"fields": sorted(found.written), "values": _ways(asked, name, found)}
    raise UnreadableError(f"{name}: no value found that it takes")


def _undefined(asked: Questions, name: str, names: list[str]) -> Facts:
    """A flag whose setter writes where it should not: which texts pass is a fact, what comes of them is chance."""
    members = [text for text in names if _passes(asked, name, text)]
    case = "any" if _passes(asked, name, members[-1].swapcase()) else "exact"
    values = {"form": "enum", "members": members, "case": case, "empty": _passes(asked, name, "")}
    return {"fields": [name], "values": values, "undefined": True}


def _crashes(asked: Questions, name: str, text: str) -> bool:
    """Whether the setter crashes, at once or when other work was done on the stack: a message about another flag."""
    before = ("", "--xla_gpu_enable_triton_gemm=abc ", "--xla_gpu_autotune_level=2 ")
    return any(asked.binary.ask(f'{other}--{name}="{text}"').crashed for other in before)


def _passes(asked: Questions, name: str, text: str) -> bool:
    answer = asked.binary.ask(f'--{name}="{text}"')
    return answer.crashed or answer.options is not None


def _enums(asked: Questions, fields: Iterable[wire.Field]) -> Iterator[tuple[str, list[str]]]:
    """(field, members) of every field that is an enum or a message with one inside."""
    enums, messages = asked.binary.schema.enums, asked.binary.schema.messages
    for field in fields:
        if field.is_enum:
            yield field.name, values_of_enum(enums[field.of])
        if field.is_message:
            inner = messages.get(field.of, {}).values()
            yield from ((field.name, values_of_enum(enums[f.of])) for f in inner if f.is_enum)


_SPECIAL: dict[str, Facts] = {
    "10s": {"form": "duration"},
    "1:2": {"form": "ranges"},
    "a=1": {"form": "map", "suffix": "int", "repeat": "merge"},
}


def _special(asked: Questions, name: str) -> Facts | None:
    """The few flags with a grammar of their own: how long, which numbers, how much fuel a pass gets."""
    for text, values in _SPECIAL.items():
        options = asked.given(name, text)
        if options is not None:
            return {"fields": sorted(asked.changed(options)), "values": values | {"empty": _takes(asked, name, "")}}
    return None


def _ways(asked: Questions, name: str, found: Members) -> Facts:
    values: Facts = {"form": "enum", "members": list(found.texts), "case": found.case, "empty": _takes(asked, name, "")}
    if found.prefix:
        values["prefix"] = found.prefix
    if tuple(found.texts) != tuple(found.names):
        values["names"] = list(found.names)
    values.update(_other_words(asked, name, found))
    if asked.fields[found.field].repeated:
        values.update(_list_ways(asked, name, found))
    return values


def _other_words(asked: Questions, name: str, found: Members) -> Facts:
    """What else passes for a member: words of the parser's own, each told by its effect, and members with marks inside."""
    meant = {json.dumps(asked.given(name, text), sort_keys=True): text for text in reversed(found.texts)}
    spelled = {text.upper() for text in (*found.texts, *found.names)}
    tried = {word: asked.given(name, word) for word in _WORDS if word.upper() not in spelled}
    aliases = {w: meant.get(json.dumps(o, sort_keys=True)) for w, o in tried.items() if o is not None}
    marks = "".join(mark for mark in "-_" if all(_takes(asked, name, f"{t[0]}{mark}{t[1:]}") for t in found.texts[:3]))
    facts: Facts = {"ignored": marks} if marks else {}
    known = {word: text for word, text in aliases.items() if text is not None}
    return {**facts, "aliases": known} if known else facts


def _list_ways(asked: Questions, name: str, found: Members) -> Facts:
    one, two = found.texts[1], found.texts[2 if len(found.texts) > 2 else 0]
    takes: Callable[[str], bool] = lambda text: _takes(asked, name, text)  # noqa: E731
    facts: Facts = {"form": "list", "repeat": _repeat(asked, name, one, two)}
    facts["blanks"] = takes(f"{one}, {two}")
    facts["trailing"] = takes(f"{one},")
    facts["incremental"] = _increments(asked, name, found)
    if takes(f"{one}:64"):
        facts["suffix"] = "bytes"
        types = asked.binary.schema.enums[".xla.PrimitiveType"]
        tried = [text for number in sorted(types) for text in (types[number], str(number))]
        facts["types"] = [text for text in tried if takes(f"{one}:64:{text}")]
    return facts


def _increments(asked: Questions, name: str, found: Members) -> bool | str:
    """Whether ``+X,-Y`` works; "first" where all but the first item are silently left out."""
    one, two = found.texts[1], found.texts[2 if len(found.texts) > 2 else 0]
    first = asked.given(name, one, f"+{two}")
    if first is None:
        return False
    removed = asked.given(name, f"{one},{two}", f"-{one},-{two}")
    return "first" if removed is None or removed[found.field] else True


def _repeat(asked: Questions, name: str, one: str, two: str) -> str:
    both, last = asked.given(name, one, two), asked.given(name, two)
    return "last" if both == last else "append"


def _takes(asked: Questions, name: str, text: str) -> bool:
    return asked.given(name, text) is not None


def _restating(asked: Questions, name: str, facts: Facts) -> Facts:
    """The text that gives the base, for a flag whose registered default does not."""
    values = facts.get("values", {})
    for field in facts["fields"]:
        for text in _spelled(values, asked.base[field]):
            if asked.given(name, text) == asked.base:
                return {"effective": text}
    return {"effective": "" if asked.given(name, "") == asked.base else None}


def _spelled(values: Facts, base: Any) -> Iterable[str]:
    if isinstance(base, str):
        yield from text_list(values, [base])
        yield base
    elif isinstance(base, list) and all(isinstance(item, str) for item in base):
        yield ",".join(text_list(values, base))
    elif isinstance(base, dict):
        yield ",".join(f"{k}={v}" for k, v in sorted(base.items()))


_OF_TYPE: dict[str, Callable[[Questions, dict[str, str]], Facts]] = {
    "bool": _bool,
    "int32": _int,
    "int64": _int,
    "float": _float,
    "string": _string,
}


def rules(asked: Questions, flags: list[dict[str, str]]) -> Facts:
    """How this release reads values in general; see ``jaxgpu_tune.knowledge.flags.rules``."""
    flag, number = "xla_gpu_enable_triton_gemm", "xla_gpu_autotune_level"
    real = next(f["name"] for f in flags if f["type"] == "float")
    return {
        "bad_value_fatal": asked.binary.fatal_values,
        "bool_digits": _takes(asked, flag, "1") and _takes(asked, flag, "0"),
        "int_wraps": _takes(asked, number, "99999999999"),
        "int_leading_blanks": _takes(asked, number, " 2"),
        "int_trailing_blanks": _takes(asked, number, "2 "),
        "float_leading_blanks": _takes(asked, real, " 0.5"),
        "float_trailing_blanks": _takes(asked, real, "0.5 "),
        "float_hex": _takes(asked, real, "0x10"),
        "float_open_exponent": _takes(asked, real, "1e"),
        "float_overflows": _takes(asked, real, "1e400"),
        "float_words": [text for text in ("inf", "infinity", "nan", "nan(1)") if _takes(asked, real, text)],
    }
