"""``jaxgpu-tune pgle inspect FILE``."""

from __future__ import annotations

from ..output import print_json, show, tell
from ..parameters import JSON, Argument, Option
from .shared import profiles_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...pgle.inspection import Match, Summary


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("file", "FILE|FOLDER", required=True),
    Option("program", "--program", "text", "Tell what of this program is missing (HLO text).", "FILE"),
    Option("longest", "--longest", "number", "So many of the longest entries.", "N", default=10),
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune pgle inspect model.pb", "how many entries, how long, what they were taken with"),
    ("jaxgpu-tune pgle inspect model.pb --program step.hlo.txt", "and what of the program is missing"),
)


def command(file: str, program: str | None, longest: int, as_json: bool) -> int:
    """Tell what is in a profile: entries, times, what it was taken with; with --program what XLA will miss.

    FILE is a profile, or a folder of profiles by fingerprint.
    """
    from ...pgle.inspection import match_findings, matched, summary
    from ...pgle.program import read_program
    from ...pgle.sidecar import read_sidecar

    profiles = profiles_at(file)
    known = read_program(program) if program else None
    chosen = {name: one for name, one in profiles.items() if known is None or name in ("", known.fingerprint)}
    summaries = {name: summary(one, longest) for name, one in chosen.items()}
    matches = {name: matched(one, known) for name, one in chosen.items()} if known else {}
    findings = [f for name, one in matches.items() if known for f in match_findings(one, chosen[name], known)]
    sidecar = read_sidecar(file)
    if as_json:
        shown = {name: {"summary": one, "match": matches.get(name)} for name, one in summaries.items()}
        print_json({"profiles": shown, "taken_with": sidecar, "findings": findings})
        return 0
    for name, one in summaries.items():
        show("\n".join(_lines(name or file, one, matches.get(name))))
    if known and not chosen:
        show(f"No profile of the fingerprint {known.fingerprint} is in {file}.")
    if sidecar:
        show("\n".join(f"{name}: {value}" for name, value in sidecar._asdict().items() if value is not None))
    tell(findings)
    return 0


def _lines(name: str, one: Summary, match: Match | None) -> Iterator[str]:
    yield f"{name}: {one.entries} entries"
    yield f"  computing:     {one.computing:5} instructions, {one.computing_us:12.1f} us (each counted once)"
    yield f"  communicating: {one.communicating:5} instructions, {one.communicating_us:12.1f} us"
    if one.fingerprints:
        yield f"  bound to the fingerprint {', '.join(one.fingerprints)}: XLA drops them for any other program"
    yield from (f"  {us:12.1f} us  {entry}" for entry, us in one.longest)
    if match:
        yield f"  of {match.program}: {len(match.found)} instructions found, {len(match.missing)} missing"
        yield from (f"    missing {entry}" for entry in match.missing[:20])
