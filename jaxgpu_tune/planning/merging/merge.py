"""Who wins: wishes about the same field of XLA's options meet, one decision comes of each.

Precedence (highest first): argument, what earlier calls asked for, what is set already, preset; ``prefer="preset"``
swaps the last two. Lists whose own rule is to add up are joined, inherited members first; all else is won by one side, the loser named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...model import Decision, Finding, Severity
from ...wording import written
from ..base.wish import YIELDS, Outcome, Wish, together
from ..release.target import Target, same
from ..settings.pool_variables import FRACTION_NAMES
from ..settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA, VISIBLE
from ..xla_flags.grammar import quote

__all__ = ["RANKS", "merge", "shown"]

RANKS = {
    "existing": {"fault": 0, "preset": 0, "existing": 1, "request": 2, "argument": 3},
    "preset": {"existing": 0, "fault": 1, "preset": 1, "request": 2, "argument": 3},
}
"""A request is an earlier call's argument."""
GIVEN = ("existing", "request")
KINDS = ("xla_flag", "env", "jax_config")


def merge(wishes: Iterable[Wish], target: Target, prefer: str) -> Outcome:
    """Every wish that is emitted, in canonical order, with the decisions and findings of all."""
    rank = RANKS[prefer]
    groups = _groups(_specific_guards(tuple(wishes)), lambda wish: fields_of(wish, target))
    outcomes = [_resolve(_one_list(group, target), target, rank) for group in groups]
    return together(sorted(outcomes, key=_place))


def _place(outcome: Outcome) -> tuple[int, str]:
    """Canonical order: by kind, then by what is emitted, never by what lost."""
    return min(((KINDS.index(wish.kind), wish.name) for wish in outcome.wishes), default=(len(KINDS), ""))


def fields_of(wish: Wish, target: Target) -> frozenset[str]:
    """The fields a setting writes: settings that share one cannot both hold."""
    if wish.kind == "xla_flag":
        spec = target.flag(wish.name)
        names = spec.fields if spec is not None and spec.fields else (wish.name,)
    elif wish.name in FRACTION_NAMES:
        names = FRACTION_NAMES[:1]
    else:
        names = (wish.name,)
    return frozenset(f"{wish.kind}:{name}" for name in names)


def _groups(wishes: Iterable[Wish], fields: Callable[[Wish], frozenset[str]]) -> list[list[Wish]]:
    groups: list[tuple[set[str], list[Wish]]] = []
    for wish in wishes:
        mine = set(fields(wish))
        apart = [group for group in groups if not group[0] & mine]
        members = [w for group in groups if group[0] & mine for w in group[1]]
        union = mine.union(*(group[0] for group in groups if group[0] & mine))
        groups = [*apart, (union, [*members, wish])]
    return [group for _, group in groups]


def _resolve(group: list[Wish], target: Target, rank: dict[str, int]) -> Outcome:
    group = _without_taken(_emptied(group) if _adds_up(group, target) else group)
    winner = _winner(group, rank)
    group = [wish for wish in group if wish is winner or wish.value is not None or wish.origin != "existing"]
    told = _assigned(group, winner, target) if winner.name == VISIBLE else ()
    if winner.value is None:
        won = _remove(group, winner)
    elif len(group) > 1 and _adds_up(group, target):
        from .joined import join

        won = join(group, target)
    elif winner.origin == "existing" or _already(group, winner, target):
        won = _keep(group, winner, target)
    else:
        won = _set(group, winner, target)
    return won._replace(findings=(*told, *won.findings))


def _emptied(group: list[Wish]) -> list[Wish]:
    """An empty list among others would add nothing to them: who asks for it has none of them."""
    return [wish._replace(value=None) if wish.value == "" and wish.origin != "existing" else wish for wish in group]


def _winner(group: list[Wish], rank: dict[str, int]) -> Wish:
    """The last of the highest rank; which GPUs are this process's own is decided where it is set."""
    own = [wish for wish in group if wish.name == VISIBLE and wish.origin == "existing"]
    return own[-1] if own else max(enumerate(group), key=lambda item: (rank[item[1].origin], item[0]))[1]


def _assigned(group: list[Wish], winner: Wish, target: Target) -> tuple[Finding, ...]:
    if all(equal(wish, winner, target) for wish in group):
        return ()
    message = f"{shown(winner)} is the scheduler's assignment and is never overwritten."
    return (Finding("scheduler-assigned", "warning", message),)


def _without_taken(group: list[Wish]) -> list[Wish]:
    """No preset sets again what the user has taken out. If anything else sets it or asks for it, it does not count that it was taken out."""
    rest = [wish for wish in group if wish.value is not None or wish.origin != "existing"]
    return rest if any(not wish.is_offered for wish in rest) else group


def _specific_guards(wishes: tuple[Wish, ...]) -> Iterator[Wish]:
    """An inherited JAX_TRANSFER_GUARD that all three of ours take the place of becomes three of them, and goes.

    One of them that is to be removed is there by it, too.
    """
    ours = {wish.name: wish.value for wish in wishes if wish.name in GUARD_OPTIONS and wish.origin != "existing"}
    whole = len(ours) == len(GUARD_OPTIONS)
    parts = [name for name in GUARD_OPTIONS if whole or ours.get(name, "") is None]
    for wish in wishes:
        if wish.name == GUARD_UMBRELLA and (whole or wish.origin == "existing"):
            reason = f"part of {GUARD_UMBRELLA.upper()}, which is set"
            yield from (wish._replace(name=option, reason=reason) for option in parts)
        if wish.name == GUARD_UMBRELLA and whole:
            yield Wish("jax_config", GUARD_UMBRELLA, None, "argument", wish.reason, "the specific transfer guards")
        yield wish


def _one_list(group: list[Wish], target: Target) -> list[Wish]:
    """Values that change a list, ``+X`` and ``-X``, become the whole list: what the same side or what is set already holds before them, changed.

    Several old flags that one side set may each have become a member of one list: they are one wish.
    """
    if len(group) < 2:
        return group
    whole: list[Wish] = []
    for wish in group:
        sides = {wish.origin} if wish.is_offered else {wish.origin, *GIVEN[: 1 + (wish.origin == "argument")]}
        before = (w for w in reversed(whole) if w.name == wish.name and w.origin in sides and w.value is not None)
        earlier = next(before, wish)
        both = wish if earlier is wish else _after(earlier, wish, target)
        if (
            both is not wish
            and earlier.translated
            and earlier.origin == wish.origin
            and (both.given is None or both.origin != "existing")
        ):
            whole.remove(earlier)
        whole.append(both)
    return whole


def _after(earlier: Wish, wish: Wish, target: Target) -> Wish:
    spec = target.flag(wish.name) if wish.kind == "xla_flag" and wish.value is not None else None
    if spec is None or spec.form != "list":
        return wish
    if spec.incremental:
        from ...knowledge.flag_values import on_top

        left = on_top(spec, earlier.value, wish.value)
        return wish if left == wish.value else _changing(earlier, wish, left)
    if not (earlier.translated and wish.translated and earlier.origin == wish.origin):
        return wish
    members = dict.fromkeys([*earlier.value.split(","), *wish.value.split(",")])
    return earlier._replace(value=",".join(members), reason=f"{earlier.reason}; {wish.reason}")


def _changing(earlier: Wish, wish: Wish, left: str) -> Wish:
    """What is set already keeps its text, as it does what stands before it: other flags may change the list in between."""
    if wish.origin == "existing":
        return wish._replace(value=left, text=wish.text or quote(wish.name, wish.value), given=wish.value)
    reason = f"{wish.reason}; {shown(wish)} changes {shown(earlier)}"
    return wish._replace(value=left, text=None, given=wish.value, reason=reason)


def _remove(group: list[Wish], winner: Wish) -> Outcome:
    gone: list[Wish] = []
    decisions: list[Decision] = []
    for name in dict.fromkeys(w.name for w in group):
        former = [w for w in group if w.name == name and w.origin == "existing" and w.value is not None]
        was = f"it was {shown(former[-1])}" if former else "it was not set"
        reason = winner.reason if winner.origin == "existing" else f"asked for by {winner.source}; {was}"
        decisions.append(winner._replace(name=name).decided(None, "removed", reason))
        if former and winner.kind != "xla_flag":
            gone.append(winner._replace(name=name))
    told = overruled([w for w in group if w.origin == "request"], winner)
    return Outcome(tuple(gone), tuple(decisions), tuple(told))


def _already(group: list[Wish], winner: Wish, target: Target) -> bool:
    existing = [w for w in group if w.origin == "existing"]
    return bool(existing) and all(w.name == winner.name for w in existing) and equal(existing[-1], winner, target)


def _keep(group: list[Wish], winner: Wish, target: Target) -> Outcome:
    existing = [w for w in group if w.origin == "existing"]
    last = {w.name: w for w in existing}
    in_steps = any(w.given is not None for w in last.values())
    beside = [w for w in group if w.name not in last]
    unmet = _outdone(beside, existing[-1]) if beside else Outcome()
    losing = overruled((w for w in group if w.origin == "request" and not equal(w, winner, target)), winner)
    return Outcome(
        (*(w for w in existing if in_steps or last[w.name] is w), *unmet.wishes),
        (*(_kept(wish, group, target, in_steps=in_steps) for wish in last.values()), *unmet.decisions),
        (*losing, *yielding(group, winner, target), *(list_steps(existing) if in_steps else repeats(existing, last))),
    )


def _outdone(beside: list[Wish], by: Wish) -> Outcome:
    """What is wished under another name than the one that is set already and decides the same thing."""
    first: dict[str, Wish] = {}
    for wish in beside:
        first.setdefault(wish.name, wish)
    reason = f"{shown(by)} is set already and decides the same thing"
    unmet = tuple(wish.decided(None, "unmet", reason) for wish in first.values())
    return Outcome(_unset(by, first), unmet)


def _kept(wish: Wish, group: list[Wish], target: Target, *, in_steps: bool) -> Decision:
    losers = [w for w in group if w.origin != "existing" and not equal(w, wish, target)]
    reason = (wish.reason if wish.translated else "set already") + _named(losers)
    said = (w.given or w.emitted or "" for w in group if w.origin == "existing" and w.name == wish.name)
    return wish.decided(" ".join(said) if in_steps else wish.emitted, "kept", reason)


def _set(group: list[Wish], winner: Wish, target: Target) -> Outcome:
    built_on = () if winner.given is None else ("request", "existing") if winner.value else ("request",)
    beside = [w for w in group if w is not winner and not (w.origin in built_on and w.name == winner.name)]
    others = [w for w in beside if not equal(w, winner, target)]
    beaten = {w.name: w for w in group if w.name != winner.name}
    told, gone = tuple(overruled(others, winner)), _unset(winner, beaten)
    reason = f"{shown(winner)} ({winner.source}) decides the same thing and wins"
    dropped = tuple(w.decided(None, "dropped", reason) for w in beaten.values())
    if winner.kind == "xla_flag" and target.is_default(winner.name, winner.value):
        note = f"{winner.reason}; {target.label} does this by itself, so nothing is emitted" + _named(others)
        return Outcome(gone, (*dropped, winner.decided(None, "default", note)), told)
    decision = winner.decided(winner.emitted, "set", winner.reason + _named(others))
    return Outcome((*gone, winner), (*dropped, decision), told)


def _unset(winner: Wish, names: Iterable[str]) -> tuple[Wish, ...]:
    """A variable that another one stands for must not be left in the environment beside it."""
    return tuple(winner._replace(name=name, value=None) for name in names) if winner.kind == "env" else ()


def _named(losers: list[Wish]) -> str:
    return "; wins over " + ", ".join(f"{shown(w)} ({w.source})" for w in losers) if losers else ""


def overruled(losers: Iterable[Wish], winner: Wish) -> Iterator[Finding]:
    """What was set or asked for before and gives way is told; what an earlier call gave way to was told then, and is a note."""
    by = "it is removed" if winner.value is None else f"{shown(winner)} ({winner.source}) takes its place"
    code = "request-holds" if winner.origin == "request" else "overruled"
    severity: Severity = "note" if winner.origin == "request" else "warning"
    for loser in {(w.name, w.origin): w for w in losers if w.value is not None}.values():
        if loser.origin == "existing":
            yield Finding(code, severity, f"{shown(loser)} was set already; {by}.", "Set it in one place only.")
        elif loser.origin == "request" and winner.origin == "argument":
            message = f"{shown(loser)} was {loser.reason}; {by}."
            yield Finding(code, severity, message, "Ask for it in one place only.")


def yielding(group: list[Wish], winner: Wish, target: Target) -> Iterator[Finding]:
    """What a preset would set otherwise, and what is set already stands against."""
    for wish in {w.source: w for w in group if w.origin == "preset" and not equal(w, winner, target)}.values():
        message = f"{shown(winner)} was set already and wins over {shown(wish)} ({wish.source})."
        yield Finding(YIELDS, "note", message, 'prefer="preset" takes the preset\'s; or leave yours out.')


def repeats(existing: list[Wish], last: dict[str, Wish]) -> Iterator[Finding]:
    for wish in existing:
        winner = last[wish.name]
        if winner is not wish and winner.value != wish.value:
            message = f"{shown(wish)} is given again: XLA has {shown(winner)} in the end, which alone is kept."
            yield Finding("repeated-flag", "note", message)


def list_steps(existing: list[Wish]) -> Iterator[Finding]:
    for wish in existing:
        if wish.given is not None and not wish.translated:
            message = f"{shown(wish)} changes the list that stands before it: all are kept as they are."
            yield Finding("repeated-flag", "note", message)


def equal(left: Wish, right: Wish, target: Target) -> bool:
    if left.name != right.name or left.value is None or right.value is None:
        return left.name == right.name and left.value == right.value
    spec = target.flag(left.name) if left.kind == "xla_flag" else None
    return same(spec, left.value, right.value) if spec is not None else bool(left.value == right.value)


def shown(wish: Wish) -> str:
    """A wish as a person would write it."""
    from ..base.secrets import shown_value

    text = shown_value(wish.name, wish.emitted) if wish.kind == "env" else wish.given or wish.emitted
    return written(wish.kind, wish.name, text)


def _adds_up(group: list[Wish], target: Target) -> bool:
    """Whether these are occurrences of one flag whose values XLA itself adds up."""
    spec = target.flag(group[0].name) if group[0].kind == "xla_flag" else None
    same_name = len({w.name for w in group}) == 1
    return spec is not None and same_name and spec.repeat in ("append", "merge")
