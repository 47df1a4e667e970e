"""``jaxgpu-tune check [TEXT]``."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial

from ..values import jsonable
from .call_options import JAXLIB, MACHINE, machine_named
from .environment import tell_without_gpus
from .output import exit_code, print_json, say
from .parameters import JSON, Argument, Option
from .text_files import AS, kind_of, read_as, read_file, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Machine
    from ..planning.files.file_faults import LineFault
    from ..planning.files.slurm import Job

    Reader = Callable[[str, str], tuple[LineFault, ...]]


__all__ = ["EXAMPLES", "PARAMETERS", "command"]

PARAMETERS = (
    Argument("text", "[TEXT]...", many=True, completes="flag"),
    Option("files", "--file", "many", "Check what this file sets instead; may be repeated.", "FILE"),
    AS,
    JAXLIB,
    MACHINE,
    JSON,
)
EXAMPLES = (
    ("jaxgpu-tune check", "what is wrong with the XLA_FLAGS of this shell"),
    ("jaxgpu-tune check --jaxlib 0.11.2 -- '--xla_gpu_graph_level=0'", "a text of your own, for another jaxlib"),
    ("jaxgpu-tune check --file train.sh --file Dockerfile", "what scripts and images set"),
    ("jaxgpu-tune check --file job.sh --machine node.json", "on a login node, for the GPUs that the job gets"),
)


def command(
    text: tuple[str, ...],
    files: tuple[str, ...],
    kind: str | None,
    jaxlib: str | None,
    machine: str | None,
    as_json: bool,
) -> int:
    """Say what is wrong with TEXT as XLA_FLAGS (default: the environment's), and what to write instead.

    Shows where the fault is, what XLA makes of it (it ends the process, or stops reading without a word), and the text
    that says what was meant. Without TEXT the other variables that JAX, XLA, NCCL and CUDA read are checked, too.

    --file does the same for what a file sets, with the line: scripts, Dockerfiles, Makefiles, YAML, Python, notebooks
    and whatever else `migrate` reads. Of a notebook it names the cell of code, counted from 1, and the line in it. It
    names the flags that are lost where a later line sets XLA_FLAGS anew. In Python and notebooks it also finds what is
    set after JAX has started, and what takes the place of what configure() has set. A value that is put together when
    the file runs is named, not judged. A file that installs a release of jax itself (pip install jax==0.4.30) is judged
    for that one, unless --jaxlib is given. A job script that asks SLURM for GPUs (#SBATCH --gpus-per-node=8) is judged for
    that many, unless --machine is given.

    Exit code 1 if XLA would end the process, or if what is set would not count as it stands.
    """
    from ..flag_texts import checked

    said = text_of(text, files, "check")
    other = machine_named(machine) if machine else None
    if files:
        return _files(files, kind, jaxlib, other, as_json)
    report, read = checked(said, jaxlib, other)
    tell_without_gpus(report.machine, described=other is not None, platforms=os.environ.get("JAX_PLATFORMS"))
    if as_json:
        print_json(report.findings)
    else:
        from ..render.reading import reading_lines
        from ..render.text import findings_lines, terminal_width

        width = terminal_width()
        say("\n".join([*reading_lines(read, width), *findings_lines(report.findings, width)]) or "Nothing is wrong.")
    return exit_code(report.findings)


def _files(names: tuple[str, ...], kind: str | None, jaxlib: str | None, other: Machine | None, as_json: bool) -> int:
    from ..host.detect import detect_machine, machine_file

    described = other is not None or machine_file(os.environ) is not None
    machine = other or detect_machine({}, live=False)
    reader = cache(partial(_reader, machine))
    found = [
        (name, one) for name in dict.fromkeys(names) for one in _of_file(name, kind, jaxlib, machine, described, reader)
    ]
    if {name for name, one in found if one.finding.code == "judged-for-job"} != {*names}:
        tell_without_gpus(machine, described=described)
    if as_json:
        print_json([{"file": name, **jsonable(one.place), **jsonable(one.finding)} for name, one in found])
    else:
        from ..render.text import findings_text

        at = (one.finding._replace(message=f"{one.place.of(name)}: {one.finding.message}") for name, one in found)
        say(findings_text(at) or "Nothing is wrong.")
    return exit_code(one.finding for _, one in found)


def _of_file(
    name: str,
    said: str | None,
    jaxlib: str | None,
    machine: Machine,
    described: bool,
    reader: Callable[[str | None, Job | None], Reader],
) -> tuple[LineFault, ...]:
    """For the release and the GPUs that are asked for, else for those that the file itself names, else for those here."""
    from ..knowledge.flags import resolve
    from ..planning.files.file_faults import LineFault
    from ..planning.files.file_kinds import place_of
    from ..planning.files.pinned import pin_in
    from ..planning.files.slurm import job_in

    text = read_file(name)
    kind = kind_of(name, text, said)
    pin, job = None if jaxlib else pin_in(text), None if described else job_in(text)
    found = read_as(name, text, kind, reader(pin.jaxlib if pin else jaxlib, job))
    here, seen = resolve(machine.jaxlib).release if machine.jaxlib else None, len(machine.gpus or ())
    notes = [(pin.at, pin.finding(here))] if pin and pin.jaxlib != here else []
    notes += [(job.at, job.finding(seen))] if job and job.devices != seen else []
    return *(LineFault(place_of(text, kind, at), note) for at, note in notes), *found


def _reader(machine: Machine, jaxlib: str | None, job: Job | None) -> Reader:
    from ..flag_texts import checker, migrator
    from ..planning.files.file_faults import file_faults

    judged = job.on(machine) if job else machine
    check = checker(jaxlib, judged, job.devices if job else None)
    return partial(file_faults, check=check, migrate=migrator(jaxlib, judged))
