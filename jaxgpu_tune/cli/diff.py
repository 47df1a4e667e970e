"""``jaxgpu-tune diff V1 V2``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping

from .output import print_json, say, show
from .parameters import JSON, Argument, Option
from .release import release_of

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("old", "V1", required=True),
    Argument("new", "[V2]"),
    Option("mine", "--mine", "switch", "Only what touches the flags in XLA_FLAGS."),
    Option("everything", "--all", "switch", "The new flags too, each with what it does."),
    Option("text", "--flags", "text", "Only what touches the flags in this text.", "TEXT"),
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune diff 0.5.1 0.11.2", "what changed; with --all the new flags too"),
    ("jaxgpu-tune diff 0.5.1 0.11.2 --mine", "what an upgrade does to the XLA_FLAGS of this shell"),
    ("jaxgpu-tune diff 0.5.1 0.11.2 --flags='--xla_gpu_graph_level=0' --json", "for a script"),
)


def command(old: str, new: str | None, mine: bool, everything: bool, text: str | None, as_json: bool) -> int:
    """Tell what changed about XLA's flags from jaxlib V1 to V2 (default: the installed one).

    It lists the flags that vanished (and what to write instead), and those that mean something else or have another type,
    other values or another default; with --all also the new ones. It begins with counts, and with what concerns the flags
    that are set here. `jaxgpu-tune migrate` rewrites a text or a file.
    """
    from ..planning.release.changes import flag_changes
    from ..render.changes import changes_text

    before, after = release_of(old, exact=True), release_of(new, exact=True)
    only = (
        _flags_in({"XLA_FLAGS": text}, before) if text is not None else _flags_in(os.environ, before) if mine else None
    )
    found = flag_changes(before, after, only)
    if as_json:
        print_json(found)
    else:
        own = _flags_in(os.environ, before) if only is None else set()
        show(changes_text(found, (before, after), only=only, own=own, new_too=everything or only is not None))
        _tell_unknown(only or (), before, after)
    return 0


def _tell_unknown(names: Iterable[str], *releases: str) -> None:
    from ..knowledge.flags import flag

    unknown = sorted(f"--{name}" for name in names if not any(flag(name, release) for release in releases))
    if unknown:
        say(f"Neither of the two has {', '.join(unknown)}.", sys.stderr)


def _flags_in(environ: Mapping[str, str], release: str) -> set[str]:
    """The flags that are meant, also where they are written wrong."""
    from ..host.observe import observe
    from ..model import Machine
    from ..planning.merging.inherit import read_flags
    from ..planning.release.target import target_of

    observation = observe(environ, Machine(jaxlib=release), live=False)
    return {str(flag.name) for flag in read_flags(observation, target_of(observation.machine)).flags}
