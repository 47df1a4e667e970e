"""Each setting said in the words of the installed build: translated, checked, or left out with the reason.

Presets and people state flags in the names of some release; this is the one place where a name or a
value that the build does not take is turned into one that it does, or stops.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import BadFlagValue, BadSetting, UnknownFlag
from ...knowledge import flags as known
from ...knowledge.tables import written
from ...model import Decision, Finding, Setting, Severity, Status
from ..base.wish import Origin, Problem, Stream, Wish
from ..settings.from_arguments import BUILD_DEFAULT, GUARD_OPTIONS
from .target import Target, option_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...knowledge.options import OptionSpec
    from ...knowledge.translations import Translation
    from ...model import Preset


__all__ = ["adapt", "adapt_flag", "mistakes"]

GUARD_UMBRELLA = "jax_transfer_guard"
MAX_TRANSLATIONS = 4
OF_NO_RELEASE = ("unknown-flag", "bad-flag-value", "unknown-option")


def adapt(settings: Iterable[Setting], origin: Origin, target: Target) -> Stream:
    """The stream for settings that one origin wants."""
    for setting in settings:
        if setting.kind == "xla_flag":
            yield from adapt_flag(setting, origin, target)
        elif setting.kind == "env":
            yield from _adapt_env(setting, origin, target)
        else:
            yield from _adapt_option(setting, origin, target)


def mistakes(preset: Preset, selected: Iterable[object], target: Target) -> Iterable[Finding]:
    """What no release takes of a user's preset, among the settings that do not come to their turn on this machine."""
    if preset.kind == "user":
        unmet = [setting for setting in preset.settings if setting not in selected]
        for found in adapt(unmet, "preset", target):
            if isinstance(found, Finding) and found.code in OF_NO_RELEASE:
                yield found


def adapt_flag(setting: Setting, origin: Origin, target: Target, text: str | None = None, depth: int = 0) -> Stream:
    """One flag; ``text`` is how the user wrote it where it was inherited as it is."""
    name = setting.name
    if setting.value == BUILD_DEFAULT:
        spec = target.flag(name)
        setting = setting._replace(value=None if spec is None else spec.effective)
    refusal = None if setting.value is None else target.refusal(name, setting.value)
    translated = None if setting.value is None or depth > MAX_TRANSLATIONS else _translation(setting, target)
    if name in target.accepted:
        yield Wish("xla_flag", name, setting.value, origin, setting.reason, setting.source, text)
    elif translated is not None and text is not None and _is_taken(setting, target):
        yield Wish("xla_flag", name, setting.value, origin, setting.reason, setting.source, text)
        yield _half_read(setting, translated, target)
    elif translated is not None:
        yield from _translated(setting, translated, origin, target, depth)
    elif target.flag(name) is None:
        yield from _no_such_flag(setting, origin, target)
    elif refusal is not None:
        yield from _refused(setting, origin, refusal, target)
    elif origin != "preset" and (spec := target.flag(name)) is not None and spec.undefined:
        yield from _undefined(setting, origin, target)
    else:
        yield Wish("xla_flag", name, setting.value, origin, setting.reason, setting.source, text, depth > 0)


def _translation(setting: Setting, target: Target) -> Translation | None:
    spec = target.flag(setting.name)
    if spec is not None and (target.refusal(setting.name, setting.value) or spec.first_only):
        from .respell import respelled

        found = respelled(spec, setting.value, target)
        if found is not None:
            return found
    from ...knowledge.translations import translate

    for release in target.releases:
        found = translate(setting.name, setting.value, release)
        if found is not None:
            return found
    return None


def _translated(setting: Setting, translation: Translation, origin: Origin, target: Target, depth: int) -> Stream:
    became = " ".join(written(*one) for one in translation.settings)
    reason = f"{target.label}: {translation.intent}"
    yield Decision(setting.kind, setting.name, became or None, "translated", reason, setting.source)
    if origin != "preset":
        yield _finding_of(setting, became, target, translation.intent)
    for kind, name, value in translation.settings:
        follow = Setting(
            kind, name, value, f"stands for --{setting.name}={setting.value} ({setting.reason})", setting.source
        )
        if kind == "xla_flag":
            yield from adapt_flag(follow, origin, target, depth=depth + 1)
        else:
            yield from adapt((follow,), origin, target)


def _finding_of(setting: Setting, became: str, target: Target, intent: str) -> Finding:
    shown = written(setting.kind, setting.name, setting.value)
    outcome = f"{became} is used instead" if became else "nothing replaces it"
    hint = f"Write {became} from now on." if became else f"Take {shown} out."
    return Finding("flag-translated", "warning", f"{shown} is not for {target.label}: {intent}; {outcome}.", hint)


def _half_read(setting: Setting, translation: Translation, target: Target) -> Finding:
    """What is set already stays as it is, with the effect that it has."""
    shown = f"--{setting.name}={setting.value}"
    meant = " ".join(f"--{name}={value}" for _, name, value in translation.settings)
    message = f"{target.label} reads only a part of {shown}: of several changes to a list it applies the first. It stays as it is."
    return Finding("flag-half-read", "warning", message, f"To have all of them, write {meant}.")


def _is_taken(setting: Setting, target: Target) -> bool:
    """Whether the build lives with it all the same: it applies a part of it."""
    return target.flag(setting.name) is not None and target.refusal(setting.name, setting.value) is None


def _no_such_flag(setting: Setting, origin: Origin, target: Target) -> Stream:
    if not target.releases:
        reason = "no jaxlib is known, so nothing can be known to be accepted"
        yield Decision("xla_flag", setting.name, None, "absent", reason, setting.source)
        return
    why = _why_absent(setting.name, target)
    if origin == "argument" and not known.known(setting.name):
        finding = Finding("unknown-flag", "error", f"--{setting.name}: {why}.", _closest_hint(setting.name, target))
        yield Problem(finding, UnknownFlag)
        return
    status: Status = "dropped" if origin == "existing" else "absent"
    yield Decision("xla_flag", setting.name, None, status, f"{why}; it would end the process", setting.source)
    if origin != "preset" or not known.known(setting.name):
        message = f"--{setting.name}{_of_file(setting, origin)} is left out: {why}; XLA would end the process."
        yield Finding("unknown-flag", "warning", message, _closest_hint(setting.name, target))


def _of_file(setting: Setting, origin: Origin) -> str:
    return f" ({setting.source})" if origin == "preset" else ""


def _why_absent(name: str, target: Target) -> str:
    lives = known.life(name)
    if name in target.refused:
        return "the installed binary refuses it"
    if not lives:
        return f"no XLA flag of {target.label} has that name"
    spans = ", ".join(f"{first} to {last}" if last else f"{first} on" for first, last in lives)
    return f"{target.label} has no such flag (it existed in jaxlib {spans})"


def _closest_hint(name: str, target: Target) -> str:
    near = known.closest(name, target.releases[0])
    return f"Did you mean --{near}?" if near and near != name else ""


def _undefined(setting: Setting, origin: Origin, target: Target) -> Stream:
    """What a release reads through a stale pointer: jaxlib 0.4.35 ends at jax.devices() with the flag alone in XLA_FLAGS."""
    why = f"{target.label} writes the value of --{setting.name} to a place in memory that is chance, which can end the process (seen on 0.4.35)"
    if origin == "argument":
        yield Problem(
            Finding("bad-flag-value", "error", f"{why}.", "Update jaxlib, or leave the flag out."), BadFlagValue
        )
        return
    yield Decision("xla_flag", setting.name, None, "dropped", why, setting.source)
    message = f"--{setting.name}={setting.value} is left out: {why}."
    yield Finding("undefined-unrolling", "warning", message, "Take the flag out, or update jaxlib to 0.9.1 or newer.")


def _refused(setting: Setting, origin: Origin, refusal: str, target: Target) -> Stream:
    if origin == "argument":
        yield Problem(Finding("bad-flag-value", "error", refusal), BadFlagValue)
        return
    status: Status = "dropped" if origin == "existing" else "absent"
    yield Decision("xla_flag", setting.name, None, status, refusal, setting.source)
    if origin == "preset" and target.is_taken_elsewhere(setting.name, str(setting.value)):
        return
    severity: Severity = "error" if origin == "existing" else "warning"
    hint = "Correct it where XLA_FLAGS is set." if origin == "existing" else f"Correct it in {setting.source}."
    outcome = target.outcome(setting.name, setting.value)
    yield Finding("bad-flag-value", severity, f"{refusal} It is left out: {outcome}.", hint)


def _adapt_env(setting: Setting, origin: Origin, target: Target) -> Stream:
    from ...knowledge.options import known as is_option
    from ..settings import variable_checks

    option = setting.name.lower()
    if origin != "existing" and setting.name.startswith("JAX_") and is_option(option):
        yield from _adapt_option(setting._replace(kind="jax_config", name=option), origin, target)
        return
    misnamed = variable_checks.name_finding(setting.name, target.jax_release)
    if misnamed is not None and setting.value is not None:
        yield misnamed
    checked = variable_checks.check(setting.name, setting.value, target.jaxlib, target.unified_memory)
    if checked.problem and origin in ("existing", "request"):
        yield Decision("env", setting.name, None, "dropped", checked.problem, setting.source)
        yield Finding("bad-variable", "error", f"{checked.problem} It is taken out.", checked.hint)
    elif checked.problem:
        hint = f"Correct it in {setting.source}. {checked.hint}".rstrip() if origin == "preset" else checked.hint
        yield Problem(Finding("bad-variable", "error", checked.problem, hint), BadSetting)
    else:
        if checked.note:
            code = "doubtful-variable" if checked.value == setting.value else "variable-repaired"
            yield Finding(code, "warning", checked.note, checked.hint)
        yield Wish("env", setting.name, checked.value, origin, setting.reason, setting.source)


def _adapt_option(setting: Setting, origin: Origin, target: Target) -> Stream:
    name, release = setting.name, target.jax_release
    if name == GUARD_UMBRELLA and origin != "existing":
        yield from adapt((setting._replace(name=option) for option in GUARD_OPTIONS), origin, target)
        return
    spec = option_of(name, release)
    if (
        release
        and (spec is None or origin != "existing")
        and (found := _option_translation(setting, release)) is not None
    ):
        yield from _translated(setting, found, origin, target, 0)
        return
    if spec is None:
        yield from _no_such_option(setting, origin, target)
        return
    try:
        value, note = _option_value(spec, setting.value)
    except ValueError as wrong:
        if origin == "argument":
            yield Problem(Finding("bad-option-value", "error", str(wrong)), BadSetting)
        else:
            yield Decision("jax_config", name, None, "dropped", str(wrong), setting.source)
            yield Finding("bad-option-value", "error", _bad_option(spec, setting, origin, wrong))
        return
    if note:
        code = "platform-repaired" if name.startswith("jax_platform") else "option-repaired"
        yield Finding(code, "warning", note, "Mind quotes, blanks and ends of lines where it is set.")
    reason = f"{setting.reason}; {note}" if note else setting.reason
    yield Wish("jax_config", name, value, origin, reason, setting.source, translated=bool(note))


def _bad_option(spec: OptionSpec, setting: Setting, origin: Origin, wrong: ValueError) -> str:
    if origin in ("preset", "request"):
        return f"{wrong} It is left out; correct it in {setting.source}."
    end = "JAX would not start" if spec.type in ("string", "object") else "`import jax` would raise"
    return f"{setting.name.upper()}: {wrong} {end}; it is taken out."


def _option_value(spec: OptionSpec, given: Any) -> tuple[Any, str]:
    """The value that jax can read, and what was mended if anything was. Raises ValueError for what cannot be mended."""
    from ...knowledge.options import parse
    from ..base.stray import unwrapped
    from ..settings import platforms

    text = unwrapped(given) if isinstance(given, str) else given
    if spec.name in platforms.OPTIONS and isinstance(text, str):
        text = platforms.platforms_read(spec.name, text)
        given = (
            text if spec.name == platforms.RANKED and text.lower() == given.lower() else given
        )  # jax lowers this one
    note = "" if text == given else f"{spec.name}={given!r} is taken by jax as it stands; {text!r} is used."
    return None if text is None else parse(spec, text), note


def _option_translation(setting: Setting, release: str) -> Translation | None:
    from ...knowledge.translations import changed_meaning, translate_option

    changed = changed_meaning("jax_config", setting.name, setting.value, release)
    return changed or translate_option(setting.name, setting.value, release)


def _no_such_option(setting: Setting, origin: Origin, target: Target) -> Stream:
    from ...knowledge import options

    name, release = setting.name, target.jax_release
    reason = f"jax {release} has no such option" if release else "no jax is known"
    if origin != "existing" and release and not options.known(name):
        near = options.closest(name, release)
        hint = f"Did you mean {near}?" if near else ""
        message = f"{name}{_of_file(setting, origin)}: {reason}, nor has any other release."
        if origin == "argument":
            yield Problem(Finding("unknown-option", "error", message, hint), BadSetting)
            return
        yield Finding("unknown-option", "warning", message, hint)
    yield Decision("jax_config", name, None, "absent", reason, setting.source)
    if origin in ("argument", "request") and release:
        yield Finding("option-absent", "warning", f"{name} is left out: {reason}.")
