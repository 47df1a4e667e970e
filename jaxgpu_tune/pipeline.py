"""The stages in order, from an observation to a report; and the plan that the installed binaries were asked about.

observe -> know -> select -> merge -> check -> report. Observing comes before this module and applying after it (``api``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .errors import BadFlagValue, BadSetting, JaxGpuTuneError, ProbeFailed, UnknownFlag, UnknownPreset
from .host.detect import MACHINE_FILE
from .host.observe import relevant
from .host.packages import installed_versions
from .knowledge.presets import owner_of
from .model import Decision, Finding, Machine, Observation, Preset, Report
from .planning.base.wish import Problem
from .planning.composing import compose
from .planning.draft import Draft, Sight, drafted
from .planning.findings.plan_hazards import clashes
from .planning.findings.unfit_installs import misfits, shadowed, shared_flags
from .planning.findings.whole import of_settings, of_surroundings
from .planning.in_force import InForce, Settled, in_force
from .planning.merging.assemble import environ_changes, left_alone, option_values
from .planning.merging.inherit import unlisted_flags
from .planning.release.target import Target, target_of
from .planning.request import Request, check_switch, is_off, raise_problems
from .planning.select import advised
from .planning.settings.setting_names import CACHE_OPTION, DATA_DIR
from .planning.xla_flags.grammar import FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .knowledge.installs import InstallFault


__all__ = ["composed", "make_plan", "on_this_disk", "plan_here", "with_findings"]

FOLDERS = (CACHE_OPTION, DATA_DIR)
CONFLICTS = frozenset(
    (
        "bad-flag-value",
        "bad-variable",
        "flag-translated",
        "help-flag",
        "not-an-xla-flag",
        "overruled",
        "tpu-flag",
        "unknown-flag",
        "unknown-option",
    )
)
STRICT_ERRORS: dict[str, type[JaxGpuTuneError]] = {
    "unknown-flag": UnknownFlag,
    "flag-translated": UnknownFlag,
    "bad-flag-value": BadFlagValue,
}


def plan_here(request: Request, observation: Observation) -> Report:
    """The plan, with the installed binaries' word where it is needed, and what this host's disk says of the cache."""
    if observation.layers:
        from .planning.layers import recalled

        request = recalled(request, observation.layers, observation.named)
    report = with_findings(probed_plan(request, observation), check_switch(observation.environ))
    report = on_this_disk(report, described=request.machine is not None)
    if not is_off(observation.environ):
        return report
    from .planning.findings.conditional import conditional

    return conditional(report)


def on_this_disk(report: Report, *, described: bool = False) -> Report:
    """The report, and whether the folders that will be in force can be used, unless another machine is ``described``."""
    if described or MACHINE_FILE in report.inputs["environ"]:
        return report
    in_force = {d.name: d.value for d in report.decisions if d.name in FOLDERS and d.status in ("set", "kept")}
    if report.machine.gpus is None:
        report = with_findings(report, [_silent_driver()])
    return with_findings(report, _of_folders(in_force, report.machine)) if in_force else report


def _silent_driver() -> Finding:
    message = "An NVIDIA device is here, but its driver does not answer, or not in time (NVML): which GPUs can be used is unknown, and what depends on them counts as not met."
    return Finding(
        "gpus-unknown", "warning", message, "Run nvidia-smi: after an update of the driver a restart is needed."
    )


def _of_folders(in_force: Mapping[str, str | None], machine: Machine) -> Iterable[Finding]:
    from .host import compilation_cache, cuda_folder

    yield from compilation_cache.cache_folder_findings(in_force.get(CACHE_OPTION))
    yield from cuda_folder.cuda_folder_findings(in_force.get(DATA_DIR), machine)


def probed_plan(request: Request, observation: Observation) -> Report:
    """The plan, and where the build is in no table (or ``probe=True``) the installed binary's own word on it."""
    target = target_of(observation.machine)
    unsure = any(finding.code == "unknown-build" for finding in target.findings)
    if request.probe is False or not (unsure or request.probe):
        return make_plan(request, observation)
    if observation.machine.jaxlib != installed_versions().jaxlib:
        return with_findings(
            make_plan(request, observation), [_not_installed(observation.machine)] if request.probe else []
        )
    try:
        return _settled(request, observation, target)
    except ProbeFailed as failed:
        if request.probe:
            raise
        return with_findings(make_plan(request, observation), failed.findings)


def _settled(request: Request, observation: Observation, target: Target) -> Report:
    """Ask about the flags that no table has, then about each plan, until nothing new is refused."""
    from .host.probe import probe

    unlisted = dict(unlisted_flags(request, observation, target))
    accepted = frozenset(unlisted) - probe(" ".join(unlisted.values())).refused
    refused: frozenset[str] = frozenset()
    while True:
        report = make_plan(request, observation, refused=refused, accepted=accepted)
        answer = probe(report.xla_flags)
        if answer.refused <= refused:
            return with_findings(report, answer.findings) if answer.findings else _asked(report)
        refused |= answer.refused


def _asked(report: Report) -> Report:
    hint = "The installed binaries were asked: they accept what is set."
    findings = (f._replace(hint=hint) if f.code == "unknown-build" else f for f in report.findings)
    return report._replace(findings=tuple(findings))


def _not_installed(machine: Machine) -> Finding:
    message = f"The plan is for jaxlib {machine.jaxlib}, which is not installed here, so no binary was asked."
    return Finding("not-probed", "warning", message, "Plan where it is installed, or leave out probe=True.")


def make_plan(
    request: Request,
    observation: Observation,
    preset: Preset | None = None,
    refused: frozenset[str] = frozenset(),
    accepted: frozenset[str] = frozenset(),
) -> Report:
    """know -> select -> merge -> check -> report: the stages in order, each from values to values.

    ``preset``: instead of the request's, to look at what is set and not at what is installed.
    ``refused`` and ``accepted``: what the installed binaries said of flags, against or beyond the tables.
    """
    looks_around = preset is None
    request, preset = (request, preset) if preset else composed(request)
    sight = Sight(observation, preset, refused, accepted, looks_around)
    draft = drafted(_holding(request, InForce((request.platform,) if request.platform else ())), sight)
    ours = {wish.name for wish in draft.wishes if wish.origin == "preset" and owner_of(wish.source)}
    held = in_force(draft.settled)._replace(clashing=clashes(draft.settled, draft.facts, ours))
    if held != draft.request.held:
        draft = drafted(_holding(request, held), sight)
    raise_problems(draft.problems)
    findings = tuple(dict.fromkeys(_found(draft, sight)))
    if request.strict:
        _raise_strict(findings)
    return _reported(request, observation, draft, findings)


def _holding(request: Request, held: InForce) -> Request:
    return request._replace(held=held, platform="cpu" if held.cpu else request.platform)


def _reported(request: Request, observation: Observation, draft: Draft, findings: tuple[Finding, ...]) -> Report:
    decisions, release = draft.decisions, draft.target.jax_release
    changed = option_values(draft.wishes, decisions, observation.jax_config or ())
    environ = environ_changes(draft.wishes, decisions, draft.flags, changed, observation.environ, release)
    alone = left_alone(observation.unread, decisions)
    return Report(
        preset=request.preset,
        machine=observation.machine,
        xla_flags=draft.flags,
        environ={name: text for name, text in environ.items() if name not in alone},
        jax_config=changed,
        decisions=decisions,
        findings=findings,
        inputs={"arguments": request.arguments, "environ": relevant(observation, decisions)},
    )


def _found(draft: Draft, sight: Sight) -> Iterable[Finding]:
    """Everything that is to be said of the plan, and of the machine if that is looked at."""
    request, found, facts, observation = draft.request, draft.settled, draft.facts, sight.observation
    yield from observation.notes
    yield from request.notes
    yield from _misfits(request, observation) if sight.looks_around else ()
    yield from _avoided(draft.faults, found, draft.target, observation.machine)
    yield from draft.target.findings
    yield from draft.outcome.findings
    yield from _unread(observation, draft.decisions)
    yield from of_settings(found, facts, request, observation, draft.target)
    yield from of_surroundings(found, observation, request) if sight.looks_around else ()
    yield from shared_flags(observation, draft.flags if sight.looks_around else observation.environ.get(FLAGS, ""))
    yield from advised(draft.preset, facts)


def composed(request: Request) -> tuple[Request, Preset]:
    """The request's preset; one that cannot be had is a problem of the request, told with its others."""
    try:
        return request, compose(request.preset, request.named.presets)
    except (UnknownPreset, BadSetting) as wrong:
        found = (Problem(finding, type(wrong)) for finding in wrong.findings if request.preset)
        return request._replace(problems=(*request.problems, *found)), Preset(request.preset, "", "user")


def _misfits(request: Request, observation: Observation) -> Iterable[Finding]:
    """What of the installed packages, the driver and the GPUs does not fit together, whatever is set."""
    machine = observation.machine
    return (*misfits(machine, for_cpu=request.platform == "cpu"), *shadowed(machine, observation.cuda_folders))


def _avoided(faults: tuple[InstallFault, ...], found: Settled, target: Target, machine: Machine) -> Iterable[Finding]:
    """Whether what is in force avoids each of them."""
    if faults:
        from .planning.findings.faults import check_faults

        yield from check_faults(faults, found, target, machine)


def _unread(observation: Observation, decisions: tuple[Decision, ...]) -> Iterable[Finding]:
    """The variables that were changed after jax had read them."""
    if observation.unread:
        from .planning.findings.changed_unread import unread_findings

        yield from unread_findings(observation.unread, observation.environ, decisions)


def _raise_strict(findings: Iterable[Finding]) -> None:
    from .planning.findings.conditional import would

    wrong = [would(finding) for finding in findings if finding.severity == "error" or finding.code in CONFLICTS]
    raise_problems(Problem(finding, STRICT_ERRORS.get(finding.code, BadSetting)) for finding in wrong)


def with_findings(report: Report, findings: Iterable[Finding]) -> Report:
    """The report with more findings after its own."""
    return report._replace(findings=(*report.findings, *findings))
