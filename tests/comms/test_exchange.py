"""What several processes agree on while a communicator is made, in two real processes."""

from __future__ import annotations

from tests.jobs import job

CODE = """
join()
import jax, numpy as np
from jax.sharding import Mesh
from jaxgpu_tune.comms import AllReduce
from jaxgpu_tune.comms.exchange import Exchange, Objection
mesh = Mesh(np.array(jax.devices()), ("tp",))
exchange = Exchange(mesh)
tell({str(process): text for process, text in exchange.heard(f"I am {rank}").items()})
def fails_on_one():
    if rank == 1:
        raise RuntimeError("no memory")
    return "fine"
try:
    tell(exchange.all_do(fails_on_one))
except Objection as objection:
    tell(str(objection))
tell(exchange.all_do(lambda: rank))
if rank == 0:
    Exchange(Mesh(np.array(jax.local_devices()), ("tp",))).heard("alone")
tell(AllReduce(mesh, "tp").explain())
others = Mesh(np.array([device for device in jax.devices() if device.process_index != rank]), ("tp",))
for given in (mesh, "tp", (rank + 1) << 20), (others, "tp"):
    try:
        AllReduce(*given)
    except ValueError as error:
        tell(str(error))
part()
"""


def test_two_processes_agree() -> None:
    """Each hears both; what fails in one is every process's reason; what goes well in all returns each one's value.

    A communicator of one process's own devices in between changes nothing. Arguments that differ, which would give kernels that
    do not fit together, are told in both.
    """
    one, other = job(CODE, [{}, {}])
    assert one[0] == other[0] == {"0": "I am 0", "1": "I am 1"}
    assert one[1] == "process 1: fails_on_one failed: no memory" and other[1] == "fails_on_one failed: no memory"
    assert (one[2], other[2]) == (0, 1)
    assert one[3] == other[3] == "AllReduce over 'tp', 2 ranks: lax.psum, since the devices are cpu, not NVIDIA GPUs."
    assert one[4] == other[4]
    assert "process 0: axis='tp', max_bytes=1048576" in one[4] and "process 1: axis='tp', max_bytes=2097152" in one[4]
    assert "has no device of this process" in one[5] and "has no device of this process" in other[5]
