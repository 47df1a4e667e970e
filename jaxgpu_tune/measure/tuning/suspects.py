"""What `bisect` suspects: flags that are set, a preset's settings, or the defaults that an upgrade changed; and the environment of any part of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...errors import BadSetting
from ...knowledge.flags import flag, resolve
from ...model import Finding, Setting
from ...planning.release.changes import flag_changes
from ...planning.xla_flags.grammar import FLAGS, quote, scan
from ..search.trials import NOTHING, Atom, Config
from .space import Space, candidate_of, space_of

__all__ = ["Suspects", "of_flags", "of_preset", "of_upgrade"]


class Suspects(NamedTuple):
    """``parts``: what is suspected, one by one. ``undo``: for a part that is in force by itself, the setting that takes it back.

    ``texts``: how the parts were written that go into XLA_FLAGS as they stand, whatever this build makes of them.
    """

    space: Space
    parts: tuple[Atom, ...]
    undo: Mapping[Atom, Config] = {}
    texts: Mapping[Atom, str] = {}

    def environ(self, config: Config) -> dict[str, str]:
        """The complete environment of a process in which these parts, and no others of them, are in force."""
        if self.texts:
            kept = dict(self.space.environ(NOTHING))
            text = " ".join(self.texts[one] for one in self.parts if one in config)
            return {**{name: value for name, value in kept.items() if name != FLAGS}, **({FLAGS: text} if text else {})}
        taken_back = frozenset(one for part in self.parts if part not in config for one in self.undo.get(part, NOTHING))
        return self.space.environ(frozenset(one for one in config if one not in self.undo) | taken_back)

    def said(self, parts: Iterable[Atom]) -> str:
        """As a person writes them, in one line."""
        return " ".join(self.texts.get(one, str(one)) for one in parts)


def of_flags(space: Space, text: str) -> Suspects:
    """Each flag of a text of XLA flags, as it is written. Raises BadSetting where there is none."""
    texts = {
        Atom("xla_flag", token.name, token.meant): f"--{token.name}"
        if token.value is None
        else quote(token.name, token.value)
        for token in scan(text).tokens
        if token.name
    }
    return Suspects(space, _some(tuple(texts), "no flags are set"), texts=texts)


def of_preset(space: Space, name: str) -> Suspects:
    """Each setting of a preset that holds here. Raises BadSetting where there is none."""
    config = next((one.config for one in space.starts if one.name == name), NOTHING)
    return Suspects(space, _some(tuple(sorted(config)), f"preset {name} sets nothing here"))


def of_upgrade(space: Space, old: str) -> Suspects:
    """Each default that changed since jaxlib ``old``, and each switch that appeared since and is on. Raises BadSetting where there is none."""
    here = space.observation.machine.jaxlib
    undo = dict(_undone(space, resolve(old).release, resolve(here or "").release))
    return Suspects(space, _some(tuple(undo), f"no default that can be set changed from {old} to {here}"), undo)


def _undone(space: Space, old: str, new: str) -> Iterable[tuple[Atom, Config]]:
    """(what is new, what takes it back) for each flag that this build lets take back."""
    wanted = []
    for change in flag_changes(old, new):
        before = "false" if change.change == "appeared" and _is_on(change.name, new) else change.before
        if change.change in ("default", "appeared") and before is not None:
            setting = Setting("xla_flag", change.name, before, f"the default of {old}", "bisect")
            wanted.append((Atom("xla_flag", change.name, change.after or ""), candidate_of(change.name, [setting])))
    gated = space_of(space.request, space.observation, (), None, [one for _, one in wanted])
    usable = {gated.name(move.config): move.config for move in gated.moves}
    yield from ((atom, usable[one.name]) for atom, one in wanted if one.name in usable)


def _is_on(name: str, release: str) -> bool:
    spec = flag(name, release)
    return spec is not None and spec.form == "bool" and spec.effective == "true"


def _some(parts: tuple[Atom, ...], why_not: str) -> tuple[Atom, ...]:
    if not parts:
        hint = "Name what is suspected: --flags TEXT, --preset NAME or --from-jaxlib VERSION."
        raise BadSetting.of([Finding("nothing-to-bisect", "error", f"There is nothing to bisect: {why_not}.", hint)])
    return parts
