"""``jaxgpu-tune doctor``."""

from __future__ import annotations

import os
import platform

from ..host.marker import MARKER
from ..model import Finding
from ..values import jsonable
from ..wording import bad_argument, by_severity
from .output import exit_code, library_version, print_json, show
from .parameters import JSON, Argument, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model import Report
    from ..planning.findings.diagnose import Started


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("preset", "[PRESET]", default="auto", completes="preset"),
    Option("start", "--start", "switch", "Let a child process start JAX, and see where it runs (takes GPU memory)."),
    Option("seconds", "--seconds", "number", "How long that may take.", "N", default=60),
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune doctor", "what keeps JAX from the GPU in this environment"),
    ("jaxgpu-tune doctor --start", "the same, and try it"),
    ("jaxgpu-tune doctor decode", "with what to do for such a program beyond settings"),
    ("jaxgpu-tune doctor --json > report.json", "for a bug report: no secrets in it"),
)


def command(preset: str, start: bool, seconds: int, as_json: bool) -> int:
    """Tell on one screen why JAX is slow, on the CPU, or about to die here; exit code 1 if it is.

    Looks at the GPUs and their driver, the installed packages, memory, XLA_FLAGS and what else is set. With PRESET it tells
    what that would set, and what else it advises. JAX is not imported. The output is fit for a bug report: passwords,
    tokens and the name of the home folder are masked.
    """
    from ..api import plan
    from ..flag_texts import checked, with_outcome

    if seconds < 1:
        raise bad_argument(f"--seconds {seconds} is not valid; allowed: whole numbers of at least 1.")
    report = plan(preset)
    trial = _trial(seconds) if start else None
    mended, read = checked()
    mended = mended._replace(findings=tuple(with_outcome(one, read.ends) for one in mended.findings))
    findings = _findings(report, mended, trial)
    given = mended.inputs["environ"]
    changed = sorted(name for name, value in mended.environ.items() if value != given.get(name))
    told = {**_told(report, findings, trial), "mended": changed}
    if as_json:
        print_json(told)
    else:
        from ..render.doctor import doctor_text

        show(doctor_text(told))
    return exit_code(findings)


def _trial(seconds: int) -> Started:
    from ..host.surroundings import try_start

    return try_start(seconds)


def _findings(report: Report, mended: Report, trial: Started | None) -> tuple[Finding, ...]:
    """What surrounds JAX, what is set as it is now, without any preset, and what the preset advises."""
    from ..host.detect import MACHINE_FILE
    from ..host.surroundings import surroundings
    from ..planning.findings.diagnose import diagnose, graver

    around = None if os.environ.get(MACHINE_FILE) else surroundings(os.environ)
    advice = (finding for finding in report.findings if finding.code == "advice")
    found = (*graver((*diagnose(report.machine, os.environ, around, trial), *mended.findings)), *advice)
    return tuple(by_severity(found))


def _told(report: Report, findings: tuple[Finding, ...], trial: Started | None) -> dict[str, Any]:
    from ..planning.base.secrets import masked
    from ..render.parts import label, machine_facts

    environ = {name: value for name, value in report.inputs["environ"].items() if name != MARKER}
    told = {
        "ok": exit_code(findings) == 0,
        "findings": jsonable(findings),
        "facts": machine_facts(report.machine),
        "software": [
            f"jaxgpu_tune {library_version()}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
        ],
        "start": jsonable(trial),
        "environ": environ,
        "preset": report.preset,
        "sets": [label(decision) for decision in report.decisions if decision.status == "set"],
        "machine": report.machine.to_dict(),
    }
    return dict(masked(told, os.path.expanduser("~")))
