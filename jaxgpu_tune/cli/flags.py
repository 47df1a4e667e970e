"""``jaxgpu-tune flags --jaxlib V --grep X``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ..knowledge.flags import FlagSpec, flags, resolve
from .options import json_option
from .output import print_json

__all__ = ["command"]


@click.command("flags")
@click.option("--jaxlib", metavar="VERSION", help="Of this jaxlib instead of the installed one.")
@click.option("--grep", "pattern", metavar="REGEX", default="", help="Only flags whose name matches.")
@json_option
def command(jaxlib: str | None, pattern: str, as_json: bool) -> None:
    """List XLA's flags as a jaxlib has them: name, type and default."""
    found = list(_matching(_release(jaxlib), pattern))
    if as_json:
        print_json([_object(spec) for spec in found])
    elif found:
        from ..render.table import table
        from ..render.text import terminal_width

        rows = [(f"--{spec.name}", spec.type, spec.default or "(empty)") for spec in found]
        click.echo("\n".join(table([("flag", "type", "default"), *rows], terminal_width())))


def _release(version: str | None) -> str:
    """The known release that stands for the version asked for or installed; says so where it is not the same."""
    if version is None:
        from ..api import detect

        version = detect().jaxlib
    if version is None:
        raise click.UsageError("no jaxlib is installed here; name a release with --jaxlib")
    found = resolve(version)
    if not found.exact:
        click.echo(f"jaxlib {version} is in no table; these are the flags of {found.release}.", err=True)
    return found.release


def _matching(release: str, pattern: str) -> Iterator[FlagSpec]:
    import re

    try:
        wanted = re.compile(pattern.removeprefix("--"))
    except re.error as error:
        raise click.BadParameter(f"--grep {pattern!r} is no regular expression: {error}.") from error
    return (spec for name, spec in flags(release).items() if wanted.search(name))


def _object(spec: FlagSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "type": spec.type,
        "default": spec.default,
        "compile_option": spec.compile_option,
        "accepted": list(spec.members),
    }
