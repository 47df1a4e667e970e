"""Whether the processes of a job agree, and which ones do not: from what each has to findings that name the odd ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...knowledge.compared import severity_of
from ...model import Finding, SettingKind, Severity
from ...values import Value
from ...wording import capital

__all__ = ["disagreements", "missing"]

Settings = Mapping[str, Mapping[str, str]]
"""What one process has: section -> name -> text (``host/own_settings.py``)."""

MOST_NAMED = 8
MOST_GROUPS = 4
NOT_SET = "not set"


class Section(Value):
    """What is compared: how a difference is coded and called, and what to do. ``kind``: of the settings in it."""

    code: str
    what: str
    hint: str
    kind: SettingKind | None = None


SECTIONS = {
    "versions": Section(
        "versions-differ", "versions", "Install the same versions on every host, or use one container image."
    ),
    "gpus": Section("gpus-differ", "GPUs", "Run the job on GPUs of one kind: each kind's programs are compiled apart."),
    "flags": Section(
        "flags-differ",
        "XLA flags",
        "Call configure() with the same arguments in every process and set XLA_FLAGS alike: jobs hang at the first compile otherwise.",
        "xla_flag",
    ),
    "env": Section("environment-differs", "environment variables", "Set them alike for every process.", "env"),
    "options": Section("options-differ", "jax.config options", "Set them alike in every process.", "jax_config"),
}
WARNINGS = ("driver", "kind")
"""What may differ within one job, though it is seldom meant."""


class Difference(Value):
    """One name of a section: the ``odd`` processes have ``text``, the ``usual`` ones ``usual_text``."""

    section: str
    severity: Severity
    odd: tuple[int, ...]
    usual: tuple[int, ...]
    name: str
    text: str
    usual_text: str


def disagreements(found: Mapping[int, Settings]) -> Iterator[Finding]:
    """A finding for each group of processes that differ from the most, and kind of thing. ``found``: by rank."""
    groups: dict[tuple[object, ...], list[Difference]] = {}
    for difference in _differences(found):
        key = (difference.section, difference.severity, difference.odd, difference.usual)
        groups.setdefault(key, []).append(difference)
    hosts = {rank: settings["host"]["name"] for rank, settings in found.items()}
    for group in groups.values():
        yield _finding(group, hosts)


def missing(ranks: Iterable[int], seconds: float) -> Iterator[Finding]:
    """The finding that names the processes that did not come."""
    named = tuple(ranks)
    if named:
        message = f"{_who(named, {})} did not come to check_processes() within {seconds:g} s."
        hint = "Look at what it printed: it ended, waits elsewhere, or does not call check_processes() as often as the others."
        yield Finding("process-missing", "error", capital(message), hint)


def _differences(found: Mapping[int, Settings]) -> Iterator[Difference]:
    releases = {settings["versions"].get("jax") for settings in found.values()}
    for section, names in ((section, _names(section, found, len(releases) == 1)) for section in SECTIONS):
        for name in names:
            severity = _severity(section, name)
            if severity is not None:
                yield from _of_name(section, severity, name, {r: s[section].get(name) for r, s in found.items()})


def _names(section: str, found: Mapping[int, Settings], one_jax: bool) -> list[str]:
    """Every name that some process has; of options that releases of jax do not share, none."""
    each = [set(settings[section]) for settings in found.values()]
    shared = section == "options" and not one_jax
    return sorted(set.intersection(*each) if shared else set().union(*each))


def _severity(section: str, name: str) -> Severity | None:
    kind = SECTIONS[section].kind
    if kind is not None:
        return severity_of(kind, name)
    return "warning" if name in WARNINGS else "error"


def _of_name(section: str, severity: Severity, name: str, values: Mapping[int, str | None]) -> Iterator[Difference]:
    holders: dict[str, tuple[int, ...]] = {}
    for rank, text in sorted(values.items()):
        shown = NOT_SET if text is None else text
        holders[shown] = (*holders.get(shown, ()), rank)
    usual_text = max(holders, key=lambda text: len(holders[text]))
    usual = holders.pop(usual_text)
    if len(holders) > MOST_GROUPS:
        holders = {f"{len(holders)} other values": tuple(sorted(set(values) - set(usual)))}
    for text, odd in holders.items():
        yield Difference(section, severity, odd, usual, name, text, usual_text)


def _finding(group: list[Difference], hosts: Mapping[int, str]) -> Finding:
    first, section = group[0], SECTIONS[group[0].section]
    rows = [f"{d.name}: {d.text} instead of {d.usual_text}" for d in group[:MOST_NAMED]]
    more = f"; and {len(group) - MOST_NAMED} more" if len(group) > MOST_NAMED else ""
    others = f"the other {len(first.usual)} processes" if len(first.usual) > 1 else _who(first.usual, hosts)
    message = f"{_who(first.odd, hosts)} and {others} differ in {section.what}: {'; '.join(rows)}{more}."
    return Finding(section.code, first.severity, capital(message), section.hint)


def _who(ranks: tuple[int, ...], hosts: Mapping[int, str]) -> str:
    named = [f"{rank} ({hosts[rank]})" if rank in hosts else str(rank) for rank in ranks[:MOST_NAMED]]
    more = f" and {len(ranks) - MOST_NAMED} more" if len(ranks) > MOST_NAMED else ""
    return f"process{'es' if len(ranks) > 1 else ''} {', '.join(named)}{more}"
