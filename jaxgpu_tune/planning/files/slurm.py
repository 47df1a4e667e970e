"""The GPUs that a job script asks SLURM for: what it sets is meant for that many, wherever the script is looked at."""

from __future__ import annotations

import re
import shlex

from ...model import Finding, Gpu, Machine
from ...values import Value
from ...wording import FOR_THE_JOB, counted

__all__ = ["Job", "job_in"]

LINE = re.compile(r"#SBATCH\s(.*)")
OPTION = re.compile(
    r"^(?:--(gres|gpus|gpus-per-node|gpus-per-task|nodes|ntasks|ntasks-per-node)[=\n]|-([GNn])\n?)(.+)$", re.MULTILINE
)
"""In the words of a line, each on a line of its own."""
LONG = {"G": "gpus", "N": "nodes", "n": "ntasks"}
GRES = re.compile(r"(?:^|,)(?:gres[/:])?gpu(?::[^:,(]*[^\d:,(][^:,(]*)?(?::(\d+))?(?=$|[,(])")
"""As in gpu:8, gpu:h100:8 and gpu:1080ti:8; without a number it is one."""
COUNT = re.compile(r"(?:^|,)(?:[^:,]+:)?(\d+)(?=$|[,-])")
"""As in 8 and h100:8; the least of a range such as 2-4."""


class Job(Value):
    """What a script asks for, and where it says so. ``devices``: GPUs of the whole job; ``own``: those that a process sees."""

    at: int
    devices: int
    own: int

    def on(self, machine: Machine) -> Machine:
        """The machine, with the job's GPUs where it shows none: their kind is unknown."""
        return machine if machine.gpus else machine._replace(gpus=tuple(Gpu(index=n) for n in range(self.own)))

    def finding(self, here: int) -> Finding:
        """What is said of it. ``here``: how many GPUs are seen."""
        seen = f"{counted(here, 'GPU')} {'is' if here == 1 else 'are'} seen here" if here else "no GPU is seen here"
        message = f"The job asks for {counted(self.devices, 'GPU')}, so the file is judged for that many; {seen}."
        return Finding("judged-for-job", "note", message, f"Which kind of GPU it gets is not known. {FOR_THE_JOB}")


def job_in(text: str) -> Job | None:
    """The GPUs that the lines #SBATCH ask for; None where they ask for none, or for several jobs in one."""
    at, asked = None, dict[str, str]()
    for line in re.finditer(r".*\n?", text):
        if line[0].strip() and not line[0].startswith("#"):
            break  # SLURM reads no further
        found = LINE.match(line[0])
        told = (
            {name or LONG[letter]: value for name, letter, value in OPTION.findall(_words(found[1]))} if found else {}
        )
        if found and found[1].split()[:1] == ["hetjob"]:
            return None
        if any(name.startswith("g") for name in told):
            at = line.start()
        asked |= told
    numbers = {name: _number(name, value) for name, value in asked.items()}
    return None if at is None else _job(at, numbers)


def _words(line: str) -> str:
    """Without quotes and comments."""
    try:
        return "\n".join(shlex.split(line, comments=True))
    except ValueError:  # an open quote
        return "\n".join(line.split())


def _number(name: str, value: str) -> int:
    found = GRES.search(value) if name == "gres" else None
    return int(found[1] or 1) if found else sum(map(int, COUNT.findall(value))) if name != "gres" else 0


def _job(at: int, asked: dict[str, int]) -> Job | None:
    nodes = asked.get("nodes") or 1
    on_node = asked.get("gpus-per-node") or asked.get("gres")
    if on_node:
        return Job(at, nodes * on_node, on_node)
    each = asked.get("gpus-per-task")
    if each:
        return Job(at, each * (asked.get("ntasks") or nodes * (asked.get("ntasks-per-node") or 1)), each)
    total = asked.get("gpus")
    return Job(at, total, max(1, total // nodes)) if total else None
