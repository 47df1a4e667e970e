"""Whether a setting's ``when`` table holds for the facts of a machine and a job. What is unknown is not met."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...knowledge.versions import matches
from ...knowledge.vocabulary import when_problems
from ...values import Value
from ...wording import capital

__all__ = ["EVALUATORS", "ConditionAnswer", "Facts", "all_met", "evaluate", "when_problems"]


class Facts(Value):
    """What conditions may ask about; None: could not be learned.

    ``compute_capabilities`` are those of this process's GPUs ("9.0"), empty where there is no GPU; ``devices`` counts
    the GPUs of the whole job, ``local_gpus`` those of this process; ``nvlink`` says whether all of this process's GPUs
    reach each other by NVLink; ``nccl`` is the version that JAX would load.
    """

    jaxlib: str | None = None
    compute_capabilities: tuple[str, ...] | None = None
    devices: int | None = None
    local_gpus: int | None = None
    nvlink: bool | None = None
    processes: int | None = None
    hosts: int | None = None
    platform: str | None = None
    nccl: str | None = None


class ConditionAnswer(Value):
    """One condition's answer: ``met`` is None where the fact is unknown, and then counts as not met."""

    condition: str
    met: bool | None
    sentence: str


def evaluate(when: Mapping[str, Any], facts: Facts) -> tuple[ConditionAnswer, ...]:
    """Return the verdict on each condition, in the table's order. Raises ValueError for a table that is not valid."""
    problems = when_problems(dict(when))
    if problems:
        raise ValueError(" ".join(problems))
    return tuple(EVALUATORS[name](demand, facts) for name, demand in when.items())


def all_met(when: Mapping[str, Any], facts: Facts) -> bool:
    """Whether every condition is met; what is unknown is not."""
    return all(verdict.met is True for verdict in evaluate(when, facts))


def jaxlib(demand: str, facts: Facts) -> ConditionAnswer:
    """Judge whether the installed jaxlib's version lies in the range."""
    return _in_range("jaxlib", demand, facts.jaxlib, "the version of jaxlib", f"jaxlib {facts.jaxlib}")


def nccl(demand: str, facts: Facts) -> ConditionAnswer:
    """Judge whether the version of the NCCL that JAX would load lies in the range."""
    return _in_range("nccl", demand, facts.nccl, "the version of NCCL", f"NCCL {facts.nccl}")


def compute_capability(demand: str, facts: Facts) -> ConditionAnswer:
    """Judge whether every GPU's compute capability lies in the range; GPUs that differ are judged by the least able."""
    found = facts.compute_capabilities
    if found is None:
        return _unknown("compute_capability", demand, "the GPUs' compute capability")
    if not found:
        return ConditionAnswer(
            "compute_capability", False, f"There is no GPU, so none has compute capability {demand}."
        )
    wrong = [one for one in found if not matches(demand, one)]
    if wrong and len(set(found)) > 1:
        return ConditionAnswer(
            "compute_capability",
            False,
            f"The GPUs differ (compute capability {', '.join(sorted(set(found)))}), and {wrong[0]} does not meet {demand}.",
        )
    return _verdict("compute_capability", demand, not wrong, f"Compute capability {found[0]}")


def nvlink(demand: bool, facts: Facts) -> ConditionAnswer:
    """Judge whether all GPUs of this process reach each other by NVLink, or (false) not all do."""
    if facts.nvlink is None:
        return _unknown("nvlink", str(demand).lower(), "whether NVLink joins the GPUs")
    sentence = (
        "NVLink joins all GPUs of this process" if facts.nvlink else "NVLink does not join all GPUs of this process"
    )
    return _verdict("nvlink", str(demand).lower(), facts.nvlink == demand, sentence)


def platform(demand: str, facts: Facts) -> ConditionAnswer:
    """Judge whether JAX will run on this platform."""
    if facts.platform is None:
        return _unknown("platform", demand, "the platform")
    return _verdict("platform", demand, facts.platform == demand, f"The platform {facts.platform}")


def _counted(name: str, noun: str, where: str) -> Callable[[str, Facts], ConditionAnswer]:
    """What judges whether the number of something, which is the fact of the condition's name, lies in the range."""
    several = f"{noun}es" if noun.endswith("s") else f"{noun}s"

    def judge(demand: str, facts: Facts) -> ConditionAnswer:
        count = getattr(facts, name)
        value = None if count is None else str(count)
        subject = f"{count} {noun if count == 1 else several}{where}"
        return _in_range(name, demand, value, f"the number of {several}{where}", subject, several=count != 1)

    return judge


EVALUATORS: dict[str, Callable[[Any, Facts], ConditionAnswer]] = {
    "jaxlib": jaxlib,
    "nccl": nccl,
    "compute_capability": compute_capability,
    "devices": _counted("devices", "GPU", " in this job"),
    "local_gpus": _counted("local_gpus", "GPU", " in this process"),
    "processes": _counted("processes", "process", " in this job"),
    "hosts": _counted("hosts", "host", " in this job"),
    "nvlink": nvlink,
    "platform": platform,
}
"""The implementation of each condition of ``knowledge/vocabulary.py``."""


def _in_range(
    name: str, demand: str, value: str | None, what: str, subject: str, several: bool = False
) -> ConditionAnswer:
    if value is None:
        return _unknown(name, demand, what)
    try:
        return _verdict(name, demand, matches(demand, value), subject, several)
    except ValueError:
        return _unknown(name, demand, f"{what} ({value!r} is not readable)")


def _verdict(name: str, demand: str, met: bool, subject: str, several: bool = False) -> ConditionAnswer:
    verb = f"meet{'' if several else 's'}" if met else f"do{'' if several else 'es'} not meet"
    return ConditionAnswer(name, met, f"{subject} {verb} {name} {demand}.")


def _unknown(name: str, demand: str, what: str) -> ConditionAnswer:
    return ConditionAnswer(name, None, f"{capital(what)} is unknown, so {name} {demand} counts as not met.")
