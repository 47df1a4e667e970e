"""The closed vocabulary of conditions that a ``when`` table may use.

``planning/base/conditions.py`` implements each; a test holds that the two name the same conditions.
"""

from __future__ import annotations

from typing import Any, Literal

from ..wording import did_you_mean
from .versions import is_specifier

__all__ = ["CONDITIONS", "when_problems"]

Demand = Literal["range", "bool", "platform"]


CONDITIONS: dict[str, Demand] = {
    "jaxlib": "range",
    "nccl": "range",
    "compute_capability": "range",
    "devices": "range",
    "local_gpus": "range",
    "processes": "range",
    "hosts": "range",
    "nvlink": "bool",
    "platform": "platform",
}
"""Each condition and the form of what it demands.

``jaxlib``: the installed version. ``nccl``: the version of the NCCL that JAX would load. ``compute_capability``: of every GPU of this process, such as "==9.0" or ">=8.0".
``devices``: GPUs of the whole job. ``local_gpus``: GPUs of this process. ``processes``, ``hosts``: of the job.
``nvlink``: whether all GPUs of this process reach each other by NVLink. ``platform``: "cuda" or "cpu".
"""

PLATFORMS = ("cuda", "cpu")
_WANTED = {
    "range": 'a range in quotes, such as ">=0.5.0,<0.7.2", "==9.0" or ">=2"',
    "bool": "true or false",
    "platform": '"cuda" or "cpu"',
}


def when_problems(when: Any, key: str = "when") -> tuple[str, ...]:
    """Say what is wrong with a table of conditions, one sentence each; empty if nothing is. ``key``: what the table is called."""
    if not isinstance(when, dict):
        return (f'{key} = {when!r} is not a table of conditions, such as {{ jaxlib = ">=0.5.0" }}.',)
    return tuple(problem for name, demand in when.items() if (problem := _problem(key, name, demand)))


def _problem(key: str, name: str, demand: Any) -> str:
    if name not in CONDITIONS:
        return f"{key}.{name}: no such condition; allowed: {', '.join(CONDITIONS)}. {did_you_mean(name, CONDITIONS)}".rstrip()
    form = CONDITIONS[name]
    return "" if _fits(form, demand) else f"{key}.{name} = {demand!r} is not valid; allowed: {_WANTED[form]}."


def _fits(form: Demand, demand: Any) -> bool:
    if form == "range":
        return is_specifier(demand)
    return isinstance(demand, bool) if form == "bool" else demand in PLATFORMS
