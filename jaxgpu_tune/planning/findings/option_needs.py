"""What options of jax.config ask of each other and of the process: PGLE, the compilation cache, transfer guards; and CUDA's variables where CUDA has started. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import BadSetting
from ...knowledge.families import acts
from ...knowledge.versions import matches
from ...model import Finding, Observation, Setting, SettingKind
from ...values import Value
from ...wording import written
from ..base.conditions import Facts
from ..base.secrets import shown_value
from ..base.wish import Outcome, Wish, together, wrong_argument
from ..in_force import Settled
from ..merging.merge import RANKS, shown
from ..settings.from_arguments import PROFILE_ENDINGS
from ..settings.pool_variables import FRACTION_NAMES, UNIFIED
from ..settings.setting_names import CACHE_OPTION, CACHE_SWITCH, EXPECT_OPTION, GUARD_OPTIONS, PGLE_OPTION, PROFILE_FLAG

__all__ = ["check_options", "companions", "refused_here"]

THRESHOLD, XLA_CACHES = "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_enable_xla_caches"
SCHEDULER, SCHEDULER_BY_HAND = "xla_gpu_enable_latency_hiding_scheduler", ">=0.4.31,<0.5.1"
LOSES_COSTS = "<0.4.31"
"""Tried: aggregate_profiled_instructions() of 0.4.29 and 0.4.30 returns names without costs, and not all of them."""
NO_JIT, NO_NANS = "jax_disable_jit", ("jax_debug_nans", "jax_debug_infs")
STRICT_GUARDS = ("disallow", "disallow_explicit")
TORCH = "torch.cuda"
MEMORY = (*FRACTION_NAMES, UNIFIED)
CLIENT_OPTIONS = "jax_pjrt_client_create_options"
NO_TEXTS = frozenset(
    {
        *("memory_fraction", "preallocate", "collective_memory_size", "visible_devices", "node_id", "num_nodes"),
        *("should_stage_host_to_device_transfers", "abort_collectives_on_failure", "use_tfrt_gpu_client"),
        *("enable_mock_nccl", "partition_index", "max_inflight_computations"),
    }
)
"""What the CUDA client takes as a number or a bool; jax makes texts of all that its option holds (pjrt_c_api_helpers.cc)."""
UNEXPANDED = r"^~[\w.-]*(/|$)|\$\{?[A-Za-z_]"
"""What only a shell replaces; a regular expression may end in $."""


def companions(settings: Iterable[Setting], jax: str | None = None) -> Iterator[Setting]:
    """What a directory for the compilation cache, and AutoPGLE, need to be of use; whatever is set already beats it."""
    for setting in settings:
        if (
            setting.name == PGLE_OPTION
            and setting.value is True
            and jax is not None
            and matches(SCHEDULER_BY_HAND, jax)
        ):
            reason = f"without it jax {jax} profiles and compiles again, but nothing reads the profile"
            yield Setting("xla_flag", SCHEDULER, "true", reason, setting.source)
        if setting.argument != "compilation_cache" or not setting.value:
            continue
        reason = "so that programs which compile in less than a second are kept too"
        yield Setting("jax_config", THRESHOLD, 0.0, reason, setting.source)
        if "://" in setting.value:
            reason = "XLA's own files in the cache cannot be written to an address"
            yield Setting("jax_config", XLA_CACHES, "none", reason, setting.source)


class Against(Value):
    """Why some wishes cannot be: each a sentence, empty where nothing speaks against them. ``gpu``: a GPU's client starts; ``cuda``: CUDA has."""

    profiles: str
    guard: str
    memory: str
    gpu: bool
    cuda: bool


def refused_here(wishes: tuple[Wish, ...], facts: Facts, observation: Observation, prefer: str) -> Outcome:
    """The wishes without those that would end or stall the program (DreamerV3's rule), or that CUDA has missed."""
    against = Against(
        profiles=_why_no_pgle(facts, observation.environ),
        guard=_why_no_guard(_in_force(wishes, prefer)),
        memory=_why_no_more(wishes, prefer, observation),
        gpu=facts.platform != "cpu",
        cuda=TORCH in observation.modules,
    )
    return together(_left_of(wish, against) for wish in wishes)


def _left_of(wish: Wish, against: Against) -> Outcome:
    own = wish.origin != "existing"
    if against.profiles and wish.name == PGLE_OPTION and wish.value is True:
        return _refused(wish, "pgle-refused", against.profiles, PGLE_HINT)
    if against.guard and wish.name in GUARD_OPTIONS and wish.value in STRICT_GUARDS:
        return _refused(wish, "guard-refused", against.guard, 'Use "log" together with it.')
    if against.memory and wish.name in MEMORY and own:
        return _too_much(wish, against.memory)
    if against.gpu and wish.name == CLIENT_OPTIONS and (wrong := _no_texts(wish.value)):
        return _unusable(wish, wrong)
    if against.cuda and own and wish.name.startswith("CUDA_"):
        return _missed(wish)
    return Outcome((wish,))


PGLE_HINT = (
    "`jaxgpu-tune pgle record --to FILE -- COMMAND` takes a profile without it, for `pgle use FILE` and pgle=FILE."
)


def _refused(wish: Wish, code: str, reason: str, hint: str) -> Outcome:
    """What is set already stays, and is told."""
    stated = f"{wish.name}={wish.value}"
    if wish.origin == "existing":
        return Outcome((wish,), (), (Finding(code, "warning", f"{stated} is set already: {reason}.", hint),))
    told = Finding(code, "warning", f"{stated} is not set: {reason}.", hint)
    return wish.left_out("unmet", reason, told)


def _why_no_more(wishes: tuple[Wish, ...], prefer: str, observation: Observation) -> str:
    """Of both names of the fraction the one that wins counts."""
    mine = sorted((w for w in wishes if w.name in MEMORY), key=lambda wish: RANKS[prefer][wish.origin])
    if not mine:
        return ""
    from .unified import why_not_beyond

    in_force = {FRACTION_NAMES[0] if w.name in FRACTION_NAMES else w.name: str(w.value or "") for w in mine}
    return why_not_beyond(in_force, observation.machine)


def _too_much(wish: Wish, why: str) -> Outcome:
    message = f"{shown(wish)} ({wish.source}): {UNIFIED} with a fraction above 1 asks for more memory than the GPU has, and {why}."
    return wrong_argument(BadSetting, "bad-variable", message, f"Leave out {UNIFIED}, and the fraction above 1.")


def _missed(wish: Wish) -> Outcome:
    reason = "torch.cuda has started CUDA in this process, which has read its variables"
    message = f"{wish.name}={wish.value} is not set: {reason}."
    told = Finding("cuda-started", "warning", message, "Call configure() before torch first uses a GPU.")
    return Outcome((), (wish.decided(wish.emitted, "late", reason),), (told,))


def _no_texts(value: Any) -> list[str]:
    if value is None:
        return []
    names = value if isinstance(value, Mapping) else (pair.partition(":")[0] for pair in value.split(";"))
    return sorted(NO_TEXTS.intersection(name.strip() for name in names))


def _unusable(wish: Wish, names: list[str]) -> Outcome:
    """An option with which no GPU client starts does not leave, whoever set it."""
    reason = f"the CUDA client takes no text for {', '.join(names)} and would not start"
    hint = "Use memory_fraction=, preallocate= and their like, or the variables XLA_PYTHON_CLIENT_…"
    told = Finding("client-options", "error", f"{wish.name} is left out: {reason}.", hint)
    return wish.left_out("dropped" if wish.origin == "existing" else "unmet", reason, told)


def _why_no_pgle(facts: Facts, environ: Mapping[str, str]) -> str:
    if facts.jaxlib is not None and matches(LOSES_COSTS, facts.jaxlib):
        return f"jaxlib {facts.jaxlib} loses the costs when it joins the profiles, which 0.4.31 fixes"
    tools = sorted(name for name, value in environ.items() if value and acts(name, "profiles"))
    if tools:
        return f"{tools[0]} tells of a tool that profiles this process, and CUPTI serves one at a time"
    if facts.processes != 1:
        count = "an unknown number of" if facts.processes is None else str(facts.processes)
        return f"this job has {count} processes, in which profiles for AutoPGLE have ended and stalled jobs"
    return ""


def _why_no_guard(values: Mapping[str, Any]) -> str:
    if values.get(NO_JIT) is True:
        return f"with {NO_JIT} every constant is a transfer, which it would refuse"
    checks = [name for name in NO_NANS if values.get(name) is True]
    return f"with {checks[0]} every result is fetched to be looked at, which it would refuse" if checks else ""


def _in_force(wishes: Iterable[Wish], prefer: str) -> dict[str, Any]:
    options = sorted((w for w in wishes if w.kind == "jax_config"), key=lambda wish: RANKS[prefer][wish.origin])
    return {wish.name: wish.value for wish in options}


def check_options(found: Settled) -> Iterator[Finding]:
    """Findings about the options that will be in force, and about every path."""
    values = found.options
    yield from _profile_of_another_kind(found.flags.get(PROFILE_FLAG, ""))
    yield from _unexpanded("xla_flag", found.flags)
    yield from _unexpanded("env", found.variables)
    yield from _unexpanded("jax_config", values)
    yield from _strange_platforms(values)
    folder = values.get(CACHE_OPTION)
    if values.get(EXPECT_OPTION) is True and not folder:
        message = f"{EXPECT_OPTION} is on without {CACHE_OPTION}: there is no cache to find the optimized programs in."
        yield Finding("pgle-needs-cache", "error", message, "Pass compilation_cache= with the profile run's directory.")
    if not isinstance(folder, str):
        return
    if folder and values.get(CACHE_SWITCH) is False and CACHE_SWITCH in found.inherited:
        message = f"{CACHE_OPTION}={folder}, and {CACHE_SWITCH} is off: JAX neither fills the cache nor reads it."
        yield Finding(
            "cache-off", "warning", message, f"Take out {CACHE_SWITCH.upper()}, or your jax.config.update() of it."
        )
    if "://" in folder and values.get(XLA_CACHES) not in ("none", ""):
        message = f"{CACHE_OPTION}={folder}: XLA's own files in the cache cannot be written to an address."
        yield Finding("cache-address", "warning", message, f'Set {XLA_CACHES} to "none" (jax 0.4.36 and newer).')


def _unexpanded(kind: SettingKind, values: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in values.items():
        if isinstance(value, str) and "://" not in value and re.search(UNEXPANDED, value):
            stated = written(kind, name, shown_value(name, value) if kind == "env" else value)
            message = f"{stated} is taken as it stands: what reads it replaces neither ~ nor variables."
            yield Finding("unexpanded-path", "warning", message, "Write the whole path.")


def _profile_of_another_kind(path: str) -> Iterator[Finding]:
    """XLA looks at the ending alone, and goes on without a profile (gpu_hlo_schedule.cc)."""
    ending = re.search(r"\.[A-Za-z][A-Za-z_-]*$", path)
    if ending and ending[0] not in PROFILE_ENDINGS:
        message = f"--{PROFILE_FLAG}={path}: XLA reads files that end in .pbtxt or .pb, or a directory of them, and passes over any other in silence."
        hint = "`jaxgpu-tune pgle inspect FILE` tells what a file is, `jaxgpu-tune pgle convert` makes a profile of it."
        yield Finding("pgle-profile-unread", "warning", message, hint)


def _strange_platforms(values: Mapping[str, Any]) -> Iterator[Finding]:
    listed = {name: value for name, value in values.items() if name.startswith("jax_platform") and value}
    for option, value in listed.items():
        from ...knowledge.real_names import elsewhere
        from ..settings.platforms import strange_names

        names = strange_names(value)
        if names:
            message = f"{option}={value} names {', '.join(names)}, which jax itself does not know: without a plugin that registers it, JAX does not start."
            others = [f"{name} is {real.what}." for name in names if (real := elsewhere(name))]
            hint = " ".join([*others, "jax knows cpu, cuda, rocm, tpu; for NVIDIA's GPUs say cuda."])
            yield Finding("unknown-platform", "warning", message, hint)
