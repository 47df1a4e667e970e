"""A call among others: what earlier ones asked for goes on holding, under their name, until something later says otherwise. Pure.

A later preset takes the place of an earlier one; what was asked for explicitly stays. What the user has changed since is the user's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import BadSetting, UnknownPreset
from ..model import Finding, Observation, Setting, SettingKind
from ..named import Named
from ..state import Layer
from ..wording import written
from .base.secrets import shown_value
from .base.wish import Stated, Wish
from .composing import compose
from .merging.merge import fields_of
from .release.target import Target
from .request import NOWHERE, Request, make_request, raise_problems
from .settings.pool_variables import FRACTION_NAMES
from .settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA

__all__ = ["earlier", "explicit", "recalled", "variables_asked"]

Given = dict[str, tuple[Any, Layer]]

AUTO = "auto"
SHARES = ("memory_fraction", "processes_per_gpu")
"""Two ways to say one thing."""
REMEMBERED = (*SHARES, "layer_bytes", "platform", "devices", "unmeasured")


def earlier(layer: Layer) -> str:
    """Who made an earlier call, for a sentence."""
    return layer.who if layer.who.startswith("jaxgpu-tune") else f"an earlier {layer.who}"


def recalled(request: Request, layers: Iterable[Layer], named: Named = NOWHERE) -> Request:
    """The request with what earlier calls asked for under it, and notes where it says otherwise. ``named``: what those name."""
    notes: list[Finding] = []
    calls = [(layer, asked) for layer in layers if (asked := _request(layer, named, notes)) is not None]
    settings = tuple(
        s._replace(reason=f"asked for by {earlier(layer)}", source=f"{earlier(layer)}, {s.source}", call=layer.number)
        for layer, asked in calls
        for s in asked.settings
    )
    given = _given(calls)
    own = {name: getattr(request, name) for name in REMEMBERED if getattr(request, name, None)}
    notes += _overruled(given, own)
    left = {name: pair for name, pair in given.items() if name not in own and not _is_shadowed(name, pair[0], own)}
    return request._replace(
        **{name: value for name, (value, _) in left.items()},
        preset=_preset(request, calls, notes),
        earlier=settings,
        remembered={name: (earlier(layer), layer.number) for name, (_, layer) in left.items()},
        notes=(*request.notes, *notes),
        named=request.named._replace(presets={**named.presets, **request.named.presets}),
    )


def _request(layer: Layer, named: Named, notes: list[Finding]) -> Request | None:
    """What a call asked for; where it can no longer be had (a file that is gone, a name that is no more) that is told."""
    try:
        asked = make_request(layer.arguments.get("preset", AUTO), _without_preset(layer.arguments), named=named)
        raise_problems(asked.problems)
        if asked.preset != AUTO:
            compose(asked.preset, named.presets)
    except (BadSetting, UnknownPreset) as wrong:
        message = f"What {earlier(layer)} asked for can no longer be had here and is left out: {wrong}"
        notes.append(Finding("earlier-call-lost", "warning", message, "Ask for it again in this call."))
        return None
    return asked


def _without_preset(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "preset"}


def _given(calls: Iterable[tuple[Layer, Request]]) -> Given:
    """The remembered arguments, each by the last that gave it."""
    found: Given = {}
    for layer, asked in calls:
        new = {name: getattr(asked, name) for name in REMEMBERED if getattr(asked, name, None)}
        found = {name: pair for name, pair in found.items() if not _is_shadowed(name, pair[0], new)}
        found |= {name: (value, layer) for name, value in new.items()}
    return found


def _is_shadowed(name: str, value: Any, new: Mapping[str, Any]) -> bool:
    """Whether a share of the memory is said in the other way later on."""
    if name not in SHARES:
        return False
    other = SHARES[name == SHARES[0]]
    return other in new and AUTO not in (value, new[other])


def _overruled(given: Given, own: Mapping[str, Any]) -> Iterator[Finding]:
    for name, (value, layer) in given.items():
        by = name if name in own else SHARES[name == SHARES[0]]
        if by in own and (own[by] != value if by == name else _is_shadowed(name, value, own)):
            message = f"{name}={value} was asked for by {earlier(layer)}; {by}={own[by]} takes its place."
            yield Finding("overruled", "warning", message, "Ask for it in one place only.")


def _preset(request: Request, calls: Iterable[tuple[Layer, Request]], notes: list[Finding]) -> str:
    """The preset in force; one that is named takes the place of an earlier one, "auto" does not."""
    named = [(layer, asked.preset) for layer, asked in calls if asked.preset != AUTO]
    if not named or (request.named.place or request.preset) == named[-1][1]:
        return request.preset
    layer, former = named[-1]
    if request.preset == AUTO:
        return former
    message = (
        f"Preset {request.preset!r}, which {request.who} asks for, replaces {former!r}, "
        f"which {earlier(layer)} asked for."
    )
    both = "+".join(dict.fromkeys([*former.split("+"), *os.path.basename(request.preset).split("+")]))
    hint = f"For both, write {both}; to keep {former} alone, name no preset here."
    notes.append(Finding("preset-displaced", "warning", message, hint))
    return request.preset


def explicit(request: Request, fraction: Stated, observation: Observation, target: Target) -> tuple[Stated, Stated]:
    """What earlier calls asked for and still holds, in their order; and what this one asks for. ``fraction``: of the memory."""
    giver = next((request.remembered[name] for name in SHARES if name in request.remembered), None)
    if giver is None:
        own = fraction._replace(settings=(*request.settings, *fraction.settings))
        return struck(request.earlier, observation, target), own
    who, call = giver
    shares = [one._replace(source=f"{who}, {one.source}", call=call) for one in fraction.settings]
    told = tuple(one._replace(source=f"{who}, {one.source}", origin="request") for one in fraction.decisions)
    settings = sorted((*request.earlier, *shares), key=lambda setting: setting.call)
    return struck(settings, observation, target)._replace(decisions=told), Stated(request.settings)


def struck(settings: Iterable[Setting], observation: Observation, target: Target) -> Stated:
    """What earlier calls asked for, without what the user has changed or taken out since."""
    edits = [(_fields(_named(name), target), call) for name, call in observation.edits.items()]
    left, found = [], []
    for setting in settings:
        mine = _fields(setting, target)
        if max((call for fields, call in edits if fields & mine), default=-1) < setting.call:
            left.append(setting)
        else:
            found.append(_edited(setting))
    return Stated(tuple(left), findings=tuple(found))


def _edited(setting: Setting) -> Finding:
    text = shown_value(setting.name, setting.value) if setting.kind == "env" else setting.value
    message = f"{written(setting.kind, setting.name, text)} ({setting.source}) was changed or taken out since: what stands there now holds."
    return Finding("request-edited", "warning", message, "Ask for it again to have it back.")


def variables_asked(layers: Iterable[Layer], environ: Mapping[str, str]) -> frozenset[str]:
    """The variables that calls ask for, each by itself or as what carries a flag or an option; of a share of the memory those that are set."""
    settings = [layer._replace(arguments=_without_preset(layer.arguments)) for layer in layers]
    asked = recalled(make_request(), settings)
    shares = FRACTION_NAMES if any(name in asked.remembered for name in SHARES) else ()
    return frozenset((*(name for name in shares if name in environ), *map(_carrier, asked.earlier)))


def _carrier(setting: Setting) -> str:
    return {"xla_flag": "XLA_FLAGS", "jax_config": setting.name.upper(), "env": setting.name}[setting.kind]


def _named(name: str) -> Setting:
    plain = name.removeprefix("--")
    return Setting("env" if plain == name else "xla_flag", plain, None, "", "")


def _fields(setting: Setting, target: Target) -> frozenset[str]:
    """What a setting writes; a variable of an option is the option, and the umbrella of the guards all three of them."""
    name = setting.name.lower() if setting.name.startswith("JAX_") else setting.name
    if name == GUARD_UMBRELLA:
        return frozenset(f"jax_config:{option}" for option in (name, *GUARD_OPTIONS))
    kind: SettingKind = "jax_config" if name.startswith("jax_") else setting.kind
    return fields_of(Wish(kind, name, setting.value, "request", "", ""), target)
