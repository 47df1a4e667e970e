"""Presets joined: those of a name as one."""

from __future__ import annotations

import os

from ..errors import BadSetting, UnknownPreset
from ..knowledge.presets import load_preset, preset_names
from ..model import Finding, Preset
from ..named import Files
from ..values import EMPTY

__all__ = ["compose", "is_path", "is_preset"]

TRUSTED = ("maintained", "published", "user")
"""Kinds of presets, those that say most of where they come from first."""


def compose(name: str, files: Files = EMPTY) -> Preset:
    """The presets of a name as one: joined by "+", left to right. Raises UnknownPreset, BadSetting.

    ``files``: what each file holds that it names, or what is wrong with it.
    """
    parts = [_one(part.strip(), files) for part in ([name] if name in files else _parts(name))]
    fractions = [part.memory_fraction for part in parts if part.memory_fraction is not None]
    return Preset(
        name=name,
        summary=" ".join(part.summary for part in parts),
        kind=max((part.kind for part in parts), key=TRUSTED.index),
        settings=tuple(setting for part in parts for setting in part.settings),
        evidence=tuple(line for part in parts for line in part.evidence),
        source=" ".join(part.source for part in parts if part.source),
        revision="; ".join(part.revision for part in parts if part.revision),
        memory_fraction=fractions[-1] if fractions else None,
        advice=tuple(advice for part in parts for advice in part.advice),
        call="\n".join(part.call for part in parts if part.call),
        use_when=" ".join(part.use_when for part in parts if part.use_when),
    )


def is_preset(name: str) -> bool:
    """Whether a name can only be that of presets: one of ours, several joined by "+", or a file's path."""
    return name in preset_names() or "+" in name or is_path(name)


def _parts(preset: str) -> list[str]:
    parts = preset.split("+")
    if not all(part.strip() for part in parts):
        message, hint = (
            f"{preset!r}: a name is missing beside a '+'.",
            "Several presets are joined as fsdp+reproducible.",
        )
        raise UnknownPreset.of([Finding("unknown-preset", "error", message, hint)])
    return parts


def _one(name: str, files: Files) -> Preset:
    if not is_path(name):
        return load_preset(name)
    found = files.get(name) or (Finding("bad-preset-file", "error", f"{name}: was not read before planning."),)
    if isinstance(found, Preset):
        return found
    raise BadSetting.of(found)


def is_path(name: str) -> bool:
    """Whether a name is a file's: by its spelling, whatever lies in the folder."""
    return name.endswith(".toml") or os.sep in name
