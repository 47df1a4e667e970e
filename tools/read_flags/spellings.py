"""Which spellings of an enum's members a flag takes: with or without a prefix, in which case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Ask = Callable[[str], "dict[str, Any] | None"]


@dataclass(frozen=True)
class Members:
    """The members that a flag takes: shortest spelling and proto name of each, in the enum's order.

    ``case``: "exact", or "any" where every letter case passes. ``prefix``: may stand before a spelling.
    """

    field: str
    texts: tuple[str, ...]
    names: tuple[str, ...]
    case: str
    prefix: str
    written: frozenset[str]

    @classmethod
    def find(cls, ask: Ask, base: dict[str, Any], field: str, names: list[str]) -> Members | None:
        """Ask for every member of one enum; None where the flag takes none of them to mean ``field``."""
        spelling = _spelling(ask, base, field, names)
        if spelling is None:
            return cls._inside(ask, base, field, names)
        strip, change = spelling
        taken = {name: options for name in names if (options := ask(change(strip(name)))) is not None}
        texts = [change(strip(name)) for name in taken]
        written = {k for options in taken.values() for k in base if options[k] != base[k]}
        mixed = ask(_mixed(texts[-1])) is not None
        prefix = _prefix(ask, list(taken), strip, change)
        return cls(field, tuple(texts), tuple(taken), "any" if mixed else "exact", prefix, frozenset(written))

    @classmethod
    def _inside(cls, ask: Ask, base: dict[str, Any], field: str, names: list[str]) -> Members | None:
        """Where the flag takes some words from the middle of a name: COLLECTIVES_PEER_MEMORY as "peer"."""
        texts, written = {}, set()
        for name in names:
            for text in _runs(name):
                options = ask(text)
                if options is not None and options[field] == name:
                    texts[name] = text
                    written |= {k for k in base if options[k] != base[k]}
                    break
        if not texts:
            return None
        mixed = ask(_mixed(next(iter(texts.values())))) is not None
        return cls(field, tuple(texts.values()), tuple(texts), "any" if mixed else "exact", "", frozenset(written))


def values_of_enum(enum: dict[int, str]) -> list[str]:
    """The names in order of their numbers."""
    return [enum[number] for number in sorted(enum)]


def text_list(values: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Proto names as the flag spells them; a name it cannot spell stays as it is."""
    members = values.get("members", ())
    spelled = dict(zip(values.get("names", members), members, strict=True))
    return [spelled.get(name, name) for name in names]


Change = Callable[[str], str]


def _spelling(ask: Ask, base: dict[str, Any], field: str, names: list[str]) -> tuple[Change, Change] | None:
    """How to shorten and to case a proto name so that the flag takes it: shortest first, upper case before lower."""
    for strip, change in _ways(names):
        for name in reversed(names):
            options = ask(change(strip(name)))
            if options is not None and _means(options, base, field, name):
                return strip, change
    return None


def _means(options: dict[str, Any], base: dict[str, Any], field: str, name: str) -> bool:
    value = options[field]
    return value == name or (isinstance(value, list) and value != base[field] and name in str(value))


def _ways(names: list[str]) -> Iterator[tuple[Change, Change]]:
    for cut in sorted(_cuts(names), reverse=True):
        for change in (str.upper, str.lower):
            yield (lambda name, cut=cut: name[cut:]), change  # type: ignore[misc]


def _cuts(names: list[str]) -> list[int]:
    """Lengths of the prefixes, ending in an underscore, that all members share."""
    first = names[0]
    ends = [at + 1 for at, letter in enumerate(first[:-1]) if letter == "_"]
    return [0, *(end for end in ends if all(name[:end] == first[:end] != name for name in names))]


def _mixed(text: str) -> str:
    return "".join(c.lower() if i % 2 else c.upper() for i, c in enumerate(text))


def _prefix(ask: Ask, names: list[str], strip: Change, change: Change) -> str:
    full = names[-1]
    short = strip(full)
    longer = full[: len(full) - len(short)]
    return change(longer) if longer and ask(change(full)) is not None else ""


def _runs(name: str) -> Iterator[str]:
    parts = name.lower().split("_")
    for size in range(1, len(parts)):
        for at in range(len(parts) - size + 1):
            yield "_".join(parts[at : at + size])
