"""``jaxgpu-tune pgle convert SOURCE… --to FILE``."""

from __future__ import annotations

from ..measuring import check_output
from ..output import exit_code, print_json, say, tell
from ..parameters import JSON, Argument, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...pgle.inspection import Match


__all__ = ["EXAMPLES", "PARAMETERS", "PERCENTILE", "command"]

PERCENTILE = Option("percentile", "--percentile", "number", "Of each cost over steps and runs.", "0-100", default=50)
PARAMETERS = (
    Argument("sources", "SOURCE...", many=True, required=True),
    Option("target", "--to", "text", "The profile to write: .pbtxt (text) or .pb (binary).", "FILE"),
    Option("program", "--program", "text", "HLO text of the compiled program, where SOURCE holds none.", "FILE"),
    Option("module", "--module", "text", "Of this program (default: the one that takes most time).", "NAME"),
    PERCENTILE,
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune pgle convert /tmp/trace --to model.pb", "a trace of JAX's profiler, all hosts of it"),
    ("jaxgpu-tune pgle convert rank0.sqlite rank1.sqlite --to model.pbtxt --program step.hlo.txt", "Nsight Systems"),
    ("jaxgpu-tune pgle convert run1.pb run2.pb run3.pb --to model.pb", "several runs: the median of each cost"),
)


def command(
    sources: tuple[str, ...],
    target: str | None,
    program: str | None,
    module: str | None,
    percentile: int,
    as_json: bool,
) -> int:
    """Make the profile that XLA reads from traces, exports of Nsight Systems, and other profiles.

    SOURCE is a trace of JAX's profiler (*.xplane.pb), what `nsys export --type sqlite` wrote, a folder of either, or
    a profile in whatever form. Files of one folder are the ranks of one run. Sources are only read. Without --to only
    the findings are told.
    """
    from ...pgle.convert import convert
    from ...pgle.profile_files import checked_target, write_profile
    from ...pgle.program import read_program
    from ...pgle.sidecar import Sidecar, write_sidecar

    file = checked_target(target) if target else None
    check_output("--to", target)
    found = convert(sources, percentile, module, read_program(program) if program else None)
    if file:
        write_profile(found.profile, file)
        known = found.module or None
        write_sidecar(file, Sidecar(found.profile.digest, known, percentile=percentile, runs=found.runs))
    tell(found.findings)
    if as_json:
        print_json({"written": str(file) if file else None, **found._asdict(), "profile": len(found.profile.costs)})
    else:
        where = f" -> {file}" if file else ""
        say(f"{len(found.profile.costs)} instructions of {found.module or 'a program'}, runs: {found.runs}{where}")
        if found.match:
            say(f"It knows {len(found.match.found)} of the {_wanted(found.match)} that the scheduler looks up.")
    return exit_code(found.findings)


def _wanted(match: Match) -> int:
    return len(match.found) + len(match.missing)
