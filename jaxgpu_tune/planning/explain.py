"""Everything that is known of one name, and what holds for it in one build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..arguments import Arguments
from ..knowledge import flags as known
from ..knowledge import options, variables
from ..knowledge.candidates import Candidate, candidates
from ..knowledge.hazards import hazards
from ..knowledge.memory_costs import memory_costs
from ..knowledge.notes import note
from ..knowledge.presets import all_presets, load_preset, owner_of, preset_names
from ..knowledge.real_names import also_called
from ..knowledge.translations import rules, translate
from ..knowledge.versions import matches
from ..model import Explanation, Gpu, Preset, Setting, SettingKind
from ..named import Files
from ..values import EMPTY
from ..wording import nearest, written
from .base.conditions import Facts, all_met
from .base.secrets import shown_value
from .composing import compose, is_preset
from .release.target import Target
from .select import advised
from .settings.setting_names import VISIBLE
from .xla_flags.grammar import scan

__all__ = ["as_set", "closest_name", "containing", "explain", "name_alone", "numbered_gpus"]

ARGUMENTS = Arguments.__annotations__
ALIKE = 0.75
"""How alike an argument must be to be offered for a name."""


def explain(
    name: str, target: Target, facts: Facts, gpus: Iterable[Gpu] = (), files: Files = EMPTY
) -> Explanation | None:
    """What is known of a flag (with or without dashes), a variable, a jax.config option, presets or what ``tune`` tries; None: nothing is.

    ``files``: what each file of a preset holds that ``name_alone`` names. Raises UnknownPreset and BadSetting for names that can only be presets'.
    """
    plain = name_alone(name)
    if is_preset(plain):
        return _of_preset(compose(plain, files), facts)
    if plain in ARGUMENTS or plain == "preset":
        return Explanation("argument", plain, does=_argument(plain), here=f"configure({plain}=…)")
    tried = next((one for one in candidates() if one.name == plain), None)
    if tried is not None:
        return _of_candidate(tried)
    kind, plain = _kind_of(plain)
    found = note(plain)
    stated = [(p.name, s) for p in all_presets() for s in p.settings if s.name == plain]
    if kind is None and found is None and not stated and not (variables.is_read(plain) or variables.program_of(plain)):
        return None
    kind = kind or (found.kind if found else "env")
    return Explanation(
        kind=kind,
        name=plain,
        does=found.does if found else known.help_text(plain) or _reader(plain),
        traps=found.traps if found else "",
        source=found.source if found else "",
        here=" · ".join(numbered_gpus(gpus)) if plain == VISIBLE else _here(kind, plain, target),
        presets=tuple(f"{preset}: {_text(setting.value)} ({_measured(setting, facts)})" for preset, setting in stated),
        translations=tuple(_rule_text(rule) for rule in rules(kind, plain)),
        hazards=tuple(h.message for h in hazards() if h.speaks_of(plain)),
        memory=_memory(plain),
        **_build_facts(kind, plain, target),
    )


def as_set(told: Explanation, environ: Mapping[str, str]) -> Explanation:
    """With what is set already, as XLA_FLAGS or the variable has it."""
    written_now: dict[str | None, str] = {}
    if told.kind == "xla_flag":
        written_now = {token.name: token.text for token in scan(environ.get("XLA_FLAGS", "")).tokens}
    elif told.kind in ("env", "jax_config"):
        written_now = {name: f"{name}={shown_value(name, text)}" for name, text in environ.items()}
    text = written_now.get(told.name.upper() if told.kind == "jax_config" else told.name)
    return told._replace(here=f"Set now: {text}. {told.here}".rstrip()) if text else told


def name_alone(name: str) -> str:
    """A name without the dashes and the value that may have been copied with it."""
    return name.strip().lstrip("-").split("=", 1)[0]


def _argument(name: str) -> str:
    """What the docstring of the arguments says of one, with the lines that are indented further; Python 3.13 takes the indentation of all away."""
    if name == "preset":
        return "The name of a preset, several joined by +, or the path of a TOML file."
    told = re.search(rf"(?m)^( +){name}: (.+(?:\n\1 .+)*)", Arguments.__doc__ or "")
    return " ".join(told[2].replace("``", "").split()) if told else "Descriptions are left out by python -OO."


def containing(word: str, target: Target) -> list[str]:
    """The arguments, the flags of this build, the options of jax and the variables whose name holds a word; short names first, the variables last."""
    names = [f"--{name}" for name in known.flags(target.release) if word.lower() in name]
    names += [name for name in options.names(target.jax_release or target.release) if word.lower() in name]
    names += [name for name in ARGUMENTS if word.lower() in name]
    read = [name for known_names in variables.spellings().values() for name in known_names if word.upper() in name]
    return [*sorted(names, key=len), *sorted(read, key=lambda name: (len(name), name))]


def _of_preset(preset: Preset, facts: Facts) -> Explanation:
    bases = _bases(preset)
    return Explanation(
        kind="preset",
        name=preset.name,
        does=preset.summary,
        use_when=preset.use_when,
        source=f"{preset.source} (revision {preset.revision})" if preset.revision else preset.source,
        memory=(*_memory(preset.name), *_alone({base: _memory(base) for base in bases})),
        sets=tuple(f"{_stated(setting)}, {_where(setting, facts)}" for setting in _that_count(preset.settings)),
        evidence=(*preset.evidence, *_alone({base: load_preset(base).evidence for base in bases})),
        advice=tuple(finding.message for finding in advised(preset, facts)),
    )


def _of_candidate(one: Candidate) -> Explanation:
    """What `tune` tries under a name of its own."""
    return Explanation(
        kind="candidate",
        name=one.name,
        does=f"`jaxgpu-tune tune` tries it, for {', '.join(one.kinds)} first: {one.why}",
        traps=one.cost,
        source=one.source,
        hazards=tuple(h.message for h in hazards() if any(h.speaks_of(setting.name) for setting in one.settings)),
        sets=tuple(_stated(setting) for setting in one.settings),
    )


def _memory(name: str) -> tuple[str, ...]:
    """Of a flag, or of presets, several of them joined by +."""
    return tuple(cost.sentence for part in name.split("+") for cost in memory_costs(part.strip()))


def _bases(preset: Preset) -> list[str]:
    """The presets that a file extends."""
    named = {part.strip() for part in preset.name.split("+")}
    owners = dict.fromkeys(owner_of(setting.source) for setting in preset.settings)
    return [name for name in owners if name and name not in named]


def _alone(told: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for base, lines in told.items():
        yield from (f"{base} alone: {line}" for line in lines)


def _that_count(settings: tuple[Setting, ...]) -> Iterator[Setting]:
    """Without those in whose place a later one holds, whatever the conditions are."""
    for at, setting in enumerate(settings):
        if not any((s.kind, s.name, s.when) == (setting.kind, setting.name, {}) for s in settings[at + 1 :]):
            yield setting


def _stated(setting: Setting) -> str:
    return written(setting.kind, setting.name, _text(setting.value))


def _text(value: object) -> str:
    return "''" if value == "" else str(value)


def _where(setting: Setting, facts: Facts) -> str:
    conditions = ", ".join(f"{name} {demand}" for name, demand in setting.when.items())
    where = f"where {conditions}" if conditions else "anywhere"
    return f"{where}{f'; {_measured(setting, facts)}' if all_met(setting.when, facts) else ' (not here)'}"


def numbered_gpus(gpus: Iterable[Gpu]) -> Iterator[str]:
    """Which GPU each of JAX's numbers is, since they count from 0 whatever CUDA_VISIBLE_DEVICES names."""
    for gpu in gpus:
        if gpu.uuid:
            yield f"JAX's GPU {gpu.index} is {gpu.uuid} ({gpu.name or 'unknown GPU'})"


def closest_name(name: str, target: Target) -> str | None:
    """The flag, option, variable, preset or argument that was probably meant."""
    plain = name.strip()
    flag = known.closest_flag(plain, target.release) if plain.startswith(("-", "xla_")) else None
    option = options.closest_option(plain, target.jax_release) if plain.lower().startswith("jax_") else None
    other = also_called(plain) or nearest(plain.lower(), preset_names()) or nearest(plain.lower(), ARGUMENTS, ALIKE)
    other = other or nearest(plain.lower(), [one.name for one in candidates()])
    return flag or option or variables.misspelt(plain) or other or known.closest_flag(plain, target.release)


def _reader(name: str) -> str:
    program = variables.program_of(name)
    if program:
        return f"Read by {program}; jax itself does not read it."
    return f"{name.split('_', maxsplit=1)[0]} reads a variable of this name." if variables.is_read(name) else ""


def _measured(setting: Setting, facts: Facts) -> str:
    if not setting.measured:
        return "unmeasured"
    if setting.kind == "xla_flag" and not _had_where_measured(setting):
        return "unmeasured: no jaxlib that the preset was measured on has the flag"
    where = "measured on " + ", ".join(
        f"{name} {str(demand).removeprefix('==')}" for name, demand in setting.measured.items()
    )
    return where if all_met(setting.measured, facts) else f"{where}; unmeasured here"


def _had_where_measured(setting: Setting) -> bool:
    """Whether a release with which the preset was measured has the flag, or something that stands for it."""
    demand = setting.measured.get("jaxlib")
    releases = [release for release in known.releases() if demand is None or matches(demand, release)]
    return any(known.flag(setting.name, r) or _stand_ins(setting, r) for r in releases)


def _stand_ins(setting: Setting, release: str) -> bool:
    found = translate(setting.name, setting.value, release)
    return found is not None and bool(found.settings)


def _kind_of(name: str) -> tuple[SettingKind | None, str]:
    if known.known(name) or rules("xla_flag", name):
        return "xla_flag", name
    if options.known(name.lower()):
        return "jax_config", name.lower()
    return None, name


def _here(kind: SettingKind, name: str, target: Target) -> str:
    if kind == "xla_flag":
        spec = target.flag(name)
        return (
            f"{target.label} has it; its default is {spec.default!r}."
            if spec
            else f"{target.without(name)} has no such flag."
        )
    if kind == "jax_config" and target.jax_release:
        option = options.option(name, target.jax_release)
        return (
            f"jax {target.jax_release} has it; its default is {option.default!r}."
            if option
            else f"jax {target.jax_release} has no such option."
        )
    return ""


def _build_facts(kind: SettingKind, name: str, target: Target) -> dict[str, Any]:
    if kind == "env":
        spec_of_variable = variables.variable(name)
        return {"values": spec_of_variable.values} if spec_of_variable else {}
    spec = target.flag(name) if kind == "xla_flag" else None
    return {
        "life": tuple(known.life(name) if kind == "xla_flag" else options.life(name)),
        "type": spec.type if spec else "",
        "default": spec.default if spec else None,
        "values": spec.members if spec else (),
        "compile_option": spec.compile_option if spec else None,
    }


def _rule_text(rule: Any) -> str:
    became = " ".join(written(*one) for one in rule.targets) or "nothing"
    return f"{rule.given} becomes {became}: {rule.intent}"
