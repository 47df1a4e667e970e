"""The text form (``.pbtxt``) of a profile: ``costs { name: "all-gather-start.1" cost_us: 7040.5 }``, one a line.

Read as protocol buffers' text format is: https://protobuf.dev/reference/protobuf/textformat-spec/. XLA drops the whole
profile, with a line in its log, where it cannot read one entry, so an unknown field is an error here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .cost_profile import Cost, CostProfile, Latency

__all__ = ["parse_text", "print_text"]

TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<mark>[{}<>\[\]:,;])
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""",
    re.VERBOSE,
)
FIELDS = {"costs": {"name": str, "cost_us": float}, "latencies": {"source": str, "target": str, "latency_us": float}}
CLOSING = {"{": "}", "<": ">"}
ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}
ESCAPED = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)


class ProtoToken(NamedTuple):
    kind: str
    text: str
    line: int


def parse_text(text: str) -> CostProfile:
    """Raises ValueError that names the line which cannot be read."""
    tokens = _Tokens(text)
    costs: list[Cost] = []
    latencies: list[Latency] = []
    while tokens.head.kind:
        field = tokens.one_of("name", *FIELDS)
        for entry in _entries(tokens, field):
            if field == "costs":
                costs.append(Cost.named(entry.get("name", ""), entry.get("cost_us", 0.0)))
            else:
                latencies.append(
                    Latency(entry.get("source", ""), entry.get("target", ""), entry.get("latency_us", 0.0))
                )
        tokens.skip(",", ";")
    return CostProfile(tuple(costs), tuple(latencies))


def print_text(profile: CostProfile) -> str:
    """One line an entry."""
    costs = (f"costs {{ name: {_quoted(cost.full_name)} cost_us: {cost.us!r} }}\n" for cost in profile.costs)
    latencies = (
        f"latencies {{ source: {_quoted(one.source)} target: {_quoted(one.target)} latency_us: {one.us!r} }}\n"
        for one in profile.latencies
    )
    return "".join((*costs, *latencies))


class _Tokens:
    """The tokens one after another; ``head`` is the next, of kind "" at the end."""

    def __init__(self, text: str) -> None:
        self.rest = _scan(text)
        self.head = next(self.rest)

    def take(self) -> ProtoToken:
        token, self.head = self.head, next(self.rest, self.head)
        return token

    def skip(self, *marks: str) -> bool:
        """Whether the next is one of these marks, which is then passed."""
        found = self.head.kind == "mark" and self.head.text in marks
        if found:
            self.take()
        return found

    def one_of(self, kind: str, *texts: str) -> str:
        """The next, which must be one of these."""
        token = self.take()
        if token.kind != kind or token.text not in texts:
            raise ValueError(f"line {token.line}: {token.text!r} where {' or '.join(texts)} is expected")
        return token.text


def _scan(text: str) -> Iterator[ProtoToken]:
    at, line = 0, 1
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"line {line}: {text[at : at + 20]!r} is no part of a profile")
        if found.lastgroup != "blank":
            yield ProtoToken(str(found.lastgroup), found.group(), line)
        line += found.group().count("\n")
        at = found.end()
    yield ProtoToken("", "the end", line)


def _entries(tokens: _Tokens, field: str) -> Iterator[dict[str, Any]]:
    """The entry after ``costs``, or several in brackets."""
    tokens.skip(":")
    if not tokens.skip("["):
        yield _entry(tokens, field)
        return
    while not tokens.skip("]"):
        yield _entry(tokens, field)
        tokens.skip(",")


def _entry(tokens: _Tokens, field: str) -> dict[str, Any]:
    end = CLOSING[tokens.one_of("mark", *CLOSING)]
    found: dict[str, Any] = {}
    while not tokens.skip(end):
        name = tokens.one_of("name", *FIELDS[field])
        tokens.one_of("mark", ":")
        found[name] = _string(tokens) if FIELDS[field][name] is str else _number(tokens)
        tokens.skip(",", ";")
    return found


def _string(tokens: _Tokens) -> str:
    """A text, which may be written in several parts."""
    token = tokens.take()
    if token.kind != "string":
        raise ValueError(f"line {token.line}: {token.text!r} where a quoted name is expected")
    parts = [token.text]
    while tokens.head.kind == "string":
        parts.append(tokens.take().text)
    try:
        return b"".join(ESCAPED.sub(_escape, part[1:-1].encode()) for part in parts).decode()
    except UnicodeDecodeError:
        raise ValueError(f"line {token.line}: a name that is no text") from None


def _escape(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = found.groups()
    if octal or hexadecimal:
        return bytes([(int(octal, 8) if octal else int(hexadecimal, 16)) & 255])
    return bytes([ESCAPES.get(other.decode(errors="replace"), other[0])])


def _number(tokens: _Tokens) -> float:
    token = tokens.take()
    if token.kind != "number" and token.text.lower() not in ("inf", "infinity", "nan"):
        raise ValueError(f"line {token.line}: {token.text!r} where microseconds are expected")
    return float(token.text.rstrip("fF") if token.kind == "number" else token.text)


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + plain.replace("\r", "\\r") + '"'
