"""Lists that XLA itself adds up: what is inherited and what is wished become one, inherited members first."""

from __future__ import annotations

from ...knowledge.flag_spec import FlagSpec
from ...model import Decision, Status
from ..base.wish import Outcome, Wish
from ..release.target import Target, same

__all__ = ["join"]


def join(group: list[Wish], target: Target) -> Outcome:
    """What the occurrences of one flag come to, with the decision."""
    spec = target.flag(group[0].name)
    existing = [w for w in group if w.origin == "existing"]
    ours = [w for w in group if w.origin != "existing" and w.value is not None]
    if spec is None or not spec.separator:
        return _one_by_one(existing, ours)
    value = _joined(existing, ours, spec)
    if len(existing) == 1 and same(spec, value, existing[0].value):
        (one,) = existing
        return Outcome((one,), (one.decided(one.value, "kept", "already holds all that is wanted"),))
    whole = group[-1]._replace(value=value, text=None, origin=(ours or existing)[0].origin)
    return Outcome((whole,), (_of_join(existing, ours, value),))


def _joined(existing: list[Wish], ours: list[Wish], spec: FlagSpec) -> str:
    """What is inherited as it is, then each member of ours that is new; in a map the last value of a key."""
    members: list[str] = []
    for wish in (*existing, *ours):
        items = (wish.value or "").split(spec.separator)
        members += items if wish.origin == "existing" or not members else [i for i in items if i not in members]
    if spec.repeat == "merge":
        members = list({member.split("=", 1)[0]: member for member in members}.values())
    return spec.separator.join(members)


def _one_by_one(existing: list[Wish], ours: list[Wish]) -> Outcome:
    """A flag that takes one member an occurrence is given several times."""
    first: dict[str | None, Wish] = {}
    for wish in (*existing, *ours):
        first.setdefault(wish.value, wish)
    wishes = tuple(first.values())
    return Outcome(wishes, (_of_join(existing, ours, " ".join(str(w.value) for w in wishes)),))


def _of_join(existing: list[Wish], ours: list[Wish], value: str) -> Decision:
    both = (*existing, *ours)
    status: Status = "merged" if existing and ours else "kept" if existing else "set"
    reason = "a list that adds up: " + " + ".join(f"{w.value!r} ({w.source})" for w in both)
    sources = "; ".join(dict.fromkeys(w.source for w in both))
    return both[0]._replace(source=sources).decided(value, status, reason)
