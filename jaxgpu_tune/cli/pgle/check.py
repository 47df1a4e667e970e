"""``jaxgpu-tune pgle check [FILE] -- COMMAND…``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ...model import Finding
from ..call_options import plan_arguments
from ..measuring import BUDGET, PAIRS, SECONDS, TIMEOUT, lengths
from ..output import FOUND, INTERRUPTED, print_json, show
from ..parameters import COMMAND, JSON
from .shared import PLANNED, PROFILE, profiles_at, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...measure.comparison import Comparison
    from ...measure.protocol import Arm


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    PROFILE,
    *PLANNED,
    PAIRS,
    SECONDS,
    TIMEOUT,
    BUDGET,
    JSON,
    COMMAND,
)
EXAMPLES = (
    ("jaxgpu-tune pgle check model.pb --preset fsdp -- python train.py", "whether the profile is used, and pays"),
    ("jaxgpu-tune pgle check -- python train.py", "the same of JAX's own way (AutoPGLE)"),
)
LISTEN = {"TF_CPP_MIN_LOG_LEVEL": "0"}
MEASURED = ("pairs", "seconds", "timeout", "budget")


def command(file: str | None, program: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Tell whether PGLE engages and whether it pays: COMMAND runs in turns without and with it.

    With FILE: with that profile, or with FOLDER, of profiles by fingerprint; without: with AutoPGLE. What XLA said of the profile is told with the verdict, which
    stands only if six pairs of runs agree. Each run is ended once its steps are measured.
    """
    from ...arms import arms_of
    from ...measure.compare import compare_programs
    from ...measure.doubts import EMPTY_VARIANT
    from ...measure.protocol import Protocol
    from ...render.text import findings_text
    from ..progress import listener

    how = _how(file)
    measured = {name: given.pop(name) for name in MEASURED}
    preset = given.pop("preset")
    variants = {preset: {"preset": preset}, f"{preset} + PGLE": {"preset": preset, "pgle": how}}
    plain, guided = arms_of(variants, program, os.environ, **plan_arguments(given))
    plain = plain._replace(findings=tuple(one for one in plain.findings if one.code != EMPTY_VARIANT))
    protocol = Protocol(measured["pairs"], **lengths(measured))
    with tempfile.TemporaryDirectory(prefix="jaxgpu-tune-", ignore_cleanup_errors=True) as place, listener() as told:
        found = compare_programs((plain, _heard(guided)), protocol, folder=place, listener=told)
        engaged = _engaged(Path(place), automatic=not file) if found.ended != "interrupted" else ()
    if as_json:
        print_json({"comparison": found.to_dict(), "findings": engaged})
    else:
        show(str(found))
        if engaged:
            show(findings_text(engaged))
    return _status(found, engaged)


def _how(file: str | None) -> Any:
    """What ``pgle=`` takes. Raises BadSetting for a profile that cannot be read."""
    from ...pgle.recording import obstacles

    if not file:
        refuse(obstacles(os.environ))
        return "auto"
    path = Path(file).absolute()
    profiles_at(path)
    return path


def _status(found: Comparison, engaged: tuple[Finding, ...]) -> int:
    if found.ended == "interrupted":
        return INTERRUPTED
    return FOUND if found.reference.status != "ok" or any(one.severity == "error" for one in engaged) else 0


def _heard(arm: Arm) -> Arm:
    """The same, with XLA telling of profiles in its output, which a run of a comparison keeps."""
    return arm._replace(environ={**LISTEN, **arm.environ})


def _engaged(place: Path, *, automatic: bool) -> tuple[Finding, ...]:
    """What XLA said in the last run with the profile; a run without one says nothing of profiles."""
    from ...pgle.words import findings_of, recording_findings

    outputs = sorted(place.rglob("output.txt"), key=lambda path: path.stat().st_mtime)
    lines = [path.read_text(errors="replace").splitlines() for path in outputs]
    spoken = [one for one in lines if any("PGLE" in line or "from the profile" in line for line in one)]
    return (recording_findings if automatic else findings_of)(spoken[-1] if spoken else [])
