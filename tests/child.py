"""What is global to a process is tried in a child process: run code there, get a JSON value or the ending back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = ("XLA_", "JAX_", "JAXGPU_TUNE", "NCCL_", "CUDA_", "TF_", "SLURM_", "OMPI_", "PMI")


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


def run(
    code: str, *, timeout: float = 120, argv: tuple[str, ...] = (), cwd: Path | None = None, **environ: str
) -> Ended:
    """Run Python ``code`` in a child; it may call ``tell(value)`` once."""
    prelude = "import json\ndef tell(value):\n    print('\\x01' + json.dumps(value))\n"
    child = subprocess.run(
        [sys.executable, "-c", prelude + code, *argv],
        env=clean_environ(**environ),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=cwd,
    )
    told = [line[1:] for line in child.stdout.splitlines() if line.startswith("\x01")]
    return Ended(child.returncode, child.stdout, child.stderr, json.loads(told[-1]) if told else None)


def told(code: str, **options: Any) -> Any:
    """What the child told; fails with its stderr if it did not end well."""
    ended = run(code, **options)
    assert ended.status == 0, ended.stderr
    return ended.value


def free_port() -> int:
    """A port of this host that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
