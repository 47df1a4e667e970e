"""``jaxgpu-tune check [TEXT]``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ..values import jsonable
from .call_options import JAXLIB
from .output import exit_code, print_json, say
from .parameters import JSON, Argument, Option
from .text_files import AS, kind_of, read_as, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..planning.files.file_faults import LineFault

    Reader = Callable[[str, str], tuple[LineFault, ...]]


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("text", "[TEXT]...", many=True, completes="flag"),
    Option("files", "--file", "many", "Check what this file sets instead; may be repeated.", "FILE"),
    AS,
    JAXLIB,
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune check", "what is wrong with the XLA_FLAGS of this shell"),
    ("jaxgpu-tune check --jaxlib 0.11.2 -- '--xla_gpu_graph_level=0'", "a text of your own, for another jaxlib"),
    ("jaxgpu-tune check --file train.sh --file Dockerfile", "what scripts and images set"),
)


def command(text: tuple[str, ...], files: tuple[str, ...], kind: str | None, jaxlib: str | None, as_json: bool) -> int:
    """Say what is wrong with TEXT as XLA_FLAGS (default: the environment's), and what to write instead.

    Shows where the fault is, what XLA makes of it (it ends the process, or stops reading without a word), and the text
    that says what was meant. Without TEXT the other variables that JAX, XLA, NCCL and CUDA read are checked, too.

    --file does the same for what a file sets, with the line: scripts, Dockerfiles, Makefiles, YAML, Python, notebooks
    and whatever else `migrate` reads. Of a notebook it names the cell of code, counted from 1, and the line in it. It
    names the flags that are lost where a later line sets XLA_FLAGS anew. In Python and notebooks it also finds what is
    set after JAX has started, and what takes the place of what configure() has set. A value that is put together when
    the file runs is named, not judged. A file that installs a release of jax itself (pip install jax==0.4.30) is judged
    for that one, unless --jaxlib is given.

    Exit code 1 if XLA would end the process, or if what is set would not count as it stands.
    """
    from ..flag_texts import checked

    said = text_of(text, files, "check")
    if files:
        return _files(files, kind, jaxlib, as_json)
    report, read = checked(said, jaxlib)
    if as_json:
        print_json(report.findings)
    else:
        from ..render.reading import reading_lines
        from ..render.text import findings_lines, terminal_width

        width = terminal_width()
        say("\n".join([*reading_lines(read, width), *findings_lines(report.findings, width)]) or "Nothing is wrong.")
    return exit_code(report.findings)


def _files(names: tuple[str, ...], kind: str | None, jaxlib: str | None, as_json: bool) -> int:
    found = _faults(names, kind, jaxlib)
    if as_json:
        print_json([{"file": name, **jsonable(one.place), **jsonable(one.finding)} for name, one in found])
    else:
        from ..render.text import findings_text

        at = (one.finding._replace(message=f"{one.place.of(name)}: {one.finding.message}") for name, one in found)
        say(findings_text(at) or "Nothing is wrong.")
    return exit_code(one.finding for _, one in found)


def _faults(names: tuple[str, ...], kind: str | None, jaxlib: str | None) -> list[tuple[str, LineFault]]:
    reader = cache(_reader)
    return [(name, one) for name in dict.fromkeys(names) for one in _of_file(name, kind, jaxlib, reader)]


def _of_file(
    name: str, said: str | None, jaxlib: str | None, reader: Callable[[str | None], Reader]
) -> tuple[LineFault, ...]:
    """For the release that is asked for, else for the one that the file itself installs, else for the one here."""
    from ..planning.files.file_faults import LineFault
    from ..planning.files.file_kinds import place_of
    from ..planning.files.pinned import pin_in

    text = read_file(name)
    kind = kind_of(name, text, said)
    pin = None if jaxlib else pin_in(text)
    found = read_as(name, text, kind, reader(pin.jaxlib if pin else jaxlib))
    here = _here() if pin else None
    if pin is None or pin.jaxlib == here:
        return found
    return LineFault(place_of(text, kind, pin.at), pin.finding(here)), *found


def _reader(jaxlib: str | None) -> Reader:
    """The machine is looked at once for all files of a release."""
    from ..flag_texts import checker, migrator
    from ..planning.files.file_faults import file_faults

    return partial(file_faults, check=checker(jaxlib), migrate=migrator(jaxlib))


def _here() -> str | None:
    from ..api import detect
    from ..knowledge.flags import resolve

    installed = detect().jaxlib
    return resolve(installed).release if installed else None
