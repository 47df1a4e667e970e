"""What one setting passes inside ``plan()``: functions, modules, rooms and forms, from where it is given to its decision.

``python -m tools.walk [--json] [--steps WALK] [--root CHECKOUT]`` plans for a fixed machine (tests/machines/h100x8.json) and watches one
setting on its way: a flag that XLA_FLAGS holds; the same, damaged; one of an older name; a flag of a preset; ``memory_fraction``.

A function is passed if one of its arguments, or what it returns or yields, holds the setting's name or value: as a text or
a number, as a field of one of the package's values, or as an item of a list of these. Mappings (an environment) and
what is whole (a request, a preset, a plan) are not looked into. A comprehension or a lambda is part of
the function that it stands in; what the values of ``values.py`` do by themselves is not counted.

For each walk: ``functions`` and ``modules`` until the first Decision about the setting is handed back, ``forms`` (types of the package's
values, of those with a value, that it takes until then), ``returns`` (how often a module that was left is entered again until then), ``judged`` (how
often the table of flags is asked whether its value passes), and all functions and modules of the ``whole`` call.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

FLAG, VALUE = "xla_gpu_collective_permute_decomposer_threshold", "123456789"
OLD, NEW = "xla_gpu_enable_address_computation_fusion", "xla_gpu_enable_dynamic_slice_fusion"
FRACTIONS = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "0.8125")
PRESET = f'[[set]]\nflag = "{FLAG}"\nvalue = {VALUE}\nreason = "to be seen"\n'
JUDGE = ("knowledge/flag_values.py", "refusal")
WHOLE = ("Chosen", "Draft", "Observation", "Preset", "Report", "Request", "Sight")


class Step(NamedTuple):
    """One function that holds the setting, as it is called or as it hands something back, and the types that hold it there.

    ``decides``: a decision is handed back, other than that another setting stands for it.
    """

    module: str
    function: str
    called: bool
    types: tuple[str, ...]
    decides: bool


class Walk(NamedTuple):
    """What one setting passes."""

    functions: int
    modules: int
    forms: tuple[str, ...]
    returns: int
    judged: int
    whole: tuple[int, int]


def calls(folder: Path) -> dict[str, tuple[tuple[str, ...], str, dict[str, Any]]]:
    """For each walk: the texts by which its setting is known, the preset, and the other arguments of ``plan()``."""
    mine = folder / "mine.toml"
    mine.write_text(PRESET, encoding="utf-8")
    return {
        "inherited flag": ((FLAG, VALUE), "fsdp", {"environ": {"XLA_FLAGS": f"--{FLAG}={VALUE}"}}),
        "damaged flag": ((FLAG, VALUE), "fsdp", {"environ": {"XLA_FLAGS": f"--{FLAG.replace('_', '-')} = {VALUE}"}}),
        "renamed flag": ((OLD, NEW), "fsdp", {"environ": {"XLA_FLAGS": f"--{OLD}=false"}}),
        "preset flag": ((FLAG, VALUE), str(mine), {"environ": {}}),
        "memory_fraction": (FRACTIONS, "fsdp", {"environ": {}, "memory_fraction": float(FRACTIONS[-1])}),
    }


def measured(root: Path) -> dict[str, list[Step]]:
    """The steps of each walk through the package that lies in a checkout."""
    sys.path.insert(0, str(root))
    import jaxgpu_tune  # the one of that checkout

    machine = json.loads((root / "tests" / "machines" / "h100x8.json").read_text(encoding="utf-8"))
    package = Path(str(jaxgpu_tune.__file__)).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, (marks, preset, arguments) in calls(Path(folder)).items():
            found[name] = watched(
                package, marks, lambda p=preset, a=arguments: jaxgpu_tune.plan(p, machine=machine, **a)
            )
    return found


def watched(package: Path, marks: tuple[str, ...], call: Callable[[], object]) -> list[Step]:
    """Every step of a call in which a function of the package holds what is known by the marks."""
    steps: list[Step] = []
    inside, entered = f"{package}{os.sep}", set[FrameType]()

    def look(frame: FrameType, event: str, given: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(inside) or code.co_name[0] == "<":
            return
        module, called = code.co_filename[len(inside) :], event == "call"
        if module == "values.py" or (called and frame in entered):
            return
        entered.add(frame)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        held = [frame.f_locals[name] for name in names if name in frame.f_locals] if called else [given]
        types = tuple(dict.fromkeys(one for value in held for one in holders(value, marks)))
        if types:
            steps.append(Step(module, function_name(frame), called, types, not called and decides(given)))

    call()  # what is read once is read before
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return steps


def decides(given: Any) -> bool:
    """Whether a value is a decision that stands, or holds one."""
    parts = given if isinstance(given, (list, tuple)) else (given, *getattr(given, "decisions", ()))
    return any(type(one).__name__ == "Decision" and one.status != "translated" for one in parts)


def function_name(frame: FrameType) -> str:
    """With the class of a method, as ``co_qualname`` of Python 3.11 says it."""
    code = frame.f_code
    owner = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
    return str(getattr(code, "co_qualname", f"{type(owner).__name__}.{code.co_name}" if owner else code.co_name))


def holders(value: Any, marks: tuple[str, ...]) -> Iterator[str]:
    """The type of a value that holds one of the marks, or of each item of a list that does."""
    if is_held(value, marks):
        yield type(value).__name__
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (type(one).__name__ for one in value if is_held(one, marks))


def is_held(value: Any, marks: tuple[str, ...]) -> bool:
    """Whether a plain value, a field of one of the package's, or plain values in a field are known by a mark."""
    fields = None if type(value).__name__ in WHOLE else getattr(type(value), "_fields", None)
    held = [getattr(value, name) for name in fields] if fields is not None else [value]
    return any(is_mark(one, marks) for field in held for one in (plain(field) if fields is not None else [field]))


def plain(field: Any) -> Iterator[Any]:
    """A field that is plain, or the plain items of a field of tuples."""
    if isinstance(field, tuple) and not hasattr(type(field), "_fields"):
        for one in field:
            yield from plain(one)
    elif not isinstance(field, Mapping):
        yield field


def is_mark(value: Any, marks: tuple[str, ...]) -> bool:
    """Whether a text holds a mark, or a number is one."""
    if isinstance(value, str):
        return any(mark in value for mark in marks)
    return isinstance(value, (int, float)) and str(value) in marks


def to_decision(steps: list[Step]) -> list[Step]:
    """The steps until the first Decision about the setting is handed back."""
    decided = (at for at, step in enumerate(steps) if step.decides)
    return steps[: next(decided, len(steps)) + 1]


def walk_of(steps: list[Step], forms: Iterable[str]) -> Walk:
    """The figures of the steps of one walk. ``forms``: the types that count as one."""
    way = to_decision(steps)
    taken = tuple(dict.fromkeys(one for step in way for one in step.types if one in forms))
    judged = sum(step.called and step[:2] == JUDGE for step in way)
    return Walk(*passed(way), taken, returns(way), judged, passed(steps))


def passed(steps: list[Step]) -> tuple[int, int]:
    """The number of functions, and of modules."""
    return len({step[:2] for step in steps}), len({step.module for step in steps})


def returns(steps: list[Step]) -> int:
    """How often a module is entered by a call that was entered and left before."""
    modules = [step.module for step in steps if step.called]
    stays = [one for at, one in enumerate(modules) if at == 0 or modules[at - 1] != one]
    return len(stays) - len(set(stays))


def with_value() -> set[str]:
    """The names of the package's types that hold the value of a setting: alone, or as what it stands for."""
    from jaxgpu_tune.values import Value

    types = list(Value.__subclasses__())
    for one in types:
        types += one.__subclasses__()
    return {one.__name__ for one in types if "value" in one._fields or one.__name__ == "Translation"}


def main(arguments: list[str]) -> None:
    """Print what each walk passes."""
    parser = argparse.ArgumentParser(prog="python -m tools.walk", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--steps", metavar="WALK", help="print the functions of that walk, in the order in which they are passed"
    )
    parser.add_argument(
        "--root", type=Path, default=Path.cwd(), help="the checkout that is measured; by default the one here"
    )
    asked = parser.parse_args(arguments)
    found = measured(asked.root.resolve())
    if asked.steps:
        print(*dict.fromkeys(f"{step.module} {step.function}" for step in to_decision(found[asked.steps])), sep="\n")
        return
    walks = {name: walk_of(steps, with_value()) for name, steps in found.items()}
    if asked.json:
        print(json.dumps({name: walk._asdict() for name, walk in walks.items()}, indent=1))
        return
    for name, walk in walks.items():
        print(
            f"{name}: {walk.functions} functions, {walk.modules} modules, {walk.returns} returns, judged {walk.judged} times,"
        )
        print(f"  forms: {', '.join(walk.forms)}; the whole call: {walk.whole[0]} functions, {walk.whole[1]} modules")


if __name__ == "__main__":
    main(sys.argv[1:])
