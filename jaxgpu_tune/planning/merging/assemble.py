"""The plan as the values a Report holds: the XLA_FLAGS text, the variables, the options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...model import Decision, Finding
from ..base.wish import Outcome, Repaired, Wish
from ..release.target import option_of
from ..settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA
from ..xla_flags.grammar import FLAGS, quote
from .merge import KINDS

__all__ = [
    "by_variable",
    "carried",
    "environ_changes",
    "flags_text",
    "left_alone",
    "option_values",
    "options_behind",
    "ordered",
]

ALONE = "option-without-variable"
NOT_CARRIED = "no variable carries it into a process that imports jax later"


def flags_text(wishes: Iterable[Wish], inherited: Repaired, original: str) -> str:
    """The final XLA_FLAGS: the user's own text where nothing changes, else each flag in the wishes' (canonical) order."""
    texts = [
        wish.text or quote(wish.name, wish.value)
        for wish in wishes
        if wish.kind == "xla_flag" and wish.value is not None
    ]
    untouched = not inherited.findings and sorted(texts) == sorted(flag.text for flag in inherited.flags)
    return original if untouched else " ".join(texts)


def option_values(wishes: Iterable[Wish], decisions: Iterable[Decision], live: Iterable[str]) -> dict[str, Any]:
    """The options that are changed, those that were mended included; one that was removed, or taken out of a live jax, is None.

    ``live``: the options that a live jax holds.
    """
    options = [d for d in decisions if d.kind == "jax_config"]
    ours = {d.name for d in options if d.status in ("set", "removed")}
    taken_out = {d.name: None for d in options if d.status == "dropped" and d.origin == "existing" and d.name in live}
    changed = (w for w in wishes if w.kind == "jax_config" and (w.name in ours or w.translated))
    return {**taken_out, **{wish.name: wish.value for wish in changed}}


def environ_changes(
    wishes: Iterable[Wish],
    decisions: Iterable[Decision],
    flags: str,
    changed: Mapping[str, Any],
    environ: Mapping[str, str],
    jax: str | None,
) -> dict[str, str | None]:
    """Every variable set or changed with its final value; None: removed."""
    found: dict[str, str | None] = {w.name: w.value for w in wishes if w.kind == "env"}
    for decision in decisions:
        if decision.status == "dropped" and decision.kind != "xla_flag":
            found.setdefault(decision.name if decision.kind == "env" else decision.name.upper(), None)
    for name, value in changed.items():
        spec = option_of(name, jax)
        if spec is not None and spec.env:
            from ...knowledge.options import env_text

            found[name.upper()] = None if value is None else env_text(spec, value)
    found.update(_umbrella(changed))
    if flags or FLAGS in environ:
        found[FLAGS] = flags or None
    same = [name for name, value in found.items() if environ.get(name) == value and (name != FLAGS or not flags)]
    return {name: value for name, value in sorted(found.items()) if name not in same}


def _umbrella(changed: Mapping[str, Any]) -> dict[str, str | None]:
    """The three transfer guards as a variable: the umbrella's, since jax overwrites theirs with it when it is imported."""
    levels = {changed.get(name) for name in GUARD_OPTIONS}
    return {GUARD_UMBRELLA.upper(): levels.pop()} if len(levels) == 1 and None not in levels else {}


def by_variable(values: Mapping[str, Any], jax: str | None) -> frozenset[str]:
    """Those of the options that a variable carries into a process that imports jax later.

    The three transfer guards only at one level: jax overwrites each with the umbrella's when it is imported.
    """
    specs = {name: option_of(name, jax) for name in values}
    read = {name for name, spec in specs.items() if spec is None or spec.env}
    return frozenset(read.difference(GUARD_OPTIONS).union(GUARD_OPTIONS if _umbrella(values) else ()))


def options_behind(variable: str) -> tuple[str, ...]:
    """The options that jax sets by a variable: one, or the three transfer guards by their umbrella."""
    name = variable.lower()
    return GUARD_OPTIONS if name == GUARD_UMBRELLA else (name,)


def left_alone(unread: Iterable[str], decisions: Iterable[Decision]) -> frozenset[str]:
    """Those of the variables that nobody writes: only a call that asks for the option itself does so."""
    asked = {d.name for d in decisions if d.kind == "jax_config" and d.origin == "argument"}
    return frozenset(name for name in unread if asked.isdisjoint(options_behind(name)))


def carried(wishes: tuple[Wish, ...], jax: str | None, live: bool) -> Outcome:
    """The wishes that can take effect: an option that no variable carries reaches only this process (``live``)."""
    ours = [w for w in wishes if w.kind == "jax_config" and w.origin != "existing"]
    alone = {w.name for w in ours} - by_variable({w.name: w.value for w in ours}, jax)
    lost = [] if live else [w for w in ours if w.name in alone]
    told = [Finding(ALONE, "warning", f"{w.name} is not set: {NOT_CARRIED}.", _elsewhere(w)) for w in lost]
    if live and alone:
        message = f"{', '.join(sorted(alone))}: set in this process alone; no variable carries this to its children."
        told.append(Finding(ALONE, "note", message, "Call configure() in them too."))
    left = tuple(w for w in wishes if w not in lost) if lost else wishes
    return Outcome(left, tuple(w.decided(None, "unmet", NOT_CARRIED) for w in lost), tuple(told))


def _elsewhere(wish: Wish) -> str:
    return (
        f"Write jax.config.update({wish.name!r}, {wish.value!r}) after `import jax` there, or call configure() there."
    )


def ordered(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """Decisions by kind and name; where a setting has several, the one in force alone."""
    best: dict[tuple[str, str], Decision] = {}
    for decision in decisions:
        key = (decision.kind, decision.name)
        if key not in best or best[key].status in ("unmet", "absent", "dropped", "translated"):
            best[key] = decision
    return tuple(sorted(best.values(), key=lambda d: (KINDS.index(d.kind), d.name)))
