"""The child that asks the installed binaries' own parsers: a script, never imported by the library.

It reads a task from stdin and writes the answers to stdout, both JSON (see ``probe``). Each binary is loaded in a
fork of this process, and each text parsed in a fork of that, since a wrong flag ends the process that parses it.

Every text is asked with a flag behind it that no build has. A parser that took the text names that one flag alone,
so a crash, a text that is cut short, and the releases that merely log a bad value (before 0.4.29) are never taken for a yes.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

CANARY = "jaxgpu_tune_canary"
LIMIT = 20  # seconds for one text; a parse takes milliseconds
UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS: *(.*)")
NAME = re.compile(r"--([^\s=]+)")
SYMBOL = b"_ZN3xla24GetDebugOptionsFromFlagsEv"
ROOM = 1 << 16  # bytes, more than a DebugOptions takes
SYMTAB, SYMBOL_SIZE = 2, 24

Parse = Callable[[], object]


class Unanswered(Exception):
    """This binary cannot be asked. ``lasting``: nor ever, as long as it is the same file."""

    def __init__(self, why: str, lasting: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting


def main() -> None:
    """Answer the one task on stdin."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the binaries print is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # up to 0.7.1 an unknown flag aborts
    task = json.load(sys.stdin)
    sys.path[:] = task["path"]
    answers = {"jaxlib": _in_fork(lambda: _answer(load_jaxlib, task))}
    for name, path in task["plugins"].items():
        answers[name] = _in_fork(lambda path=path: _answer(lambda: load_plugin(path), task))  # type: ignore[misc]
    os.write(out, json.dumps(answers).encode())


def _in_fork(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    status, told = apart(lambda pipe: os.write(pipe, json.dumps(work()).encode()))
    try:
        answer: dict[str, Any] = json.loads(told)
    except ValueError:
        return {"unanswered": f"loading it ended with status {status}", "lasting": False}
    return answer


def _answer(load: Callable[[], Parse], task: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"refused": refused_flags(load(), task["flags"])}
    except Unanswered as error:
        return {"unanswered": str(error), "lasting": error.lasting}
    except Exception as error:  # noqa: BLE001 - whatever keeps a binary from being loaded is the answer
        return {"unanswered": f"{type(error).__name__}: {error}", "lasting": False}


def refused_flags(parse: Parse, flags: Sequence[str]) -> list[str]:
    """The names of the flags that are refused; the others pass together."""
    found = _complaint(parse, [])
    if found != f"--{CANARY}=1":
        raise Unanswered(f"it does not read XLA_FLAGS as known: {found!r}")
    found = _complaint(parse, flags) or ""
    if found.endswith(f"--{CANARY}=1"):  # all that is unknown is named
        names = [_name(flag) for flag in flags]
        told = set(NAME.findall(found))
        passed = [flag for flag, name in zip(flags, names, strict=True) if name not in told]
        if _passes(parse, passed):
            return sorted(set(names) & told)
    return _one_by_one(parse, flags)


def _one_by_one(parse: Parse, flags: Sequence[str]) -> list[str]:
    """Where a bad value hides what is unknown: each flag behind those that passed."""
    passed: list[str] = []
    out = set()
    for flag in flags:
        if _passes(parse, [*passed, flag]):
            passed.append(flag)
        else:
            out.add(_name(flag))
    return sorted(out)


def _passes(parse: Parse, flags: Sequence[str]) -> bool:
    return _complaint(parse, flags) == f"--{CANARY}=1"


def _complaint(parse: Parse, flags: Sequence[str]) -> str | None:
    """What the parser calls unknown in these flags and the canary; None if it says no such thing."""

    def work(pipe: int) -> None:
        os.dup2(pipe, 1)
        os.dup2(pipe, 2)
        signal.alarm(LIMIT)
        os.environ["XLA_FLAGS"] = " ".join([*flags, f"--{CANARY}=1"])
        parse()

    status, told = apart(work)
    if status == -signal.SIGALRM:
        raise Unanswered(f"it did not read XLA_FLAGS within {LIMIT} seconds")
    found = UNKNOWN.search(told)
    # Up to 0.5.0 known flags follow after two blanks.
    return found[1].strip().split("  ")[0] if found and status else None


def _name(flag: str) -> str:
    return flag.partition("=")[0].lstrip("-")


def apart(work: Callable[[int], object]) -> tuple[int, str]:
    """Do the work in a fork, with a pipe to write to: how it ended, and what it wrote."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGABRT, signal.SIG_DFL)
            work(writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told


def load_jaxlib() -> Parse:
    """jaxlib's own parser: making compile options reads XLA_FLAGS, and starts no backend."""
    from jaxlib import xla_client

    return xla_client.CompileOptions  # type: ignore[no-any-return]


def load_plugin(path: str) -> Parse:
    """The parser in a CUDA plugin: it has no public way in, but the released files keep their symbols."""
    path = os.path.realpath(path)  # as the kernel lists it
    offset = _offset_of(path, SYMBOL)
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_load(path) + offset)
    return lambda: call(ctypes.addressof(ctypes.create_string_buffer(ROOM)))


def _load(path: str) -> int:
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlerror.restype = ctypes.c_void_p, ctypes.c_char_p
    if not libc.dlopen(os.fsencode(path), os.RTLD_LAZY):  # not all that it names need be here, nor is it called
        raise Unanswered(libc.dlerror().decode("utf-8", "replace"))
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            if line.rstrip("\n").endswith(path):
                return int(line.partition("-")[0], 16)
    raise Unanswered("it is loaded, but nowhere in memory")


def _offset_of(path: str, symbol: bytes) -> int:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            (table, size), (names, names_size) = _symbol_tables(data)
        except (struct.error, IndexError, OverflowError) as error:
            raise Unanswered("it is no 64-bit ELF file", lasting=True) from error
        at = data.find(b"\0" + symbol + b"\0", names, names + names_size)
        wanted = struct.pack("<I", at + 1 - names) if at >= 0 else b""
        found = table - 1
        while wanted and (found := data.find(wanted, found + 1, table + size)) >= 0:
            if (found - table) % SYMBOL_SIZE == 0:
                return int(struct.unpack_from("<Q", data, found + 8)[0])
    raise Unanswered("its parser is not in its symbol table", lasting=True)


def _symbol_tables(data: mmap.mmap) -> tuple[tuple[int, int], tuple[int, int]]:
    """(offset, size) of ``.symtab`` and of the names it uses."""
    start = struct.unpack_from("<Q", data, 0x28)[0]
    size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    for header in headers:
        if header[1] == SYMTAB:
            linked = headers[header[6]]
            return (header[4], header[5]), (linked[4], linked[5])
    raise Unanswered("it has no symbol table", lasting=True)


if __name__ == "__main__":
    main()
