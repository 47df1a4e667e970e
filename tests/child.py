"""What is global to a process is tried in a child process: run code there, get a JSON value or the ending back."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm

ROOT = Path(__file__).resolve().parent.parent
PRELUDE = "import json\ndef tell(value):\n    print('\\x01' + json.dumps(value))\n"
BEGINS_WITH_JAX = re.compile(r"\s*(import ([a-z]+, )*jax\b|from jax\b)(?!_)")
HAS_JAX = re.compile(r"\b(import|from) ([a-z]+, )*jax\b(?!_)")
OURS = ("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "CUDA_", "TF_", "SLURM_", "OMPI_", "PMI")
COMPILED = "TESTS_COMPILED"
"""The variable that names the folder of what was compiled in this run."""

FAST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""Flags for programs whose speed is not what is tested: they compile sooner."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: ``value`` is what it passed to ``tell()``."""

    status: int
    stdout: str
    stderr: str
    value: Any = None


def clean_environ(**extra: str) -> dict[str, str]:
    """This process's environment without anything the library reads, and with ``extra``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def compiled_once(**extra: str) -> dict[str, str]:
    """For programs whose compilation is not what is tested: what one process of this run compiled, no other compiles again."""
    least = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    return {"JAX_COMPILATION_CACHE_DIR": os.environ[COMPILED], **least, **extra}


def run(
    code: str,
    *,
    timeout: float = 600,
    argv: tuple[str, ...] = (),
    cwd: Path | None = None,
    cold: bool = False,
    **environ: str,
) -> Ended:
    """Run Python ``code`` in a process of its own; it may call ``tell(value)`` once.

    Code that begins by importing jax runs in a fork of a process that has just done so; code that does it later, in a fork
    of one that has imported what jax imports; see ``warm``. ``cold``: in a new process whatever it imports.
    """
    if HAS_JAX.search(code) and not cold:
        return _run_in_fork(code, bool(BEGINS_WITH_JAX.match(code)), timeout, argv, cwd, environ)
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *argv],
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
    )
    return _ended(child.returncode, child.stdout, child.stderr)


def run_warm(
    code: str, *, timeout: float = 600, argv: tuple[str, ...] = (), cwd: Path | None = None, **environ: str
) -> Ended:
    """As ``run``, where it does not matter that jax is imported before the code begins: saves a second."""
    return _run_in_fork(code, True, timeout, argv, cwd, environ)


def _run_in_fork(
    code: str, jax: bool, timeout: float, argv: tuple[str, ...], cwd: Path | None, environ: dict[str, str]
) -> Ended:
    job = warm.Job(PRELUDE + code, argv, clean_environ(**environ), str(cwd or Path.cwd()), timeout, jax)
    return _ended(*warm.run(job))


def _ended(status: int, stdout: str, stderr: str) -> Ended:
    told = [line[1:] for line in stdout.splitlines() if line.startswith("\x01")]
    return Ended(status, stdout, stderr, json.loads(told[-1]) if told else None)


def told(code: str, **options: Any) -> Any:
    """What a new process told; fails with its stderr if it did not end well."""
    return _value(run(code, **options))


def told_warm(code: str, **options: Any) -> Any:
    """As ``told``, with jax imported already; see ``run_warm``."""
    return _value(run_warm(code, **options))


def _value(ended: Ended) -> Any:
    assert ended.status == 0, ended.stderr
    return ended.value


def free_port() -> int:
    """A port of this host that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
