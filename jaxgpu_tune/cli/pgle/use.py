"""``jaxgpu-tune pgle use [FILE] -- COMMAND…``."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import JaxGpuTuneError
from ...model import Finding, Report
from ...planning.settings.setting_names import CACHE_OPTION, EXPECT_OPTION
from ...wording import bad_argument
from ..output import tell
from ..parameters import COMMAND, JSON
from .shared import CACHE, PLANNED, PROFILE, plan_of, profiles_at, refuse, root_of, setup_of, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...pgle.cost_profile import CostProfile


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (PROFILE, *PLANNED, CACHE, JSON, COMMAND)
EXAMPLES = (
    ("jaxgpu-tune pgle use model.pb --preset fsdp -- python train.py", "compile with a profile"),
    ("jaxgpu-tune pgle use -- nsys profile python train.py", "run what `pgle record -- python train.py` optimized"),
)


def command(file: str | None, program: tuple[str, ...], store: str | None, as_json: bool, **given: Any) -> int:
    """Run COMMAND with a profile, and prove that it was used.

    FILE is a profile (.pb, .pbtxt) or a folder of them by fingerprint. Without FILE the executables are used that
    `pgle record -- COMMAND` left. What XLA said of it is told at the end, on stderr; the exit code is the command's
    own.
    """
    if file == "":
        raise bad_argument("The name of the profile is empty.")
    return _with_file(file, program, as_json, given) if file else _with_cache(program, store, as_json, given)


def _with_file(file: str, program: tuple[str, ...], as_json: bool, given: dict[str, Any]) -> int:
    from ...pgle.relay import run_heard
    from ...pgle.words import findings_of

    path = Path(file).absolute()
    profiles = profiles_at(path)
    report, environ = plan_of(given, pgle=path)
    folder = _cache_folder(report, environ)
    if folder:  # its keys hold the profile's path and not its content
        digest = "-".join(one.digest for one in profiles.values())[:33]
        report, environ = plan_of(given, pgle=path, compilation_cache=os.path.join(folder, f"pgle-{digest}"))
    now = setup_of(report, program)
    refuse(report.findings)
    tell((*report.findings, *_age(path, profiles, now)))
    heard = run_heard(program, environ)
    told(findings_of(heard.lines), as_json=as_json, lines=heard.lines)
    return heard.code


def _age(path: Path, profiles: Mapping[str, CostProfile], now: Any) -> Iterator[Finding]:
    from ...pgle.sidecar import stale

    for name, profile in profiles.items():
        file = path if not name else next(one for one in (path / f"{name}.pbtxt", path / f"{name}.pb") if one.exists())
        yield from stale(file, profile, now)


def _cache_folder(report: Report, environ: dict[str, str]) -> str:
    """The compilation cache that is in force."""
    return environ.get(CACHE_OPTION.upper()) or str(report.jax_config.get(CACHE_OPTION) or "")


def _with_cache(program: tuple[str, ...], store: str | None, as_json: bool, given: dict[str, Any]) -> int:
    from ...pgle.recording import refusals
    from ...pgle.relay import run_heard
    from ...pgle.store import recorded, why_none
    from ...pgle.words import cache_findings

    root = root_of(store)
    plain, _ = plan_of(given)
    now = setup_of(plain, program)
    found = recorded(root, now)
    if found is None:
        raise JaxGpuTuneError.of([why_none(root, now)])
    report, environ = plan_of(given, pgle="expect", compilation_cache=found.folder)
    refuse((*refusals(report, EXPECT_OPTION), *report.findings))
    tell(report.findings)
    heard = run_heard(program, environ)
    told(cache_findings(heard.lines), as_json=as_json, folder=str(found.folder), lines=heard.lines)
    return heard.code
