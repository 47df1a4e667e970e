"""Processes that have imported jax, or all that jax imports, and started no backend: each piece of code runs in a fork of one.

Importing jax takes a second of processor time, a fork a hundredth. One waits with jax imported; another with what jax itself
imports, for code that does something before, and for other JAX_* variables, which jax reads when it is imported. All
other variables, XLA_FLAGS among them, are those that the code was given.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent


JAX = ("jax",)
DIALECTS = ("chlo", "func", "mpmd", "sdy", "stablehlo")
BEFORE_JAX = (
    *("jaxlib.xla_client", "numpy.ma", "numpy.random", "etils.epath", "opt_einsum", "unittest.mock"),
    *("http.server", "importlib.metadata", "filelock", "pygments.lexers", "pygments.formatters"),
    *(f"jaxlib.mlir.dialects.{name}" for name in DIALECTS),
    *("jaxlib.mosaic.python.mosaic_gpu", "jaxlib.mosaic.python.tpu", "jaxlib.thunky.python.thunky"),
)
"""What jax imports, and takes most of the time: names that a release of jax does not have are passed over."""
PLATFORMS = (None, "cpu")
"""A process waits with jax imported for each of these JAX_PLATFORMS, where no JAX_* variable is set but these and ``LATER``."""
LATER: dict[str, Callable[[str], object]] = {
    "JAX_COMPILATION_CACHE_DIR": str,
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": float,
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": int,
    "JAX_NUM_CPU_DEVICES": int,
}
"""Variables that jax reads when it is imported, and takes as well before its first computation: what each becomes in jax.config."""


@dataclass(frozen=True)
class Job:
    """One piece of code, and all that a new process would be given. ``jax``: it is imported before the code begins."""

    code: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: str
    timeout: float
    jax: bool


def run(job: Job) -> tuple[int, str, str]:
    """(status, stdout, stderr) of the code in a fork; subprocess.TimeoutExpired where it takes longer."""
    return Running(job).end()


class Running:
    """A fork that runs a piece of code."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._folder = tempfile.TemporaryDirectory()
        self._server = _server(job)
        self._pid = self._server.start(job, self._folder.name)

    def end(self) -> tuple[int, str, str]:
        """As ``run``, when it has ended."""
        with self._folder as folder:
            status = self._status()
            stdout, stderr = (Path(folder, name).read_text() for name in ("stdout", "stderr"))
        return status, stdout, stderr

    def _status(self) -> int:
        try:
            return self._server.ended(self._pid, self._job.timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it, if nobody has waited for its end; what it said is gone."""
        if self._server.runs(self._pid):
            os.kill(self._pid, signal.SIGKILL)
            self._server.ended(self._pid, PATIENCE)
        self._folder.cleanup()


PATIENCE = 300
"""Seconds for what takes a moment, on a machine that does much else."""


class _Server:
    """One waiting process, and how those of its forks ended that nobody asked about yet."""

    def __init__(self, modules: tuple[str, ...], environ: Mapping[str, str]) -> None:
        command = [sys.executable, "-W", "ignore", "-c", f"from tests import warm; warm.serve({modules})"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, env=dict(environ), cwd=ROOT, **pipes)
        self._running: set[int] = set()
        self._ended: dict[int, int] = {}
        atexit.register(self.end)

    def start(self, job: Job, folder: str) -> int:
        assert self.process.stdin is not None
        asked = {**vars(job), "folder": folder, "environ": dict(job.environ)}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        while True:
            pid, status = self._line(PATIENCE)
            if status is None:
                self._running.add(pid)
                return pid
            self._ended[pid] = status

    def ended(self, pid: int, patience: float) -> int:
        """How it ended, at the latest in so many seconds."""
        latest = time.monotonic() + patience
        while pid not in self._ended:
            other, status = self._line(latest - time.monotonic())
            self._ended[other] = status
        self._running.discard(pid)
        return self._ended.pop(pid)

    def runs(self, pid: int) -> bool:
        """Whether nobody has waited for its end; one that has ended is the waiting process's to clear away."""
        return pid in self._running

    def _line(self, patience: float) -> Any:
        """The next pair that it says: of a fork that has started (None) or ended (its status)."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], max(patience, 0))[0]:
            raise subprocess.TimeoutExpired("a fork", patience)
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.process.communicate(timeout=PATIENCE)


_servers: dict[tuple[bool, str | None], _Server] = {}


def _server(job: Job) -> _Server:
    """The one for this job, started where there is none yet."""
    read = {name: value for name, value in job.environ.items() if name.startswith("JAX_")}
    platform = read.pop("JAX_PLATFORMS", None)
    imported = job.jax and read.keys() <= LATER.keys() and platform in PLATFORMS
    which = (imported, platform if imported else None)
    if which not in _servers:
        plain = {
            name: value for name, value in job.environ.items() if not name.startswith(("XLA_", "JAXGPU_TUNE", "JAX_"))
        }
        if imported and platform is not None:
            plain["JAX_PLATFORMS"] = platform
        _servers[which] = _Server(JAX if imported else BEFORE_JAX, plain)
    return _servers[which]


# --- in the waiting process, and in its forks -----------------------------------------------------------------------


def serve(modules: tuple[str, ...]) -> None:
    """Import these, then run in forks what is asked for; says each fork's number, and later how it ended."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # a fork that collects garbage need not copy what was there before it
    woken = _woken_by_ends()
    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            _tell_ends()
        if 0 in ready:
            line = sys.stdin.readline()
            if not line:
                return
            print(json.dumps([_fork(json.loads(line)), None]), flush=True)


def _woken_by_ends() -> int:
    """A file that can be read when a fork has ended."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    return woken


def _tell_ends() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            print(json.dumps([pid, os.waitstatus_to_exitcode(status)]), flush=True)


def _fork(job: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _be(job)
    return pid


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
    if job["jax"]:
        _take_in_later(importlib.import_module("jax"))
    warnings.resetwarnings()
    os._exit(_ended(job["code"]))


def _take_in_later(jax: Any) -> None:
    """As if jax had found these variables when it was imported; a release that does not know one does not read it either."""
    for variable, read in LATER.items():
        if variable in os.environ and hasattr(jax.config, variable.lower()):
            jax.config.update(variable.lower(), read(os.environ[variable]))


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
