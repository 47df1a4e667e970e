"""The real parser, asked: one child process loads a jaxlib once and forks for each text.

    with Oracle() as oracle:                       # or Oracle(python="/other/venv/bin/python")
        one, two = oracle.ask(["--xla_gpu_autotune_level=2", "--typo=1"])
    one.accepted, two.unknown                      # True, ("typo",)

Reading the flags of a text ends a process that has a wrong one, and is done once in a process: hence
a fork for each. The child imports jaxlib only, never jax, and starts no backend.
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Answer", "Oracle"]


@dataclass(frozen=True)
class Answer:
    """What the real parser made of one text.

    ``accepted``: the process lives. ``unknown``: names of the flags called unknown (without dashes).
    ``bad_value``: the parse failed at a value (or ``--help``). ``no_file``: the value was taken for the
    name of a file that cannot be opened. ``effect``: the DebugOptions that resulted, serialised, with the
    entries of its maps sorted; empty if not accepted. ``message``: what the process wrote to stderr.
    """

    accepted: bool
    unknown: tuple[str, ...]
    bad_value: bool
    no_file: bool
    effect: bytes
    message: str

    def names_unknown(self, arguments: Sequence[str]) -> bool:
        """Whether the message calls exactly ``arguments`` (as decoded, dashes and values included) unknown."""
        _, found, told = self.message.partition("in XLA_FLAGS: ")
        wanted = " ".join(arguments)
        return bool(found) and told.startswith(wanted) and told[len(wanted) :][:1] in ("", "\n", " ")


class Oracle:
    """A jaxlib to ask, held open by ``with``. ``python``: an interpreter that has it; ``cwd``: for file names."""

    def __init__(self, python: str = sys.executable, cwd: str | os.PathLike[str] | None = None) -> None:
        self._python, self._cwd = python, cwd
        self._child: subprocess.Popen[str] | None = None
        self.version = ""

    def __enter__(self) -> Self:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_", "TF_CPP_", "PYTHON"))}
        self._child = subprocess.Popen(
            [self._python, os.path.abspath(__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._cwd,
            env=environ,
            text=True,
        )
        self.version = self._line()["jaxlib"]
        return self

    def __exit__(self, *exc: object) -> None:
        if self._child is not None:
            self._child.communicate()
            self._child = None

    def ask(self, texts: Sequence[str]) -> list[Answer]:
        """The answers, in the order of ``texts``. Raises RuntimeError if the child has ended."""
        assert self._child is not None, "use it in a with statement"
        assert self._child.stdin is not None
        answers = []
        for text in texts:
            self._child.stdin.write(json.dumps(text) + "\n")
            self._child.stdin.flush()
            answers.append(_answer(self._line()))
        return answers

    def _line(self) -> dict[str, Any]:
        assert self._child is not None
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._python} could not load jaxlib, or ended")
        return json.loads(line)  # type: ignore[no-any-return]


def _answer(raw: dict[str, Any]) -> Answer:
    message = base64.b64decode(raw["stderr"]).decode(errors="surrogateescape")
    accepted = raw["status"] == 0
    return Answer(
        accepted=accepted,
        unknown=() if accepted else tuple(_unknown(message)),
        bad_value="Flag parsing failed" in message or "Couldn't interpret value" in message,
        no_file="Could not open file" in message,
        effect=canonical(base64.b64decode(raw["effect"])),
        message=message,
    )


def _unknown(message: str) -> Iterator[str]:
    # Up to 0.5.0 the list goes on, after two blanks, with known flags that were left in the argument array.
    told = message.partition("in XLA_FLAGS: ")[2].partition("  ")[0]
    for match in re.finditer(r"(?:^| )--?-?([A-Za-z0-9_][A-Za-z0-9_-]*)", told):
        yield match[1]


def canonical(options: bytes) -> bytes:
    """The same message with the entries of each map field sorted: their order differs from one process to the next."""
    fields = list(_fields(options))
    maps = {number for number, _, _ in fields} - {n for n, payload, _ in fields if not _is_map_entry(payload)}
    entries = {n: iter(sorted(whole for m, _, whole in fields if m == n)) for n in maps}
    return b"".join(next(entries[number]) if number in maps else whole for number, _, whole in fields)


def debug_options(compile_options: bytes) -> bytes:
    """The DebugOptions (field 3) within the ExecutableBuildOptions (field 3) of serialised CompileOptions."""
    for _ in range(2):
        compile_options = next((p for n, p, _ in _fields(compile_options) if n == 3 and p is not None), b"")
    return compile_options


def _is_map_entry(payload: bytes | None) -> bool:
    try:
        return payload is not None and [number for number, _, _ in _fields(payload)] in ([1], [1, 2])
    except (IndexError, ValueError):
        return False


def _fields(message: bytes) -> Iterator[tuple[int, bytes | None, bytes]]:
    """(number, payload of a length-delimited field, the whole field) of a protobuf message, in order."""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        payload, at = _payload(message, at, key & 7)
        yield key >> 3, payload, message[start:at]


def _payload(message: bytes, at: int, wire: int) -> tuple[bytes | None, int]:
    if wire == 0:
        return None, _varint(message, at)[1]
    if wire in (1, 5):
        return None, at + (8 if wire == 1 else 4)
    if wire != 2:
        raise ValueError(f"wire type {wire}")
    size, at = _varint(message, at)
    if at + size > len(message):
        raise ValueError("cut short")
    return message[at : at + size], at + size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if not message[at - 1] & 128:
            return value, at


# --- in the child ---------------------------------------------------------------------------------------------------


def _serve() -> None:
    import resource
    import tempfile

    from jaxlib import version, xla_client

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # up to 0.7.1 an unknown flag aborts
    print(json.dumps({"jaxlib": version.__version__}), flush=True)
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as effect:
        for line in sys.stdin:
            status = _in_a_fork(xla_client, json.loads(line), errors, effect)
            print(json.dumps({"status": status, "stderr": _drain(errors), "effect": _drain(effect)}), flush=True)


def _in_a_fork(xla_client: Any, text: str, errors: IO[bytes], effect: IO[bytes]) -> int:
    pid = os.fork()
    if pid == 0:
        os.dup2(errors.fileno(), 2)
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        os.environ["XLA_FLAGS"] = text
        options = xla_client.CompileOptions()  # parses XLA_FLAGS
        os.write(effect.fileno(), debug_options(options.SerializeAsString()))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _drain(file: IO[bytes]) -> str:
    file.seek(0)
    content = file.read()
    file.seek(0)
    file.truncate()
    return base64.b64encode(content).decode("ascii")


if __name__ == "__main__":
    _serve()
