"""What is set already, as wishes: XLA_FLAGS flag by flag (repaired where its intent is plain), variables, jax's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...knowledge import flags as known
from ...model import Decision, Observation, Setting
from ..base.wish import Repaired, Stream, Wish
from ..release.adapt import adapt, adapt_flag
from ..release.target import Target
from ..request import Request
from ..settings import pool_variables
from ..xla_flags.grammar import quote

__all__ = ["inherit", "read_flags", "unlisted_flags"]

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
"""The variables that are told as inherited whether or not anything is decided about them (R21), and that hazards see."""


FAMILIES = ("CUDA_", "TF_", "JAXGPU_")
"""Families of variables of which the others are held against the names that are known."""


def inherit(observation: Observation, flags: Repaired, wanted: Iterable[str], target: Target) -> Stream:
    """Everything that is set already and matters: XLA flags, variables of XLA, NCCL and CUDA, options, names in ``wanted``."""
    yield from _taken_out(observation, flags)
    yield from _flags(flags, target)
    yield from _variables(observation, frozenset(wanted), target)
    yield from _options(observation, target)


def _flags(repaired: Repaired, target: Target) -> Stream:
    yield from repaired.findings
    for flag in repaired.flags:
        value = "true" if flag.value is None else flag.value
        setting = Setting("xla_flag", flag.name, value, "set already", "XLA_FLAGS")
        yield from adapt_flag(setting, "existing", target, text=flag.text)


def _taken_out(observation: Observation, flags: Repaired) -> Stream:
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

    release = target.releases[0] if target.releases else known.releases()[-1]
    return repair(
        text,
        known=lambda name: target.flag(name) is not None or known.known(name),
        closest=lambda name: known.closest(name, release),
        flag_file=observation.flag_file,
        boolean=lambda name: _is_bool(name, target),
    )


def unlisted_flags(request: Request, observation: Observation, target: Target) -> Iterator[tuple[str, str]]:
    """(name, text) of the flags that are inherited or asked for and that the tables do not vouch for.

    No release has the name; or the build has it, and the tables refuse the value although its parser may know more words than were tried.
    """
    inherited = [(flag.name, flag.text) for flag in read_flags(observation, target).flags]
    asked = [(s.name, quote(s.name, s.value)) for s in request.asked if s.kind == "xla_flag" and s.value is not None]
    values = {flag.name: flag.value for flag in read_flags(observation, target).flags}
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


def _variables(observation: Observation, wanted: frozenset[str], target: Target) -> Stream:
    environ = observation.environ
    gone = tuple(pool_variables.one_fraction(environ, target.jaxlib))
    yield from (item for item in gone if not isinstance(item, Setting))
    yield from adapt((item for item in gone if isinstance(item, Setting)), "existing", target)
    passed_over = {"XLA_FLAGS", *(item.name for item in gone if isinstance(item, Decision))}
    told = sorted(name for name in environ if name in wanted or name.startswith(TOLD))
    yield from _misnamed((name for name in environ if name.startswith(FAMILIES) and name not in told), target)
    if not told:
        return
    from ...knowledge.variables import is_setting

    for name in told:
        if name not in passed_over and is_setting(name):
            setting = Setting("env", name, environ[name], "set already", ENVIRONMENT)
            yield from adapt((setting,), "existing", target)


def _misnamed(names: Iterable[str], target: Target) -> Stream:
    """Of variables about which nothing else is said: whether one is close to a name that is read."""
    others = sorted(names)
    if others:
        from ..settings.variable_checks import name_finding

        yield from filter(None, (name_finding(name, target.jax_release) for name in others))


def _options(observation: Observation, target: Target) -> Stream:
    live = observation.jax_config
    for name, value in sorted((live or {}).items()):
        if isinstance(value, str) and _is_damaged(name, value):
            yield from adapt((Setting("jax_config", name, value, "set already", "jax.config"),), "existing", target)
        else:
            yield Wish("jax_config", name, value, "existing", "set already", "jax.config")
    variables = {n: v for n, v in sorted(observation.environ.items()) if n.startswith("JAX_") and v}
    if not variables:
        return
    from ...knowledge.options import known as is_option
    from ..settings.variable_checks import name_finding

    for variable, text in variables.items():
        name = variable.lower()
        wrong = name_finding(variable, target.jax_release)
        if wrong is not None:
            yield wrong
        elif name not in (live or {}) and is_option(name) and variable == name.upper():
            setting = Setting("jax_config", name, text, "set already", ENVIRONMENT)
            yield from adapt((setting,), "existing", target)


def _is_damaged(name: str, value: str) -> bool:
    """Whether a live option may be none that jax can use, as it took its variable as it stood."""
    from ..base.stray import unwrapped

    return name.startswith("jax_platform") or unwrapped(value) != value
