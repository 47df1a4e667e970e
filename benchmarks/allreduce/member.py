"""One of two processes, each with half of the GPUs: sums against lax.psum, their time, and what one is told when the other is killed."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import jax


def joined(rank: int, port: str, each: int) -> None:
    """Join the job; each process takes ``each`` GPUs, those of rank 0 come first."""
    own = range(rank * each, (rank + 1) * each)
    mine = {} if os.environ.get("JAX_PLATFORMS") == "cpu" else {"local_device_ids": list(own)}
    jax.distributed.initialize(f"localhost:{port}", 2, rank, **mine)


def together(rank: int, port: str, each: int) -> dict[str, Any]:
    """Whether the sums are right, and microseconds of a scaling and a sum."""
    joined(rank, port, each)
    import numpy as np
    from jax import lax

    from .common import bench, mapped, microseconds

    b = bench()
    found: dict[str, Any] = {"explained": b.comm.explain(), "seconds to make it": b.seconds, "right": True, "us": {}}
    for size in (4096, 16384, 65536, 131072) if b.gpu else (4096,):
        x = _numbers(b, rank, size)
        sums = mapped(b, lambda comm, x: comm.psum(x))(b.comm, x).addressable_data(0)
        found["right"] &= bool((np.asarray(sums) == b.mesh.size * (b.mesh.size + 1) / 2).all())
        found["us"][size] = {
            "ours": microseconds(b, lambda comm, x: comm.psum(x * 0.5), x),
            "shipped": microseconds(b, lambda _, x: lax.psum(x * 0.5, "tp"), x),
        }
    jax.distributed.shutdown()
    return found


def left_alone(rank: int, port: str, each: int) -> dict[str, Any]:
    """What rank 0 is told, and after how many seconds, when rank 1 is killed between two steps; the limit is 5."""
    joined(rank, port, each)
    from .common import bench, mapped

    b = bench(timeout=5.0)
    if b.comm._setup.objection:  # noqa: SLF001 - lax.psum would wait without end
        jax.distributed.shutdown()
        return {"explained": b.comm.explain()}
    step, x = mapped(b, lambda comm, x: comm.psum(x)), _numbers(b, rank, 8192)
    jax.block_until_ready(step(b.comm, x))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1)
    start = time.perf_counter()
    try:
        jax.block_until_ready(step(b.comm, x))
    except Exception as error:  # noqa: BLE001 - it is what is asked
        return {"error": str(error)[:300], "type": type(error).__name__, "seconds": time.perf_counter() - start}
    return {"error": None}


def _numbers(b: Any, rank: int, size: int) -> jax.Array:
    """Of each device its number from 1 on."""
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    each = len(jax.local_devices())
    numbers = np.arange(rank * each + 1, (rank + 1) * each + 1)
    local = np.repeat(numbers[:, None], size // 2, axis=1).astype(jnp.bfloat16)
    return jax.make_array_from_process_local_data(NamedSharding(b.mesh, P("tp")), local)
