"""A text of flags, or variables as a file sets them: what is wrong with them, what XLA makes of it, and the same intent for another release."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from .asking import observe_fresh
from .host.looked_up import preset_files
from .host.observe import observe
from .model import Finding, Machine, Migration, Preset, Report
from .pipeline import make_plan, on_this_disk, with_findings
from .planning.findings.conditional import conditional
from .planning.merging.assemble import ordered
from .planning.merging.inherit import read_flags
from .planning.release.target import target_of
from .planning.request import PRESET, Request, check_own, make_request
from .planning.settings.from_arguments import texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .planning.release.reading import Reading


__all__ = ["checked", "checker", "migrator", "with_outcome"]

FATAL_TO_XLA = frozenset({"unknown-flag", "flag-translated"})
MENDER = "configure()"
"""Who mends what a check only tells of."""
NOTHING = Preset("none", "Nothing beyond what is set already.", "maintained")


def checked(
    xla_flags: str | None = None, jaxlib: str | None = None, machine: Machine | None = None
) -> tuple[Report, Reading]:
    """The plan that only mends what is set, with the findings of ``check``; and what XLA makes of the text as it stands.

    The latter tells where the faults are, and what to write instead.
    """
    given = dict(os.environ) if xla_flags is None else texts("xla_flags", {"XLA_FLAGS": xla_flags})
    report, read = _judged(given, jaxlib, make_request()._replace(machine=machine))
    return on_this_disk(report, described=machine is not None), read


def checker(
    jaxlib: str | None = None, machine: Machine | None = None, devices: int | None = None
) -> Callable[[Mapping[str, str]], tuple[Finding, ...]]:
    """The findings of ``check`` for many environments, as files set them; they may be meant for other hosts' disks.

    The machine is looked at once, unless one is given. ``devices``: of the whole job.
    """
    request = make_request()._replace(machine=machine, devices=devices)
    request = request._replace(machine=observe_fresh(request, {}, jaxlib).machine)

    def check(environ: Mapping[str, str]) -> tuple[Finding, ...]:
        report, read = _judged(texts("environ", environ), jaxlib, request)
        return tuple(with_outcome(finding, read.ends) for finding in report.findings)

    return check


def with_outcome(finding: Finding, ends: str) -> Finding:
    """What XLA does as it stands, where only what to write instead is said (https://github.com/jax-ml/jax/issues/25430)."""
    flag = finding.message.partition(" ")[0]
    if finding.code != "flag-translated" or not flag.startswith("--") or flag not in ends.split():
        return finding
    return finding._replace(message=f"{finding.message} As it stands, XLA ends the process on it.")


def _judged(given: Mapping[str, str], jaxlib: str | None, request: Request) -> tuple[Report, Reading]:
    from .planning.release.reading import reading

    observation = observe_fresh(request, given, jaxlib)
    report = make_plan(request, observation, NOTHING)
    report = with_findings(report, check_own(given, preset_files(given.get(PRESET, ""))))
    findings = conditional(report, MENDER).findings
    told = tuple(f._replace(severity="error") if _is_fatal(f) else f for f in findings)
    read = reading(observation, target_of(observation.machine), report.xla_flags)
    if read.ends and not any(f.severity == "error" for f in told):
        message = f"As it stands, XLA ends the process on this text: {read.ends}"
        told = (Finding("ends-the-process", "error", message, "Write what the other findings say."), *told)
    return report._replace(findings=told), read


def _is_fatal(finding: Finding) -> bool:
    """Whether XLA ends the process on it; jax passes over a variable of an option that it does not have."""
    return finding.code in FATAL_TO_XLA and not finding.message.startswith("jax_")


def migrator(to: str | None = None, machine: Machine | None = None) -> Callable[[str], Migration]:
    """``migrate`` for many texts: the machine is looked at once, unless one is given."""
    from .planning.release.migrate import restated

    machine = observe_fresh(make_request()._replace(machine=machine), {}, to).machine
    machine = machine._replace(nccl=None)  # what a text means hangs on the release, not on what is installed beside it
    target = target_of(machine)

    def restate(xla_flags: str) -> Migration:
        observation = observe(texts("xla_flags", {"XLA_FLAGS": xla_flags}), machine, live=False)
        renewed = [restated(flag, target) for flag in read_flags(observation, target).flags]
        changed = tuple(decision for one in renewed for decision in one.decisions)
        found = tuple(finding for one in renewed for finding in one.findings)
        if changed:
            text = " ".join(text for one in renewed for text in one.texts)
            observation = observation._replace(environ={"XLA_FLAGS": text}, flag_file=None)
        report = make_plan(make_request(), observation, NOTHING)
        return Migration(report.xla_flags, ordered((*changed, *report.decisions)), (*found, *report.findings))

    return restate
