"""Processes that have imported jax and started no backend: each piece of code runs in a fork of one.

Importing jax takes a second of processor time, a fork a hundredth. One waits for each set of JAX_* variables, which jax reads
when it is imported; all other variables, XLA_FLAGS among them, are those that the code was given.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Job:
    """One piece of code, and all that a new process would be given."""

    code: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: str
    timeout: float


def run(job: Job) -> tuple[int, str, str]:
    """(status, stdout, stderr) of the code in a fork; subprocess.TimeoutExpired where it takes longer."""
    with tempfile.TemporaryDirectory() as folder:
        status = _server(job.environ).ask(job, folder)
        stdout, stderr = (Path(folder, name).read_text() for name in ("stdout", "stderr"))
    return status, stdout, stderr


class _Server:
    """One waiting process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        code = "from tests import warm; warm.serve()"
        command = [sys.executable, "-W", "ignore", "-c", code]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, env=dict(environ), cwd=ROOT, **pipes)
        atexit.register(self.end)

    def ask(self, job: Job, folder: str) -> int:
        assert self.process.stdin is not None
        asked = {**vars(job), "folder": folder, "environ": dict(job.environ)}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        pid = self._line(60)
        try:
            return self._line(job.timeout)
        except subprocess.TimeoutExpired:
            os.kill(pid, signal.SIGKILL)
            self._line(60)
            raise

    def _line(self, patience: float) -> int:
        """The next number that it says."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], patience)[0]:
            raise subprocess.TimeoutExpired("a fork", patience)
        return int(self.process.stdout.readline())

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.process.communicate(timeout=10)


MOST = 4
"""As many wait at a time; each has 150 MB."""
_servers: dict[tuple[tuple[str, str], ...], _Server] = {}


def _server(environ: Mapping[str, str]) -> _Server:
    """The one for these JAX_* variables, started where there is none yet."""
    read = tuple(sorted((name, value) for name, value in environ.items() if name.startswith("JAX_")))
    if read not in _servers:
        for oldest in list(_servers)[: len(_servers) + 1 - MOST]:
            _servers.pop(oldest).end()
        plain = {name: value for name, value in environ.items() if not name.startswith(("XLA_", "JAXGPU_TUNE"))}
        _servers[read] = _Server(plain)
    return _servers[read]


# --- in the waiting process, and in its forks -----------------------------------------------------------------------


def serve() -> None:
    """Import jax, then run what is asked for, one after the other; says the fork's number, then how it ended."""
    import jax  # noqa: F401

    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be(job)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _be(job: dict[str, Any]) -> NoReturn:
    """Become what ``python -c`` would be with that code, and end as it would."""
    import warnings

    for number, name in enumerate((os.devnull, "stdout", "stderr")):
        mode = os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY
        os.dup2(os.open(os.path.join(job["folder"], name), mode), number)
    os.environ.clear()
    os.environ.update(job["environ"])
    os.chdir(job["cwd"])
    sys.argv = ["-c", *job["argv"]]
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path and path not in sys.path]
    warnings.resetwarnings()
    os._exit(_ended(job["code"]))


def _ended(code: str) -> int:
    """The exit status of the code, after all that an interpreter does at its end."""
    import threading
    import traceback

    status = 0
    try:
        exec(compile(code, "<string>", "exec"), vars(sys.modules["__main__"]))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  as the interpreter itself: any is printed
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status
