"""Machines from JSON: what ``Machine.to_dict()`` writes, or a few lines by hand. A missing key is unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .errors import BadSetting
from .model import Finding, Gpu, Machine, Processes
from .wording import did_you_mean

__all__ = ["machine_from_dict"]

Rule = tuple[Callable[[Any], bool], str]

PHASES = ("not-imported", "imported", "started")
MOST_GPUS = 1024
LONGEST_VERSION = 200


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _indices(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_count, value))


def _capability(value: Any) -> bool:
    return _text(value) and re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", value) is not None


def _version(value: Any) -> bool:
    return _text(value) and value[:1].isdecimal() and len(value) < LONGEST_VERSION


def _versions(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_text(k) and _version(v) for k, v in value.items())


TEXT: Rule = (_text, "text")
VERSION: Rule = (_version, 'a version such as "0.11.2"')
NUMBER: Rule = (_count, "a whole number, at least 0")
YES_NO: Rule = (_flag, "true or false")
GPU_KEYS: dict[str, Rule] = {
    "index": NUMBER,
    "uuid": TEXT,
    "name": TEXT,
    "compute_capability": (_capability, 'text such as "9.0"'),
    "memory_bytes": NUMBER,
    "free_bytes": NUMBER,
    "mig": YES_NO,
    "nvlink_peers": (_indices, "a list of GPU indices"),
    "compute_mode": TEXT,
    "vgpu": YES_NO,
    "display": YES_NO,
    "count": (lambda value: _count(value) and 1 <= value <= MOST_GPUS, f"a whole number from 1 to {MOST_GPUS}"),
}
PROCESS_KEYS: dict[str, Rule] = {
    "rank": NUMBER,
    "local_rank": NUMBER,
    "count": NUMBER,
    "local_count": NUMBER,
    "launcher": TEXT,
    "local_device_ids": (_indices, "a list of GPU indices"),
}
MACHINE_KEYS: dict[str, Rule] = {
    "gpus": (lambda value: isinstance(value, (list, tuple)), "a list of tables"),
    "driver": TEXT,
    "cuda_driver": TEXT,
    "nccl": TEXT,
    "jax": VERSION,
    "jaxlib": VERSION,
    "plugins": (_versions, "a table of distributions and versions"),
    "libraries": (_versions, "a table of distributions and versions"),
    "wsl": YES_NO,
    "phase": (lambda value: value in PHASES, ", ".join(PHASES)),
    "processes": (lambda value: isinstance(value, Mapping), "a table"),
}


def machine_from_dict(data: Mapping[str, Any]) -> Machine:
    """The machine that ``data`` describes. Raises BadSetting with every unknown key and every wrong value."""
    problems = tuple(_problems(data))
    if problems:
        raise BadSetting.of(Finding("bad-machine", "error", f"machine: {problem}") for problem in problems)
    known = {name: value for name, value in data.items() if value is not None}
    gpus = known.pop("gpus", None)
    processes = _with_tuple(known.pop("processes", {}), "local_device_ids")
    return Machine(gpus=None if gpus is None else tuple(_gpus(gpus)), processes=Processes(**processes), **known)


def _gpus(tables: list[Mapping[str, Any]]) -> Iterator[Gpu]:
    index = 0
    for table in tables:
        values = _with_tuple({name: value for name, value in table.items() if name in Gpu._fields}, "nvlink_peers")
        for _ in range(table.get("count") or 1):
            yield Gpu(**{"index": index, **values} if "count" not in table else {**values, "index": index})
            index += 1


def _with_tuple(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {**table, key: tuple(table[key])} if table.get(key) is not None else dict(table)


def _problems(data: Any) -> Iterator[str]:
    if not isinstance(data, Mapping):
        yield f"{data!r} is not a table of facts such as {{'gpus': […], 'jaxlib': '0.11.2'}}."
        return
    yield from _wrong(data, MACHINE_KEYS, "")
    gpus = data.get("gpus")
    for number, gpu in enumerate(gpus if isinstance(gpus, (list, tuple)) else ()):
        yield from _wrong(gpu, GPU_KEYS, f"gpus[{number}].")
    if isinstance(data.get("processes"), Mapping):
        yield from _wrong(data["processes"], PROCESS_KEYS, "processes.")


def _wrong(table: Any, rules: Mapping[str, Rule], where: str) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"{where.rstrip('.')} = {table!r} is not a table."
        return
    for key, value in table.items():
        if key not in rules:
            yield f"{where}{key}: no such key; allowed: {', '.join(rules)}. {did_you_mean(str(key), rules)}".rstrip()
        elif value is not None and not rules[key][0](value):
            yield f"{where}{key} = {value!r} is not valid; allowed: {rules[key][1]}."
