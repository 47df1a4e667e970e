"""``jaxgpu-tune migrate --to VERSION [TEXT]`` and ``--file FILE``."""

from __future__ import annotations

import os
import sys
from functools import cache, partial

from ..values import jsonable
from .output import FOUND, exit_code, print_json, say, tell
from .parameters import JSON, Argument, Option
from .release import checked_version
from .text_files import AS, kind_of, read_as, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model import Migration
    from ..planning.files.rewrite import Change, Rewritten

    Restate = Callable[[str | None], Callable[[str], Migration]]


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("text", "[TEXT]...", many=True, completes="flag"),
    Option("release", "--to", "text", "The jaxlib to write for; by default the installed one.", "VERSION"),
    Option("files", "--file", "many", "Print a patch of this file instead; may be repeated.", "FILE"),
    AS,
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune migrate --to 0.11.2 -- --xla_gpu_graph_level=0", "one text"),
    ("jaxgpu-tune migrate --to 0.11.2 --file Dockerfile --file train.py > upgrade.patch", "files, as a patch"),
    ("jaxgpu-tune migrate --to 0.11.2 --file job.yaml | patch -p0", "and put it in place (or: git apply -p0)"),
)


def command(text: tuple[str, ...], release: str | None, files: tuple[str, ...], kind: str | None, as_json: bool) -> int:
    """Print TEXT (default: the environment's XLA_FLAGS) in the words of another jaxlib; stdout is that text only.

    With --file it prints a patch of a file: shell scripts, Dockerfiles, YAML (Kubernetes, Compose), Python, notebooks, .env
    files, Makefiles, Apptainer definitions, JSON, TOML and Lua. Only flags that have to change are touched. What cannot be
    known, such as a value that is put together at run time, stays, and is named on stderr with its line (of a notebook: cell of
    code and line in it). Without --to a file that installs a release of jax itself (pip install jax==0.4.30) is written for
    that one.

    Exit code 1 if a flag stays in a file that the release does not have: it would end the process.
    """
    from ..api import migrate

    if release is not None:
        checked_version(release)
    said = text_of(text, files, "migrate")
    if files:
        return _patch(files, release, kind, as_json)
    found = migrate(os.environ.get("XLA_FLAGS", "") if said is None else said, release)
    if as_json:
        print_json(found)
    else:
        tell(found.findings)
        say(found.xla_flags)
    return exit_code(found.findings)


def _patch(files: tuple[str, ...], release: str | None, kind: str | None, as_json: bool) -> int:
    from ..flag_texts import migrator
    from ..render.patch import unified

    restate = cache(migrator)
    done = [_restated(name, kind, release, restate) for name in dict.fromkeys(files)]
    if as_json:
        print_json([_object(name, text, found) for name, text, found in done])
    else:
        patch = "".join(unified(name, text, found.text) for name, text, found in done)
        sys.stdout.flush()
        sys.stdout.buffer.write(patch.encode())
        for name, _, found in done:
            _tell(name, found)
    return FOUND if any(change.fatal for _, _, found in done for change in found.left) else 0


def _restated(name: str, said: str | None, release: str | None, restate: Restate) -> tuple[str, str, Rewritten]:
    """The file's name, its text, and the same for the release that is asked for, else for the one that it installs itself."""
    from ..planning.files.file_kinds import place_of
    from ..planning.files.pinned import pin_in
    from ..planning.files.rewrite import rewrite

    text = read_file(name)
    kind = kind_of(name, text, said)
    pin = None if release else pin_in(text)
    found = read_as(name, text, kind, partial(rewrite, migrate=restate(pin.jaxlib if pin else release)))
    if pin:
        why = f"{pin.package} {pin.version} is installed by this line, so the file is written for jaxlib {pin.jaxlib}."
        say(f"{place_of(text, kind, pin.at).of(name)}: {why} For another release pass --to VERSION.", sys.stderr)
    return name, text, found


def _tell(name: str, found: Rewritten) -> None:
    for change in found.changes:
        say(f"{change.place.of(name)}: {change.before} -> {change.after or '(nothing)'}: {change.why}", sys.stderr)
    for change in found.left:
        left = "left as it is, would end the process" if change.fatal else "left as it is"
        say(f"{change.place.of(name)}: {left}: {change.before}: {change.why}", sys.stderr)


def _object(name: str, text: str, found: Rewritten) -> dict[str, object]:
    from ..render.patch import unified

    patch = unified(name, text, found.text)
    return {"file": name, "patch": patch, "changes": _objects(found.changes), "left": _objects(found.left)}


def _objects(changes: Iterable[Change]) -> list[dict[str, object]]:
    """The place of each as keys of its own."""
    return [{**told.pop("place"), **told} for told in map(jsonable, changes)]
