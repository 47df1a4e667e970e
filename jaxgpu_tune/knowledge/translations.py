"""What stands for a flag or an option in a release that does not have it, or that refuses its value.

The table is authored (``data/translations.toml``); which release has which flag comes from the catalogue. A setting
that is known but absent and that no table covers has no translation: the caller drops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..model import SettingKind
from ..values import Value
from . import flags, options
from .tables import named_setting, one_or_more, read_table
from .versions import matches

__all__ = [
    "Rule",
    "Translation",
    "all_rules",
    "changed_meaning",
    "changed_rules",
    "member_rules",
    "rules",
    "translate",
    "translate_option",
]

Target = tuple[SettingKind, str, Any]

FILE = "translations.toml"


class Translation(Value):
    """The settings (kind, name, value) that stand for one; ``intent`` completes "… is not for this release: "."""

    settings: tuple[Target, ...]
    intent: str
    lossless: bool = True


class Rule(Value):
    """One table of the file. ``values`` None: any value; ``each`` maps members of a list to what stands for each."""

    kind: SettingKind
    name: str
    targets: tuple[Target, ...]
    intent: str
    lossless: bool = True
    values: tuple[str, ...] | None = None
    at_least: float | None = None
    below: float | None = None
    each: Mapping[str, Target] | None = None
    releases: str = ""

    def applies(self, value: Any) -> bool:
        """Whether the table is for this value."""
        if self.each is not None:
            return all(member in self.each for member in _members(str(value)))
        if self.at_least is not None or self.below is not None:
            return _between(value, self.at_least, self.below)
        return self.values is None or any(_same(value, wanted) for wanted in self.values)

    @property
    def given(self) -> str:
        """The values that the table is for, in words."""
        if self.each is not None:
            return f"a list of {', '.join(self.each)}"
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (("at least", self.at_least), ("below", self.below))
            if bound is not None
        ]
        if bounds:
            return f"a number of {' and '.join(bounds)}"
        return "any value" if self.values is None else " or ".join(map(repr, self.values))

    def settings(self, value: Any) -> tuple[Target, ...]:
        """Say what stands for the setting with this value."""
        if self.each is not None:
            return tuple(self.each[member] for member in _members(str(value)))
        return tuple((kind, name, value if text == "{value}" else text) for kind, name, text in self.targets)


def translate(name: str, value: str, release: str) -> Translation | None:
    """Say what stands for ``--name=value`` in a release; None where the flag is fine as it is, or where nothing is known.

    ``release`` is one of ``flags.releases()``. Chains are followed until every flag exists there with an accepted value.
    """
    return None if _fine(name, value, release) else _search(name, value, release, frozenset())


def translate_option(name: str, value: Any, jax_release: str) -> Translation | None:
    """Say what stands for a jax.config option in a release of jax; None where the option exists or nothing is known.

    Flags among the settings may need ``translate`` in turn.
    """
    if options.option(name, jax_release) is not None:
        return None
    for rule in rules("jax_config", name):
        settings = rule.settings(value) if rule.applies(value) else None
        if settings is not None and all(k != "jax_config" or options.option(n, jax_release) for k, n, _ in settings):
            return Translation(settings, rule.intent, rule.lossless)
    return _nothing_left(name, value)


def changed_meaning(kind: SettingKind, name: str, value: Any, release: str) -> Translation | None:
    """Find what says the old meaning of a setting that exists in ``release`` but means something else there, or None.

    For moving a setting from an older release to this one; what a user wrote for this release stays as it is.
    """
    for rule in changed_rules(kind, name):
        if matches(rule.releases, release) and rule.applies(value):
            return Translation(rule.settings(value), rule.intent, rule.lossless)
    return None


def rules(kind: SettingKind, name: str) -> tuple[Rule, ...]:
    """Return the tables for one setting, in the file's order."""
    return _load()[0].get((kind, name), ())


def changed_rules(kind: SettingKind, name: str) -> tuple[Rule, ...]:
    """Return the tables that say where a setting's name stayed and its meaning changed; ``releases`` says in which."""
    return tuple(rule for rule in _load()[1] if (rule.kind, rule.name) == (kind, name))


def all_rules() -> tuple[Rule, ...]:
    """Every table, in the file's order."""
    return tuple(rule for found in _load()[0].values() for rule in found)


def member_rules(name: str) -> Mapping[str, tuple[str, ...]]:
    """For a list flag: each member (upper case) that has others standing for it, and which."""
    return _load()[2].get(name, {})


def _fine(name: str, value: str, release: str) -> bool:
    spec = flags.flag(name, release)
    return spec is not None and not flags.check_value(spec, value, release)


def _search(name: str, value: str, release: str, tried: frozenset[tuple[str, str]]) -> Translation | None:
    tried |= {(name, value)}
    for rule in rules("xla_flag", name):
        found = _reach(rule, value, release, tried) if rule.applies(value) else None
        if found is not None:
            return found
    return _by_member(name, value, release)


def _reach(rule: Rule, value: str, release: str, tried: frozenset[tuple[str, str]]) -> Translation | None:
    settings: list[Target] = []
    lossless = rule.lossless
    for kind, name, text in rule.settings(value):
        if kind != "xla_flag" or _fine(name, text, release):
            settings.append((kind, name, text))
            continue
        further = None if (name, text) in tried else _search(name, text, release, tried)
        if further is None:
            return None
        settings += further.settings
        lossless = lossless and further.lossless
    return Translation(tuple(dict.fromkeys(settings)), rule.intent, lossless)


def _by_member(name: str, value: str, release: str) -> Translation | None:
    """Replace, or leave out, the members of a list that the release refuses."""
    spec = flags.flag(name, release)
    if spec is None or not member_rules(name):
        return None
    kept: list[str] = []
    lost: list[str] = []
    for signed in filter(None, (part.strip() for part in value.split(","))):
        sign, member = (signed[0], signed[1:]) if signed[0] in "+-" else ("", signed)
        stand_ins = [
            one for one in (member, *member_rules(name).get(member.upper(), ())) if _fine(name, sign + one, release)
        ]
        kept += [sign + one for one in (stand_ins[:1] if stand_ins[:1] == [member] else stand_ins)]
        lost += [] if stand_ins else [member]
    text = ",".join(dict.fromkeys(kept))
    if not kept or not _fine(name, text, release) or any(_is_foreign(name, member) for member in lost):
        return None
    intent = (
        f"this release has no {', '.join(lost)} in the list"
        if lost
        else "members of the list have other names in this release"
    )
    return Translation((("xla_flag", name, text),), intent, not lost)


def _is_foreign(name: str, member: str) -> bool:
    """Whether no release has a member of that name: it is a mistake, not another release's."""
    specs = (flags.flag(name, release) for release in flags.releases())
    known = {one.upper() for spec in specs if spec is not None for one in spec.members}
    return member.upper() not in known and member.upper() not in member_rules(name)


def _nothing_left(name: str, value: Any) -> Translation | None:
    """Options whose stand-ins do not exist in an old jax either: nothing can be set."""
    if not any(rule.applies(value) for rule in rules("jax_config", name)):
        return None
    return Translation((), "this jax has neither the option nor what stands for it", False)


@lru_cache(maxsize=1)
def _load() -> tuple[dict[tuple[str, str], tuple[Rule, ...]], tuple[Rule, ...], dict[str, dict[str, tuple[str, ...]]]]:
    tables = read_table("translations")
    by_name: dict[tuple[str, str], tuple[Rule, ...]] = {}
    for rule in (rule for table in tables["translate"] for rule in _read(table)):
        by_name[rule.kind, rule.name] = (*by_name.get((rule.kind, rule.name), ()), rule)
    members: dict[str, dict[str, tuple[str, ...]]] = {}
    for table in tables["member"]:
        members.setdefault(table["flag"], {})[table["member"].upper()] = tuple(table["to"])
    return by_name, tuple(rule for table in tables["changed"] for rule in _read(table)), members


def _read(table: Mapping[str, Any]) -> tuple[Rule, ...]:
    kind, names = named_setting(table, FILE)
    return tuple(
        Rule(
            kind=kind,
            name=name,
            targets=tuple(_target(entry) for entry in table.get("to", ())),
            intent=table["intent"],
            lossless=table.get("lossless", True),
            values=one_or_more(table["value"]) if "value" in table else None,
            at_least=table.get("at_least"),
            below=table.get("below"),
            each={member: _target(entry) for member, entry in table["each"].items()} if "each" in table else None,
            releases=table.get("in", ""),
        )
        for name in one_or_more(names)
    )


def _target(entry: Mapping[str, Any]) -> Target:
    kind, name = named_setting(entry, FILE)
    return kind, name, entry["value"]


def _members(value: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in value.split(","))


def _same(value: Any, wanted: str) -> bool:
    spellings = {"true": ("true", "1"), "false": ("false", "0")}.get(wanted, (wanted.lower(),))
    return ",".join(_members(str(value))) in spellings


def _between(value: Any, at_least: float | None, below: float | None) -> bool:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return (at_least is None or number >= at_least) and (below is None or number < below)
