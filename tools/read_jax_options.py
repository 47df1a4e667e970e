"""Read every jax.config option off jax wheels, and merge it into ``knowledge/data/jax_options.json``.

    python -m tools.read_jax_options 0.12.0.1
    python -m tools.read_jax_options --all        # every release since the first supported one

A wheel of jax is Python text. Its option definitions are read by ``ast``; nothing of it is imported. The releases are fetched
with pip (2 to 3 MB each; the cache keeps only what this reader read). What is said of every other release stays, and the
difference is shown before it is written. Needs a Python that can parse the
newest jax (3.12 or newer).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from jaxgpu_tune.errors import JaxGpuTuneError

from .read_flags.wheels import UnknownReleaseError, Wheel, asked_of, chosen, download, order, releases_of
from .writing import compact, put

TARGET = Path(__file__).parents[1] / "jaxgpu_tune" / "knowledge" / "data" / "jax_options.json"
METHOD = "option definitions in the Python files of each jax wheel, read by ast; see tools/read_jax_options.py"
CACHE = Path(tempfile.gettempdir()) / "jaxgpu_tune_options"

STATES = {
    "bool_state": "bool",
    "optional_bool_state": "bool",
    "enum_state": "enum",
    "optional_enum_state": "enum",
    "enum_class_state": "enum",
    "int_state": "int",
    "float_state": "float",
    "string_state": "string",
    "optional_string_state": "string",
    "string_or_object_state": "object",
}
"""What defines an option that reads its environment variable; formerly spelled define_bool_state and so on."""

FLAGS = {
    "bool_flag": "bool",
    "int_flag": "int",
    "float_flag": "float",
    "string_flag": "string",
    "enum_flag": "enum",
    "DEFINE_bool": "bool",
    "DEFINE_integer": "int",
    "DEFINE_float": "float",
    "DEFINE_string": "string",
    "DEFINE_enum": "enum",
}
"""What defines an option that reads a variable only where its default is written so."""

READERS = ("getenv", "get", "bool_env", "int_env")
NO_OPTIONS = ("test_", "_test")
COMPUTED = {
    "logging.getLevelName(logging.getLogger('jax').level)": "NOTSET",
    "lib.version >= (0, 3, 6)": True,
    "True if jaxlib_extension_version >= 386 else False": True,
}
"""Defaults that jax computes, and what comes out with the jaxlib of the same release in a program that did nothing else."""

OVERWRITTEN = tuple(f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
"""Options whose variable is read in vain: jax_transfer_guard, defined after them, sets all three to its own value or None."""

USUAL = {"values": [], "optional": False}
"""What goes without saying where an option begins."""

Facts = dict[str, Any]


def main() -> int:
    """Fetch, read, merge, show the difference, write. Exit status: 0, or 2 for wrong use, nothing written."""
    parser = argparse.ArgumentParser(prog="python -m tools.read_jax_options", description=__doc__)
    words = asked_of(parser, CACHE)
    try:
        there = releases_of("jax")
        wanted = there if words.all else sorted(chosen(words.releases, there, "jax"), key=order)
        words.cache.mkdir(parents=True, exist_ok=True)
        read = {release: _read(release, words.cache) for release in wanted}
        put({TARGET: table_text({**read_of(TARGET.read_text()), **read})}, ask=not words.yes)
    except (UnknownReleaseError, JaxGpuTuneError) as error:
        print(f"{error}\nNothing is written.", file=sys.stderr)
        return 2
    return 0


def _read(release: str, cache: Path) -> dict[str, Facts]:
    """Return the options of one release. What an earlier text of this reader kept does not count."""
    reader = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    kept = cache / f"jax-{release}.{reader}.json"
    if not kept.exists():
        part = kept.with_suffix(".part")
        with tempfile.TemporaryDirectory() as folder:
            part.write_text(json.dumps(options_of(download(Wheel("jax", release), Path(folder)))))
        part.rename(kept)
    facts: dict[str, Facts] = json.loads(kept.read_text())
    return facts


def options_of(wheel: Path) -> dict[str, Facts]:
    """Every option that the wheel defines, by name, in alphabetical order."""
    found: dict[str, Facts] = {}
    with zipfile.ZipFile(wheel) as archive:
        for member in filter(_may_define, archive.namelist()):
            found.update(options_in(archive.read(member).decode(), f"{wheel.name}:{member}"))
    return dict(sorted(found.items()))


def _may_define(member: str) -> bool:
    path = PurePosixPath(member)
    inner = path.suffix == ".py" and path.parts[:2] == ("jax", "_src")
    return inner and not any(path.stem.startswith(part) or path.stem.endswith(part) for part in NO_OPTIONS)


def options_in(source: str, where: str) -> Iterator[tuple[str, Facts]]:
    """(name, facts) of each option that a module defines. ``where`` names the module in messages."""
    if not any(word in source for word in ("_state(", "_flag(", "DEFINE_")):
        return
    tree = ast.parse(source)
    module = Module(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if _words(call).get("name") is not None and (kind := _kind(call)):
            yield _option(call, *kind, module, where)


def _kind(call: ast.Call) -> tuple[str, str] | None:
    """(function, type) where the call defines an option."""
    function = _last_name(call.func)
    plain = function.removeprefix("define_")
    kind = STATES.get(plain) or FLAGS.get(function)
    name = _words(call).get("name")
    return (plain, kind) if kind and isinstance(name, ast.Constant) else None


def _words(call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a definition by name, however they were given."""
    function = _last_name(call.func).removeprefix("define_")
    order_of = {"enum_state": "enum_values", "optional_enum_state": "enum_values", "enum_class_state": "enum_class"}
    middle = [order_of[function]] if function in order_of else []
    after = ["enum_values"] if function in ("enum_flag", "DEFINE_enum") else []
    given = dict(zip(["name", *middle, "default", *after], call.args, strict=False))
    return given | {word.arg: word.value for word in call.keywords if word.arg}


def _option(call: ast.Call, function: str, kind: str, module: Module, where: str) -> tuple[str, Facts]:
    words = _words(call)
    name = str(module.value(words["name"])).lower()
    try:
        default, values = module.value(words["default"]), list(module.values(words))
        default = float(default) if kind == "float" and default is not None else default
    except (KeyError, ValueError) as unread:
        message = f"{where}: {name}: not understood: {unread}"
        raise ValueError(message) from None
    env = name not in OVERWRITTEN and (_reads(words["default"], name) or _is_state(function, default))
    facts = {"type": kind, "default": default, "env": env}
    optional = default is None or function.startswith("optional")
    return name, facts | {"values": values, "optional": optional}


def _is_state(function: str, default: Any) -> bool:
    # optional_bool_state asks the environment only where its default is not None.
    return function in STATES and not (function == "optional_bool_state" and default is None)


def _reads(default: ast.expr, name: str) -> bool:
    """Whether a default is written as a look at the option's own variable.

    It does not count where jax misspells it, as in JAX_EXPORT_IGNORE_FORWARD_COMPATIBILIY.
    """
    calls = [node for node in ast.walk(default) if isinstance(node, ast.Call) and _last_name(node.func) in READERS]
    return name.upper() in [ast.literal_eval(call.args[0]) for call in calls]


class Module:
    """The few kinds of expression that definitions are made of, valued by the text of their module."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        simple = [node for node in tree.body if isinstance(node, ast.Assign) and len(node.targets) == 1]
        self._names = {node.targets[0].id: node.value for node in simple if isinstance(node.targets[0], ast.Name)}

    def values(self, words: Mapping[str, ast.expr]) -> Iterable[Any]:
        """Return what an enum allows; nothing for other options."""
        if "enum_class" in words:
            return self._members(_last_name(words["enum_class"])).values()
        return self.value(words["enum_values"]) if "enum_values" in words else ()

    def value(self, node: ast.expr) -> Any:
        """Return the value that an expression has where no variable is set. Raises KeyError or ValueError for others."""
        match node:
            case ast.Call():
                return self._called(node)
            case ast.Attribute(value=ast.Name(id=name), attr=member) if name in self._classes:
                return self._members(name)[member]
            case ast.Name(id=name) if name in self._names:
                return self.value(self._names[name])
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.BinOp():
                return _joined(node.op, self.value(node.left), self.value(node.right))
        text = ast.unparse(node)
        return COMPUTED[text] if text in COMPUTED else ast.literal_eval(node)

    def _called(self, call: ast.Call) -> Any:
        name = _last_name(call.func)
        if name in READERS:
            return self.value(call.args[1]) if len(call.args) > 1 else None
        if name == "bool":
            return bool(self.value(call.args[0]))
        if name == "lower" and isinstance(call.func, ast.Attribute):
            return str(self.value(call.func.value)).lower()
        return COMPUTED[ast.unparse(call)]

    def _members(self, name: str) -> dict[str, Any]:
        """Member -> the text that names it in an enumeration; one that counts up is named by its members' lower case."""
        simple = [node for node in self._classes[name].body if isinstance(node, ast.Assign)]
        pairs = {node.targets[0].id: node.value for node in simple if isinstance(node.targets[0], ast.Name)}
        return {member: member.lower() if isinstance(v, ast.Call) else self.value(v) for member, v in pairs.items()}


def _joined(operator: ast.operator, left: Any, right: Any) -> Any:
    signs = {ast.Add: "__add__", ast.Mult: "__mul__", ast.Pow: "__pow__", ast.LShift: "__lshift__"}
    return getattr(left, signs[type(operator)])(right)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def table_text(read: Mapping[str, Mapping[str, Facts]]) -> str:
    """Return the committed file: sorted, one option a line, nothing that depends on the day or the machine."""
    releases = sorted(read, key=order)
    names = sorted({name for options in read.values() for name in options})
    head = {"provenance": {"method": METHOD, "wheels": {"jax": len(releases)}}, "releases": releases}
    top = "".join(f"{json.dumps(key)}:{compact(value)},\n" for key, value in head.items())
    lines = [f"{json.dumps(name)}:{compact(_changes(name, releases, read))}" for name in names]
    return "{\n" + top + '"options":{\n' + ",\n".join(lines) + "\n}}\n"


def _changes(name: str, releases: Iterable[str], read: Mapping[str, Mapping[str, Facts]]) -> list[list[Any]]:
    """What is new of an option, release by release; null where it is gone."""
    history: list[list[Any]] = []
    before: Facts | None = None
    for release in releases:
        now = read[release].get(name)
        if now is not None and now != before:
            base = USUAL if before is None else before
            history.append([release, {k: v for k, v in now.items() if k not in base or base[k] != v}])
        elif now is None and before is not None:
            history.append([release, None])
        before = now
    return history


def read_of(text: str) -> dict[str, dict[str, Facts]]:
    """What ``table_text`` made into this text: release -> option -> its facts."""
    table: Facts = json.loads(text)
    found: dict[str, dict[str, Facts]] = {release: {} for release in table["releases"]}
    for name, history in table["options"].items():
        for release, facts in _held(dict(history), table["releases"]):
            found[release][name] = facts
    return found


def _held(new: Mapping[str, Facts | None], releases: Iterable[str]) -> Iterator[tuple[str, Facts]]:
    """(release, facts of the option) for each release that has it."""
    now: Facts | None = None
    for release in releases:
        change = new.get(release, {})
        now = None if change is None else {**(now or USUAL), **change} if now or change else None
        if now is not None:
            yield release, now


if __name__ == "__main__":
    sys.exit(main())
