"""A shared object as it lies in memory: its symbols, its table of flags, and its parser, asked in forked children.

The layout of ``tsl::Flag`` has been the same since before 0.4.18: 296 bytes, a name, a type, then for
each of the five types a setter and a default, then the help text. ``Binary.registry`` refuses what does not fit.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jaxgpu_tune.proof import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FLAG_SIZE = 296
_TYPES = ("int32", "int64", "bool", "string", "float")
_PARSE = "_ZN3xla24GetDebugOptionsFromFlagsEv"
_TABLE = "_ZN3xlaL12flag_objectsE"
_SERIALIZE = "_ZNK6google8protobuf11MessageLite17SerializeAsStringB5cxx11Ev"
_DESCRIPTORS = ("_ZN3xla42DebugOptions_StepMarkerLocation_descriptorEv", "_ZN3xla9autotuner18Backend_descriptorEv")
"""What the parser has of xla.proto, and of what that refers to, from its first call on: built before the forks, not in each."""
_ROOM = 1 << 16  # more than a DebugOptions takes
_PATIENCE = 20  # seconds for one question
_CANARY = "xla_no_such_flag_canary"

Options = dict[str, Any]


class UnreadableError(Exception):
    """The shared object is not laid out as this tool expects."""


@dataclass(frozen=True)
class Answer:
    """What the parser made of one text: ``options`` (None: it refused), stderr, and whether it crashed.

    Releases around 0.8 write one flag's value through a pointer into a stack frame that is gone. What then
    happens depends on what lies there: inside jaxlib it goes well, here it crashes, both after the value passed.
    """

    options: Options | None
    message: str
    crashed: bool = False


class Binary:
    """One shared object, loaded into this process. Nothing is parsed here: every question is asked in a fork."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.schema = wire.schema_of(data, "xla/xla.proto")
        if ".xla.DebugOptions" not in self.schema.messages:
            raise UnreadableError(f"{path.name}: no descriptor of xla.DebugOptions")
        self._offsets = symbols(data, (_PARSE, _TABLE, _SERIALIZE))
        described = symbols(data, [name for name in _DESCRIPTORS if data.find(name.encode() + b"\0") >= 0])
        del data
        self._base = _load(path)
        self._parser, self._serializer = _function(self._address(_PARSE), 1), _function(self._address(_SERIALIZE), 2)
        for offset in described.values():
            _function(self._base + offset, 0)()
        self._answers: dict[str, Answer] = {}
        self._known: dict[bytes, Options] = {}
        self.fatal_values = True
        self.fatal_values = self._asked("--xla_gpu_autotune_level=abc").options is None

    def registry(self) -> list[dict[str, str]]:
        """Every registered flag: name, type, default (as the usage text would show it) and help, in XLA's order."""
        told = _in_fork(self._read_table)
        if not told.results:
            raise UnreadableError(f"the table of flags could not be read: {told.message}")
        return cast("list[dict[str, str]]", json.loads(told.results[0]))

    def ask(self, flags: str) -> Answer:
        """Parse ``flags`` in a fork, once. Releases that only log a bad value are asked with an unknown flag beside it."""
        if flags not in self._answers:
            self._answers[flags] = self._asked(flags)
        return self._answers[flags]

    def _asked(self, flags: str) -> Answer:
        told = _in_fork(lambda: self._parse(flags))
        if not told.results:
            return Answer(None, told.message, told.signal in (signal.SIGSEGV, signal.SIGBUS))
        tried = not self.fatal_values and _in_fork(lambda: self._parse(f"{flags} --{_CANARY}")).results
        return Answer(None if tried else self._decoded(told.results[0]), told.message)

    def _decoded(self, data: bytes) -> Options:
        if data not in self._known:
            self._known[data] = wire.decode(self.schema, ".xla.DebugOptions", data)
        return self._known[data]

    def fields(self) -> dict[str, wire.Field]:
        """The fields of DebugOptions by name."""
        return {f.name: f for f in self.schema.messages[".xla.DebugOptions"].values()}

    def _address(self, symbol: str) -> int:
        return self._base + self._offsets[symbol]

    def _parse(self, flags: str) -> bytes:
        os.environ["XLA_FLAGS"] = flags
        os.environ.pop("TF_CPP_MIN_LOG_LEVEL", None)
        options = ctypes.create_string_buffer(_ROOM)
        self._parser(options)
        text = ctypes.create_string_buffer(64)
        self._serializer(text, options)
        start, size = struct.unpack_from("<QQ", text.raw)
        return ctypes.string_at(start, size)

    def _read_table(self) -> bytes:
        self._parse("")
        vector = struct.unpack("<Q", ctypes.string_at(self._address(_TABLE), 8))[0]
        start, end = struct.unpack("<QQ", ctypes.string_at(vector, 16))
        if not 50 < (end - start) / _FLAG_SIZE < 2000 or (end - start) % _FLAG_SIZE:
            raise UnreadableError("the table of flags has an odd size")
        return json.dumps([_flag(at) for at in range(start, end, _FLAG_SIZE)]).encode()


def _flag(at: int) -> dict[str, str]:
    raw = ctypes.string_at(at, _FLAG_SIZE)
    kind = struct.unpack_from("<i", raw, 32)[0]
    name = _string(raw, 0)
    if not 0 <= kind < len(_TYPES) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UnreadableError(f"not a flag: {name[:80]!r}, type {kind}")
    return {"name": name, "type": _TYPES[kind], "default": _default(raw, _TYPES[kind]), "help": _string(raw, 264)}


def _default(raw: bytes, kind: str) -> str:
    if kind == "string":
        return _string(raw, 232)
    if kind == "bool":
        return "true" if raw[192] else "false"
    form, at = {"int32": ("<i", 72), "int64": ("<q", 112), "float": ("<f", 152)}[kind]
    value = struct.unpack_from(form, raw, at)[0]
    return _shortest(value) if kind == "float" else str(value)


def _shortest(value: float) -> str:
    """The shortest text that gives this 32-bit float again."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next(text for text in texts if struct.pack("<f", float(text)) == struct.pack("<f", value))


def _string(raw: bytes, at: int) -> str:
    start, size = struct.unpack_from("<QQ", raw, at)
    if size > 1 << 20:
        raise UnreadableError("a text of more than a megabyte")
    return ctypes.string_at(start, size).decode("utf-8", "replace")


def _function(address: int, arguments: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_void_p, *[ctypes.c_void_p] * arguments)(address)


def symbols(data: bytes, names: Sequence[str]) -> dict[str, int]:
    """The values of these symbols of ``.symtab``, which still is in the released files."""
    (table_at, table_size), (names_at, names_size) = _sections(data)
    out = {}
    for name in names:
        found = data.find(b"\0" + name.encode() + b"\0", names_at, names_at + names_size)
        if found < 0:
            raise UnreadableError(f"no symbol {name}")
        out[name] = _symbol_value(data, table_at, table_size, found + 1 - names_at)
    return out


def _sections(data: bytes) -> tuple[tuple[int, int], tuple[int, int]]:
    start = struct.unpack_from("<Q", data, 0x28)[0]
    size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    for header in headers:
        if header[1] == 2:  # SHT_SYMTAB
            linked = headers[header[6]]
            return (header[4], header[5]), (linked[4], linked[5])
    raise UnreadableError("no symbol table")


def _symbol_value(data: bytes, at: int, size: int, name: int) -> int:
    wanted, found = struct.pack("<I", name), at
    while (found := data.find(wanted, found, at + size)) >= 0:
        if (found - at) % 24 == 0:
            return int(struct.unpack_from("<Q", data, found + 8)[0])
        found += 1
    raise UnreadableError("a symbol's name is not used")


def _load(path: Path) -> int:
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlerror.restype = ctypes.c_void_p, ctypes.c_char_p
    if not libc.dlopen(str(path).encode(), 1):  # RTLD_LAZY: not everything it names needs to be here
        raise UnreadableError(libc.dlerror().decode())
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path)):
            return int(line.split("-")[0], 16)
    raise UnreadableError(f"{path.name} is not mapped")


@dataclass(frozen=True)
class _Told:
    """What a child told: [its result] or [], stderr, and the signal that ended it (0: none)."""

    results: list[bytes]
    message: str
    signal: int


def _in_fork(work: Callable[[], bytes]) -> _Told:
    """The less a child does in Python, the fewer pages it copies: what it tells is decoded by its parent."""
    out, err = os.memfd_create("out"), os.memfd_create("err")
    try:
        child = os.fork()
        if child == 0:
            _child(work, out, err)
        status = os.waitpid(child, 0)[1]
        told = _written(out)
        return _Told([told] if told else [], _written(err).decode("utf-8", "replace"), os.WTERMSIG(status))
    finally:
        os.close(out)
        os.close(err)


def _written(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _child(work: Callable[[], bytes], out: int, err: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(_PATIENCE)
        os.dup2(err, 1)
        os.dup2(err, 2)
        os.write(out, work())
    except Exception as error:  # noqa: BLE001  the parent reads of it in stderr
        os.write(2, repr(error).encode())
    finally:
        os._exit(0)
