"""Each setting said in the words of the installed build: translated, checked, or left out with the reason.

Presets and people state settings in the names of some release; this is the one place where a name or a
value that the build does not take is turned into one that it does, or stops.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import BadSetting
from ...model import Finding, Origin, Setting
from ...wording import written
from ..base.wish import Outcome, Problem, Wish, together, wish_of
from ..settings.from_arguments import BUILD_DEFAULT
from ..settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA
from .left_out import no_such_flag, no_such_option, refused, undefined, unreadable
from .target import Target, option_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...knowledge.flag_spec import FlagSpec
    from ...knowledge.options import OptionSpec
    from ...knowledge.translations import Translation
    from ...model import Preset
    from ..settings.pool_variables import Checked


__all__ = ["adapt", "adapted", "mistakes"]

MAX_TRANSLATIONS = 4
OF_NO_RELEASE = ("unknown-flag", "bad-flag-value", "unknown-option", "bad-variable")


def adapt(settings: Iterable[Setting], origin: Origin, target: Target) -> Outcome:
    """What becomes of the settings that one origin wants."""
    return together(adapted(wish_of(setting, origin), target) for setting in settings)


def mistakes(preset: Preset, unmet: Iterable[Setting], target: Target) -> Outcome:
    """What no release takes of a user's preset, among the settings that do not come to their turn on this machine."""
    if preset.kind != "user":
        return Outcome()
    found = adapt(unmet, "preset", target).findings
    return Outcome(findings=tuple(one for one in found if one.code in OF_NO_RELEASE))


def adapted(wish: Wish, target: Target, depth: int = 0) -> Outcome:
    """What becomes of one wish; ``depth``: how many others stand between it and what was asked for."""
    if wish.kind == "xla_flag":
        return _flag(wish, target, depth)
    return _variable(wish, target) if wish.kind == "env" else _option(wish, target)


def _flag(wish: Wish, target: Target, depth: int) -> Outcome:
    """One flag, judged once: what is inherited undamaged stays as it is if the build lives with it."""
    spec = target.flag(wish.name)
    if wish.value == BUILD_DEFAULT:
        wish = wish._replace(value=None if spec is None else spec.effective)
    if wish.name in target.accepted:
        return Outcome((wish,))
    refusal = None if spec is None or wish.value is None else target.refusal(wish.name, wish.value)
    taken = spec is not None and refusal is None
    stands = None if depth > MAX_TRANSLATIONS else _translation(wish, spec, refusal, target)
    if stands is not None and taken and wish.text is not None:
        return Outcome((wish,), findings=(_half_read(wish, stands, target),))
    if stands is not None:
        return _translated(wish, stands, target, depth)
    if spec is None:
        return no_such_flag(wish, target)
    if refusal is not None:
        return refused(wish, refusal, target)
    return undefined(wish, target) if spec.undefined and not wish.is_offered else Outcome((wish,))


def _translation(wish: Wish, spec: FlagSpec | None, refusal: str | None, target: Target) -> Translation | None:
    """What stands for a flag that the build lacks, refuses, or half reads."""
    if wish.value is None or (spec is not None and refusal is None and not spec.first_only):
        return None
    if spec is not None:
        from .respell import respelled

        found = respelled(spec, wish.value, refused=refusal is not None, target=target)
        if found is not None:
            return found
    from ...knowledge.translations import translate

    each = (translate(wish.name, wish.value, release) for release in target.releases)
    return next((found for found in each if found is not None and _is_for_all(found, target)), None)


def _is_for_all(stands: Translation, target: Target) -> bool:
    """Whether each build has the flags: what stands for one of jaxlib's may be none of the plugin's."""
    return all(kind != "xla_flag" or target.flag(name) is not None for kind, name, _ in stands.settings)


def _translated(wish: Wish, stands: Translation, target: Target, depth: int = 0) -> Outcome:
    """What stands for a setting in its place, with the decision and what is to be told."""
    became = " ".join(written(*one) for one in stands.settings)
    decision = wish.decided(became or None, "translated", f"{target.label}: {stands.intent}")
    told = () if wish.is_offered else (_stands_for(wish, became, target, stands.intent),)
    reason = f"stands for --{wish.name}={wish.value} ({wish.reason})"
    follow = (
        Wish(kind, name, value, wish.origin, reason, wish.source, None, kind == "xla_flag", argument=wish.argument)
        for kind, name, value in stands.settings
    )
    new = together(adapted(one, target, depth + 1) for one in follow)
    return new if wish.is_derived and stands.settings else together((Outcome((), (decision,), told), new))


def _stands_for(wish: Wish, became: str, target: Target, intent: str) -> Finding:
    shown = written(wish.kind, wish.name, wish.value)
    outcome = f"{became} is used instead" if became else "nothing replaces it"
    hint = f"Write {became} from now on." if became else f"Take {shown} out."
    build = target.without(wish.name) if wish.kind == "xla_flag" else target.label
    return Finding("flag-translated", "warning", f"{shown} is not for {build}: {intent}; {outcome}.", hint)


def _half_read(wish: Wish, translation: Translation, target: Target) -> Finding:
    """What is set already stays as it is, with the effect that it has."""
    shown = f"--{wish.name}={wish.value}"
    meant = " ".join(f"--{name}={value}" for _, name, value in translation.settings)
    message = f"{target.label} reads only a part of {shown}: of several changes to a list it applies the first. It stays as it is."
    return Finding("flag-half-read", "warning", message, f"To have all of them, write {meant}.")


def _variable(wish: Wish, target: Target) -> Outcome:
    """What becomes of one variable; one that stands for an option is that option, unless it is set already."""
    from ...knowledge.options import known as is_option
    from ..settings import pool_variables, variable_checks

    option = wish.name.lower()
    if wish.origin != "existing" and wish.name.startswith("JAX_") and is_option(option):
        return _option(wish._replace(kind="jax_config", name=option), target)
    if wish.origin != "existing" and pool_variables.is_unread(wish.name, target.jaxlib):
        return _by_older_name(wish, pool_variables.OLD_FRACTION, target)
    misnamed = None if wish.value is None else variable_checks.name_finding(wish.name, target.jax_release)
    told = () if misnamed is None else (misnamed,)
    checked = variable_checks.check_variable(wish.name, wish.value, target.jaxlib, target.unified_memory)
    if checked.problem and wish.origin in ("existing", "request"):
        finding = Finding("bad-variable", "error", f"{checked.problem} It is taken out.", checked.hint)
        return wish.left_out("dropped", checked.problem, *told, finding)
    if checked.problem and wish.is_offered:
        hint = f"Correct it in {wish.source}. {checked.hint}".rstrip()
        wrong = Finding("bad-variable", "warning", f"{checked.problem} It is left out.", hint)
        return wish.left_out("dropped", checked.problem, *told, wrong)
    if checked.problem:
        problem = checked.problem.replace(wish.name, wish.argument, 1) if wish.is_derived else checked.problem
        raised = Problem(Finding("bad-variable", "error", problem, checked.hint), BadSetting)
        return Outcome(findings=told, problems=(raised,))
    if checked.note:
        told = (*told, _noted(wish, checked))
    return Outcome((wish._replace(value=checked.value),), findings=told)


def _by_older_name(wish: Wish, name: str, target: Target) -> Outcome:
    """A variable whose newer name the release does not read."""
    reads = "it reads the older name alone"
    told = () if wish.is_offered else (_stands_for(wish, written("env", name, wish.value), target, reads),)
    older = adapted(wish._replace(name=name, reason=f"stands for {wish.name} ({wish.reason})"), target)
    return older if wish.value is None else together((Outcome(findings=told), older))


def _noted(wish: Wish, checked: Checked) -> Finding:
    if checked.value == wish.value:
        return Finding("doubtful-variable", "warning", checked.note, checked.hint)
    hint = checked.hint or f"Write {wish.name}={checked.value} from now on."
    return Finding("variable-repaired", "warning", checked.note, hint)


def _option(wish: Wish, target: Target) -> Outcome:
    """What becomes of one option of jax.config."""
    name, release = wish.name, target.jax_release
    if name == GUARD_UMBRELLA and wish.origin != "existing":
        return together(adapted(wish._replace(name=option), target) for option in GUARD_OPTIONS)
    spec = option_of(name, release)
    moved = release and (spec is None or wish.origin != "existing") and _moved(wish, release)
    if moved:
        return _translated(wish, moved, target)
    if spec is None:
        return no_such_option(wish, target)
    try:
        value, note = _option_value(spec, wish.value)
    except ValueError as wrong:
        return unreadable(wish, spec, wrong)
    if not note:
        return Outcome((wish._replace(value=value),))
    code = "platform-repaired" if name.startswith("jax_platform") else "option-repaired"
    told = Finding(code, "warning", note, "Mind quotes, blanks and ends of lines where it is set.")
    return Outcome((wish._replace(value=value, reason=f"{wish.reason}; {note}", translated=True),), findings=(told,))


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


def _moved(wish: Wish, release: str) -> Translation | None:
    from ...knowledge.translations import changed_meaning, translate_option

    changed = changed_meaning("jax_config", wish.name, wish.value, release)
    return changed or translate_option(wish.name, wish.value, release)
