"""``jaxgpu-tune flags --jaxlib V --grep X``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from ..knowledge.flag_spec import FlagSpec
from ..knowledge.flags import flags
from ..wording import bad_argument
from .call_options import JAXLIB
from .output import print_json, say, show
from .parameters import JSON, Argument, Option
from .release import release_of

__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("names", "[NAME]...", many=True, completes="name"),
    JAXLIB,
    Option("pattern", "--grep", "text", "Only flags whose name matches.", "REGEX", default=""),
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune flags --grep combine_threshold", "what the installed jaxlib has"),
    ("jaxgpu-tune flags --jaxlib 0.5.1 --json", "every flag of a release: name, type, default, compile_option"),
)


def command(names: tuple[str, ...], jaxlib: str | None, pattern: str, as_json: bool) -> int:
    """List XLA's flags as a jaxlib has them: name, type and default. With NAME: only those with it in their name."""
    release = release_of(jaxlib)
    found = list(_matching(release, names, pattern))
    if as_json:
        print_json([_object(spec) for spec in found])
    elif found:
        from ..render.table import table
        from ..render.text import terminal_width

        rows = [(f"--{spec.name}", spec.type, spec.default or "(empty)") for spec in found]
        show("\n".join(table([("flag", "type", "default"), *rows], terminal_width())))
    else:
        wanted = " ".join((*names, *([pattern] if pattern else [])))
        say(f"No flag of jaxlib {release} matches {wanted!r}; names are in lower case.", sys.stderr)
    return 0


def _matching(release: str, names: Sequence[str], pattern: str) -> Iterator[FlagSpec]:
    import re

    parts = [name.lstrip("-").partition("=")[0] for name in names] or [""]

    try:
        wanted = re.compile(pattern.removeprefix("--"))
    except re.error as error:
        raise bad_argument(f"--grep {pattern!r} is no regular expression: {error}.") from error
    return (
        spec for name, spec in flags(release).items() if wanted.search(name) and any(part in name for part in parts)
    )


def _object(spec: FlagSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "type": spec.type,
        "default": spec.default,
        "compile_option": spec.compile_option,
        "accepted": list(spec.members),
    }
