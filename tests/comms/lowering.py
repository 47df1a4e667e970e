"""Programs for CUDA with the kernels, made without a GPU and never run."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from jaxgpu_tune.comms import AllReduce, launch
from jaxgpu_tune.comms.launch import Setup
from jaxgpu_tune.comms.shapes import Shape

SETUP = Setup("tp", Shape(2, 1 << 20), "90", 10**9, "")
X = jnp.ones((8, 512), jnp.bfloat16)
GAMMA = jnp.ones(512, jnp.bfloat16)


def lowered(body: Any, *arguments: Any, check_vma: bool = False, setup: Setup = SETUP) -> str:
    """The program for CUDA of ``body(comm, *arguments)`` on one rank of two."""
    mesh = Mesh(np.array(jax.devices()[:1]), ("tp",))
    comm = AllReduce(mesh, "tp")
    comm._setup = setup
    specs = (comm.spec, *(P("tp") for _ in arguments))
    mapped = jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("tp"), check_vma=check_vma)
    return str(jax.jit(mapped).trace(comm, *arguments).lower(lowering_platforms=("cuda",)).as_text())


def calls(program: str, backend: str = "ptx") -> list[str]:
    """What each call of ours in a program launches."""
    return re.findall(rf"@{re.escape(launch.BACKENDS[backend])}\(.*?[{{ ]name = \"(\w+)\"", program)
