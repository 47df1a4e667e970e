"""Jobs of several real processes on this machine, joined by jax.distributed.initialize() on the CPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import warm
from tests.child import clean_environ, free_port

PRELUDE = """
import json, sys
rank, count, port = map(int, sys.argv[1:4])
def tell(value):
    print("\\x01" + json.dumps(value), flush=True)
def join():
    import jax
    jax.distributed.initialize(f"127.0.0.1:{port}", count, rank)
def part():
    from jax._src.distributed import global_state
    global_state.client.wait_at_barrier("end", 60_000)
"""


def job(code: str, environs: Sequence[dict[str, str]], *, timeout: float = 600) -> list[Any]:
    """What each process told, one for each environment; ``code`` has rank, count, join(), part() and tell()."""
    port = str(free_port())
    plain = _without_proxies(clean_environ(JAX_PLATFORMS="cpu"))
    words = [(str(rank), str(len(environs)), port) for rank in range(len(environs))]
    members = [
        warm.Running(warm.Job(PRELUDE + code, argv, plain | environ, str(Path.cwd()), timeout, jax=False))
        for argv, environ in zip(words, environs, strict=True)
    ]
    try:
        ended = [member.end() for member in members]
    finally:
        for member in members:
            member.kill()
    assert all(status == 0 for status, _, _ in ended), [stderr for _, _, stderr in ended]
    return [[json.loads(line[1:]) for line in stdout.splitlines() if line.startswith("\x01")] for _, stdout, _ in ended]


def _without_proxies(environ: dict[str, str]) -> dict[str, str]:
    """With a proxy jax warns, and grpc may go through it (jax/_src/distributed.py)."""
    return {name: value for name, value in environ.items() if not name.lower().endswith("_proxy")}
