"""``jaxgpu-tune pgle diff A B``."""

from __future__ import annotations

from ..output import print_json, show
from ..parameters import JSON, Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...pgle.inspection import ProfileDifference


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (Argument("before", "FILE", required=True), Argument("after", "FILE", required=True), JSON)
EXAMPLES = (("jaxgpu-tune pgle diff old.pb new.pbtxt", "whichever form each is of"),)
MOST = 20


def command(before: str, after: str, as_json: bool) -> int:
    """Compare two profiles: what only one has, and what takes longer or shorter, the largest change first."""
    from ...pgle.inspection import profile_difference
    from ...pgle.profile_files import read_profile

    found = profile_difference(read_profile(before), read_profile(after))
    if as_json:
        print_json(found)
    else:
        show("\n".join(_lines(found, before, after)) or "The same costs.")
    return 0


def _lines(found: ProfileDifference, before: str, after: str) -> Iterator[str]:
    for file, names in ((before, found.only_before), (after, found.only_after)):
        if names:
            yield f"only in {file}: {len(names)}"
            yield from (f"  {name}" for name in names[:MOST])
    if found.changes:
        yield f"changed: {len(found.changes)}"
    for name, old, new in found.changes[:MOST]:
        ratio = f"{new / old:6.2f}" if old else "   new"
        yield f"  {old:12.1f} us -> {new:12.1f} us  {ratio}  {name}"
