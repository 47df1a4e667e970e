"""Random texts for a flag: what its form takes, what nearly fits, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from jaxgpu_tune.knowledge.flag_spec import FlagSpec

__all__ = ["random_text"]

_BOOL = "true|false|TRUE|False|1|0|yes||t|2|true,| true|on"
_INT = (
    "0|1|-1|+2| 3|4 |abc|2x|2.5|0x2|1e6|1_000|true||99999999999|2147483647|2147483648|-2147483648|-2147483649"
    "|9223372036854775807|9223372036854775808|-9223372036854775808|007|-0|-| |+ 2|--2"
)
_FLOAT = (
    "0.5|1e1|inf|-inf|INF|nan|NaN|-nan|infinity|nan(1)|nan(a_1)|nan()|abc|1.5f|0x10|0x1p3|0x|0x.8| 1|1 |.5|5.|-.5e-3"
    "|1e400|1e39|-1e39|1e-400||+1|+-1|- 1|1,5|in|1e|1e+|0x1p|2.e-|0x1e"
)
_DURATION = (
    "10s|1h30m|5|0|inf|-inf|+inf|INF|-1s|+1s||1.5s|.5s|5.s|10 s| 10s|2d|0s|00|-0|10ms5us|1e3s|s|1.|0.0|.s|1us2ns|3m 4s"
)
_RANGES = "1|1:2|1,3:5|2:|:2|:||-1|-2:-1|a|1,|1:2:3| 1|1, 2|+1|5:3|99999999999999999999|-3:|1:x|0"
_PAIRS = "a=1|b=2|a|a=|=1|c=x|d=-1|e=1=2|| f=1|g=+1|h= 1|i=1 "
_TEXT = "|x|/a/b|a,b|a:1|a:x|a=1|NONE"
_NAMES = "a|b-c|x:1|y:z|p:-2|:3|x:+2|d:"
_SUFFIXES = ":64|:x|:|:1:f32|:1:F32|:1:zz|:-1|:1:0|::f32|:1.5|:1:f32:x|:1:11|:1:99"


def random_text(spec: FlagSpec, random: Random) -> str:
    """One text, more often right than wrong for enums and lists. It holds no quote and no backslash."""
    choices = {"bool": _BOOL, "int32": _INT, "int64": _INT, "float": _FLOAT, "duration": _DURATION, "ranges": _RANGES}
    if spec.form in choices:
        return random.choice(choices[spec.form].split("|"))
    makers: dict[str, Callable[[FlagSpec, Random], str]] = {"enum": _enum, "list": _list, "map": _map}
    return makers.get(spec.form, _text)(spec, random)


def _text(_: FlagSpec, random: Random) -> str:
    return random.choice(_TEXT.split("|"))


def _enum(spec: FlagSpec, random: Random) -> str:
    member = random.choice(spec.members)
    near = [member.lower(), member.upper(), member.swapcase(), spec.prefix + member, *spec.names]
    return random.choice([member, member, *near, "", member + "x", f" {member}", f"{member} ", "0", f"{member},"])


def _list(spec: FlagSpec, random: Random) -> str:
    items = [_item(spec, random) for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3]))]
    signs = random.choice([("",), ("",), ("+", "-"), ("", "", "", "+")])
    signed = [random.choice(signs) + item for item in items]
    return random.choice([",", ",", ",", ", "]).join(signed) + random.choice(["", "", "", ","])


def _item(spec: FlagSpec, random: Random) -> str:
    member = random.choice(spec.members or _NAMES.split("|"))
    if random.random() < 0.2:
        wrong = ["JUNK", "NONE", "", "+", member.lower(), member.swapcase(), f" {member}", f"{member} "]
        member = random.choice([*wrong, spec.prefix + member, *spec.names])
    return member + (random.choice(_SUFFIXES.split("|")) if spec.suffix == "bytes" and random.random() < 0.4 else "")


def _map(_: FlagSpec, random: Random) -> str:
    return ",".join(random.choice(_PAIRS.split("|")) for _ in range(random.choice([0, 1, 1, 2, 3])))
