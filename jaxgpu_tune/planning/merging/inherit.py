"""What is set already, as wishes: XLA_FLAGS flag by flag (repaired where its intent is plain), variables, jax's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...knowledge import flags as known
from ...model import Finding, Observation
from ..base.wish import Outcome, Repaired, Wish, together
from ..release.adapt import adapted
from ..release.target import Target, option_of
from ..request import Request
from ..settings import pool_variables
from ..xla_flags.grammar import Token, quote

__all__ = ["inherit", "is_judged", "is_looked_at", "read_flags", "unlisted_flags"]

ENVIRONMENT = "environment"
WORDS = ("enum", "list", "map", "duration", "ranges")
"""Forms of values whose parser may know more than the tables do."""
TOLD = (
    "NCCL_",
    "XLA_",
    "CUDA_DEVICE_",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_MODULE_LOADING",
    "TF_FORCE_UNIFIED_MEMORY",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_DETERMINISTIC_OPS",
    "TF_CUDNN_DETERMINISTIC",
)
"""The variables that are told as inherited whether or not anything is decided about them, and that hazards see."""


FAMILIES = ("CUDA_", "TF_", "JAXGPU_")
"""Families of variables of which the others are held against the names that are known."""


def is_looked_at(name: str) -> bool:
    """Whether something may be said of a variable where it is set: of its value, or of its name that is no known one."""
    return name.startswith((*TOLD, *FAMILIES, "JAX_"))


def is_judged(name: str) -> bool:
    """Whether a variable is one whose value may be told to be wrong."""
    from ...knowledge.options import known as is_option

    return name.startswith((*TOLD, "JAXGPU_")) or (name.startswith("JAX_") and is_option(name.lower()))


def inherit(observation: Observation, flags: Repaired, wanted: Iterable[str], target: Target) -> Outcome:
    """Everything that is set already and matters: XLA flags, variables of XLA, NCCL and CUDA, options, names in ``wanted``."""
    named = frozenset(map(_meant, wanted))
    return together(
        (
            Outcome(tuple(_taken_out(observation, flags)), findings=flags.findings),
            *(adapted(_inherited(flag), target) for flag in flags.flags),
            _variables(observation, named, target),
            _options(observation, named, target),
        )
    )


def _meant(name: str) -> str:
    """A variable that stands for an option is that option."""
    from ...knowledge.options import known as is_option

    return name.lower() if name.startswith("JAX_") and is_option(name.lower()) else name


def _inherited(flag: Token) -> Wish:
    return Wish("xla_flag", str(flag.name), flag.meant, "existing", "set already", "XLA_FLAGS", flag.text)


def _taken_out(observation: Observation, flags: Repaired) -> Iterator[Wish]:
    """What the user has taken out since an earlier call set it: no preset sets it again."""
    there = {f"--{flag.name}" for flag in flags.flags}.union(observation.environ)
    for name in sorted(set(observation.edits) - there):
        reason, source = "taken out after an earlier call had set it", "XLA_FLAGS" if name[:1] == "-" else ENVIRONMENT
        if name.startswith("--"):
            yield Wish("xla_flag", name[2:], None, "existing", reason, source)
        elif not name.startswith("JAX_"):
            yield Wish("env", name, None, "existing", reason, source)
        elif observation.jax_config is None:
            yield Wish("jax_config", name.lower(), None, "existing", reason, source)


def read_flags(observation: Observation, target: Target) -> Repaired:
    """XLA_FLAGS as it was meant, with a finding for each repair."""
    text = observation.environ.get("XLA_FLAGS", "")
    if not text:
        return Repaired()
    from ..xla_flags.repair import repair
    from ..xla_flags.spelling import Vocabulary

    words = Vocabulary(
        known=lambda name: target.flag(name) is not None or known.known(name),
        closest=lambda name: known.closest_flag(name, target.release),
        boolean=lambda name: _is_bool(name, target),
    )
    return repair(text, words, observation.flag_file)


def unlisted_flags(request: Request, observation: Observation, target: Target) -> Iterator[tuple[str, str]]:
    """(name, text) of the flags that are inherited or asked for and that the tables do not vouch for.

    No release has the name; or the build has it, and the tables refuse the value although its parser may know more words than were tried.
    """
    flags = read_flags(observation, target).flags
    inherited = [(str(flag.name), flag.text) for flag in flags]
    asked = [(s.name, quote(s.name, s.value)) for s in request.asked if s.kind == "xla_flag" and s.value is not None]
    values = {str(flag.name): flag.value for flag in flags}
    values |= {setting.name: setting.value for setting in request.asked if setting.kind == "xla_flag"}
    yield from (
        (n, text) for n, text in (*inherited, *asked) if not known.known(n) or _is_doubtful(n, values[n], target)
    )


def _is_doubtful(name: str, value: str | None, target: Target) -> bool:
    """Whether the tables refuse a word where they cannot know all of them."""
    spec = target.flag(name)
    return spec is not None and value is not None and spec.form in WORDS and target.refusal(name, value) is not None


def _is_bool(name: str, target: Target) -> bool | None:
    """Whether a flag is a bool, by this build or by any that has it; None: no release knows it."""
    spec = target.flag(name) or next((found for r in known.releases() if (found := known.flag(name, r))), None)
    return None if spec is None else spec.type == "bool"


def _variables(observation: Observation, wanted: frozenset[str], target: Target) -> Outcome:
    environ = observation.environ
    one = pool_variables.one_fraction(environ, target.jaxlib)
    passed_over = {"XLA_FLAGS", *(decision.name for decision in one.decisions)}
    told = sorted(name for name in environ if name in wanted or name.startswith(TOLD))
    others = sorted(name for name in environ if name.startswith(FAMILIES) and name not in told)
    found = (one._replace(wishes=()), *(adapted(wish, target) for wish in one.wishes), _misnamed(others, target))
    if not told:
        return together(found)
    from ...knowledge.variables import is_setting

    read = (name for name in told if name not in passed_over and is_setting(name))
    wishes = (Wish("env", name, environ[name], "existing", "set already", ENVIRONMENT) for name in read)
    return together((*found, *(adapted(wish, target) for wish in wishes)))


def _misnamed(others: list[str], target: Target) -> Outcome:
    """Of variables about which nothing else is said: whether one is close to a name that is read."""
    if not others:
        return Outcome()
    from ..settings.variable_checks import name_finding

    return Outcome(findings=tuple(filter(None, (name_finding(name, target.jax_release) for name in others))))


def _options(observation: Observation, wanted: frozenset[str], target: Target) -> Outcome:
    """The options of a live jax, then those that variables set; one of a damaged text is mended."""
    live = observation.jax_config or {}
    own = (Wish("jax_config", name, live[name], "existing", "set already", "jax.config") for name in sorted(live))
    found = [
        adapted(one, target) if isinstance(one.value, str) and _is_damaged(one.name, one.value) else Outcome((one,))
        for one in own
    ]
    variables = {n: v for n, v in sorted(observation.environ.items()) if n.startswith("JAX_") and v}
    return (
        together((*found, *_by_variable(variables, observation.jax_config, wanted, target)))
        if variables
        else together(found)
    )


def _by_variable(
    variables: Mapping[str, str], live: Mapping[str, Any] | None, wanted: frozenset[str], target: Target
) -> Iterator[Outcome]:
    """``live``: what a live jax holds beside its defaults; None: jax is not imported, and will read the variables."""
    from ...knowledge.options import known as is_option
    from ...knowledge.translations import rules
    from ..settings.variable_checks import name_finding

    for variable, text in variables.items():
        name = variable.lower()
        wrong = name_finding(variable, target.jax_release)
        if wrong is not None:
            yield Outcome(findings=(wrong,))
        elif name not in (live or {}) and (is_option(name) or rules("jax_config", name)) and variable == name.upper():
            found = adapted(Wish("jax_config", name, text, "existing", "set already", ENVIRONMENT), target)
            yield found if live is None else _behind_the_import(found, variable, text, wanted, target)


def _behind_the_import(found: Outcome, variable: str, text: str, wanted: frozenset[str], target: Target) -> Outcome:
    """What a variable says that a live jax does not hold: it is not in force here, and what is asked for otherwise takes its place."""
    name = variable.lower()
    spec = option_of(name, target.jax_release)
    stated = [wish.value for wish in found.wishes if wish.name == name]
    if spec is None or not spec.env or not stated or stated == [spec.default]:
        return found
    if name in wanted:
        return Outcome()
    message = f"{variable}={text} is not in force: jax has read its variables at `import jax`, and jax.config.{name} is {spec.default!r}."
    hint = f"Set it before the import, or pass jax_config={{{name!r}: {stated[0]!r}}} to configure()."
    return Outcome(findings=(*found.findings, Finding("variable-after-import", "warning", message, hint)))


def _is_damaged(name: str, value: str) -> bool:
    """Whether a live option may be none that jax can use, as it took its variable as it stood."""
    from ..base.stray import unwrapped

    return name.startswith("jax_platform") or unwrapped(value) != value
