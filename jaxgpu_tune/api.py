"""The public functions, and observing before the plan and applying after it. The stages between are in ``pipeline``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from . import session
from .arguments import Arguments, Unpack
from .asking import caller, observe_fresh, request_of, spell_out
from .errors import BadSetting, UnknownFlag
from .flag_texts import checked, migrator
from .host import apply as writer
from .host.detect import detect_machine
from .host.looked_up import preset_files
from .host.processes import find_processes
from .knowledge.presets import all_presets
from .model import Explanation, Finding, Machine, Migration, Preset, Presets, Report
from .pipeline import plan_here, with_findings
from .planning.release.target import target_of
from .planning.request import PRESET, chosen_preset, is_off, make_request
from .planning.settings.from_arguments import bad, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .proof.verification import Verification


__all__ = [
    "check",
    "check_processes",
    "compiler_options",
    "configure",
    "detect",
    "environ",
    "explain",
    "migrate",
    "plan",
    "presets",
    "verify",
]

NAMED = 6
"""Names that are listed where one stands for many."""
LISTED = "`jaxgpu-tune flags WORD` lists the flags with WORD in their names, `jaxgpu-tune presets` the presets."


def configure(preset: str | os.PathLike[str] = "auto", **arguments: Unpack[Arguments]) -> Report:
    """Decide what serves this machine and workload, and set up this process, before JAX touches the GPU.

    Args:
        preset: The name of a preset, several joined by ``+`` (``"fsdp+reproducible"``), or the path of a TOML file.
        **arguments: Each by its name, as ``jaxgpu_tune.arguments.Arguments`` explains them: flags, env, jax_config, memory_fraction (0 to 1, or
            ``"auto"``), preallocate, allocator, processes_per_gpu, transfer_guard, compilation_cache, cuda_graphs, pgle,
            layer_bytes (bytes), platform, devices, prefer, strict, probe, late, unmeasured, machine.

    Returns:
        The report: one decision with its reason for each setting, and what else should be known. ``print(report)``.

    Raises:
        UnknownPreset, UnknownFlag, BadFlagValue, BadXlaFlags, BadSetting: An argument is wrong (all are ValueError).
            Several problems come as one BadSetting, which is a TypeError too if a name of an argument is wrong.
        TooLate: JAX's backend has started, and something could no longer take effect (a RuntimeError).

    Examples:
        >>> report = jaxgpu_tune.configure("fsdp", memory_fraction=0.9)
        >>> import jax
    """
    typed = preset == "auto" and session.is_typed(os.environ)
    files = preset_files(os.environ.get(PRESET, ""))
    chosen, overruled = (preset, ()) if typed else chosen_preset(os.environ, preset, files)
    return session.set_up(request_of(chosen, arguments)._replace(who=caller()), overruled)


def configure_as(who: str, preset: str, *, announced: bool = True, **arguments: Unpack[Arguments]) -> Report:
    """``configure()`` with what ``who`` was given by hand, which no variable overrides; ``announced``: as for ``set_up``."""
    return session.set_up(request_of(preset, arguments)._replace(who=who), announced=announced)


def announce(report: Report) -> None:
    """Tell a report's warnings and errors on the logger, where that was put off and it was not shown."""
    writer.announce(report.findings, report.machine.processes)


def plan(
    preset: str | os.PathLike[str] = "auto",
    *,
    environ: Mapping[str, str] | None = None,
    jaxlib: str | None = None,
    **arguments: Unpack[Arguments],
) -> Report:
    """The same decisions as ``configure()`` for a fresh process, applying nothing.

    Args:
        preset: As for ``configure()``.
        **arguments: As for ``configure()``.
        environ: The environment of that process, instead of the one here.
        jaxlib: Plan for this release instead of the installed one, such as ``"0.5.1"``.

    Returns:
        The report, with ``applied`` False.

    Raises:
        UnknownPreset, UnknownFlag, BadFlagValue, BadXlaFlags, BadSetting: As ``configure()``.
    """
    given = os.environ if environ is None else texts("environ", environ)
    request = request_of(preset, arguments, given)
    return plan_here(request, observe_fresh(request, given, jaxlib))


def environ(
    preset: str | os.PathLike[str] = "auto",
    *,
    base: Mapping[str, str] | None = None,
    jaxlib: str | None = None,
    **arguments: Unpack[Arguments],
) -> dict[str, str]:
    """The complete environment of a fresh process: for subprocess, srun, or a Ray runtime_env.

    Args:
        preset: As for ``configure()``.
        **arguments: As for ``configure()``.
        base: The environment to start from; by default ``os.environ``.
        jaxlib: For this release instead of the installed one.

    Returns:
        Every variable that the process is to have, not only what changed.

    Raises:
        UnknownPreset, UnknownFlag, BadFlagValue, BadXlaFlags, BadSetting: As ``configure()``.

    Examples:
        >>> subprocess.run(["python", "train.py"], env=jaxgpu_tune.environ("fsdp"))
    """
    report, final = fresh_environ(
        preset, os.environ if base is None else texts("base", base), jaxlib=jaxlib, **arguments
    )
    writer.announce(report.findings, report.machine.processes)
    return final


def fresh_environ(
    preset: str | os.PathLike[str],
    base: Mapping[str, str],
    *,
    here: bool = False,
    jaxlib: str | None = None,
    who: str = "environ()",
    **arguments: Unpack[Arguments],
) -> tuple[Report, dict[str, str]]:
    """The report, and the environment of a fresh process: ``base`` as it is under JAXGPU_TUNE=off, there or here, or if pinned.

    ``here``: the process runs on this machine, so that a plan for another jaxlib changes nothing either;
    ``jaxlib``: plan for that release instead of the installed one.
    """
    request = request_of(preset, arguments, base)._replace(who=who)
    observation = observe_fresh(request, base, jaxlib)
    report = plan_here(request, observation)
    why_not = (*(session.foreign(observation.machine, request) if here else ()), *session.held(base, report))
    if why_not or is_off({**os.environ, **base}):
        return with_findings(report, why_not), dict(base)
    return report, session.final_environ(observation, report, session.layers_with(request, observation.layers))


def verify() -> Verification:
    """Read back what took effect of the last configure() here, or of the parent that launched this process.

    Call it once the backend has started. It compiles at most one constant, runs nothing on a device and talks to no
    other process.

    Returns:
        A state for each setting, with the reason. Where nothing was applied it is not ``ok``, unless JAXGPU_TUNE is off.

    Raises:
        TooEarly: The backend has not started.
        BadSetting: After ``configure(strict=True)``: something proved ignored, overridden or overwritten, or JAX runs on
            the CPU by mistake. It holds every finding.
    """
    from .proof.verify import verify as read_back

    found = read_back(off=is_off(os.environ))
    writer.announce(found.findings, find_processes(os.environ))
    return found


def detect() -> Machine:
    """What is here: GPUs (without a CUDA context), driver, packages, how far JAX has started, processes. Never raises for facts."""
    return detect_machine(os.environ)


def presets() -> tuple[Preset, ...]:
    """Every preset that comes with the library, by name."""
    return Presets(all_presets())


def check(xla_flags: str | None = None, jaxlib: str | None = None) -> tuple[Finding, ...]:
    """What is wrong with a text of XLA flags (default: the environment's) for a jaxlib (default: the installed one)."""
    return checked(xla_flags, jaxlib)[0].findings


def check_processes(timeout: float = 60.0) -> tuple[Finding, ...]:
    """What differs between the processes of a job, and which of them did not come.

    Call it in every process, after ``jax.distributed.initialize()`` and before the first compile, at which a job of
    different processes hangs. It compares XLA_FLAGS, the variables that matter, jax.config, the kind of GPU and the
    versions of jax, jaxlib, plugins, NCCL and driver.

    Args:
        timeout: In seconds, from when process 0 comes. The others wait for process 0 as long.

    Returns:
        The findings, the same in all processes; empty where nothing differs.

    Raises:
        JaxGpuTuneError: ``initialize()`` was not called.
        BadSetting: The timeout is wrong.
    """
    from .proof.check_processes import check_processes as compare

    findings = compare(timeout)
    writer.announce(findings, find_processes(os.environ))
    return findings


def compiler_options(
    preset: str | os.PathLike[str] = "auto", *, jaxlib: str | None = None, **arguments: Unpack[Arguments]
) -> dict[str, Any]:
    """What of the plan acts per compile, for ``jax.jit(compiler_options=)``, in that surface's own names and values.

    Process-wide settings and what is set already are left out. For another machine it does not matter that JAX runs on
    the CPU here: it may compile for absent GPUs. As there is no report, warnings and errors go to the logger.

    Args:
        preset: As for ``configure()``.
        **arguments: As for ``configure()``.
        jaxlib: For this release instead of the installed one.

    Returns:
        The options by name; a profile (``pgle=FILE``) as its content, for this function alone. Empty before jaxlib 0.4.36, whose jit takes none, and under JAXGPU_TUNE=off.

    Raises:
        UnknownPreset, UnknownFlag, BadFlagValue, BadXlaFlags, BadSetting: As ``configure()``.

    Examples:
        >>> step = jax.jit(train_step, compiler_options=jaxgpu_tune.compiler_options("fsdp"))
    """
    from .pgle.per_function import with_profile
    from .planning.release.compile_options import compile_options

    request = request_of(preset, arguments)
    here = {name: text for name, text in os.environ.items() if name != "JAX_PLATFORMS"}
    observation = observe_fresh(request, here if session.is_described(request) else os.environ, jaxlib)
    report = session.for_one_function(request, observation)
    writer.announce(report.findings, report.machine.processes)
    options = {} if is_off(os.environ) else compile_options(report, target_of(observation.machine))
    return with_profile(options) if arguments.get("pgle") else options


def migrate(xla_flags: str, to: str | None = None) -> Migration:
    """The same intent for another jaxlib (default: the installed one): the text and what became of each flag."""
    return migrator(to)(xla_flags)


def explain(name: str, jaxlib: str | None = None) -> Explanation:
    """Everything known of a flag, variable, option, preset or candidate of ``tune``, and what holds for it here. Raises UnknownFlag for a name nobody knows."""
    from .knowledge.real_names import real_name
    from .planning.explain import as_set, closest_name, containing, name_alone
    from .planning.explain import explain as explain_name
    from .planning.select import facts_of

    if not isinstance(name, str):
        raise BadSetting.of([bad("name", name, "the name of a flag, a variable, an option or a preset")])
    request = make_request()
    machine = observe_fresh(request, os.environ, jaxlib).machine
    target = target_of(machine)
    files = preset_files(name_alone(name))
    found = explain_name(name, target, facts_of(machine, request), machine.gpus or (), files)
    if found is None:
        real, near, within = real_name(name), closest_name(name, target), containing(name, target)
        if real:
            raise UnknownFlag.of([Finding("unknown-name", "error", f"{name} is {real.what}.", real.instead)])
        listed = f"{', '.join(within[:NAMED])}{f' and {len(within) - NAMED} more' if len(within) > NAMED else ''}"
        hints = (f"Did you mean {near}?" if near else "", f"Names that hold it: {listed}." if within else "")
        hint = " ".join(filter(None, hints)) or LISTED
        raise UnknownFlag.of(
            [Finding("unknown-name", "error", f"{name!r} is no flag, variable, option or preset that is known.", hint)]
        )
    return as_set(found, os.environ)


for _function in (configure, plan, environ, compiler_options):
    spell_out(_function)
