"""A profile in which nothing is missing: two GPUs of two ranks, one of each slow."""

from __future__ import annotations

from jaxgpu_tune.knowledge.advice import Advice
from jaxgpu_tune.measure.profile import HostTimes, Profile, Rank
from jaxgpu_tune.measure.timeline import Block, Lane, Timeline
from jaxgpu_tune.measure.trace.buffer_plan import Buffer, BufferPlan
from jaxgpu_tune.measure.trace.collectives import Collective
from jaxgpu_tune.measure.trace.kernels import Kernel
from jaxgpu_tune.measure.trace.reduction import GpuStep, Graphs

PARTS = {
    "computing": 6.0,
    "copies": 1.0,
    "exposed_communication": 2.0,
    "cuda_graphs": 0.0,
    "idle_host": 0.5,
    "idle_launches": 0.4995,
    "idle_peer": 0.0005,
}


def gpu(number: int, **changes: object) -> GpuStep:
    """One that takes ten milliseconds a step."""
    one = GpuStep(
        gpu=f"/device:GPU:{number}",
        device="NVIDIA H200",
        capability=9.0,
        steps=3,
        by="train",
        module="jit_train",
        step_ms=10.0,
        parts=PARTS,
        communicating_ms=4.0,
        hidden_ms=2.0,
        waiting_ms=0.25,
        transposes_ms=0.3,
        gathered_transposes_ms=0.1,
        conversions_ms=0.2,
        float32_products_ms=0.0,
        launches=90.0,
        looped_launches=0.0,
        graphs=Graphs(),
        collectives=(),
        kernels=(),
        edges=(0.0, 1e7, 2e7),
    )
    return one._replace(**changes)


def collective(number: int, **changes: object) -> Collective:
    """One of a kind of its own."""
    one = Collective(f"all-gather {number}", 4.0, 2_000_000, 1.0, 0.75, 0.25, 0.0, 310.4, "model.py:12", "jit(f)/a", ())
    return one._replace(**changes)


WHOLE = Profile(
    command=("python", "train.py", "<x>"),
    step_ms=9.0,
    traced_ms=10.0,
    clock="calls",
    function="train",
    error=0.004,
    parts=PARTS,
    ranges={"computing": (5.0, 7.0), "idle_peer": (0.0, 0.0005)},
    communicating_ms=4.0,
    hidden_ms=3.0,
    waiting_ms=0.5,
    collectives=(
        *(collective(number) for number in range(4)),
        collective(4, bytes=None, gb_per_s=None, source="", runs=0.5),
        collective(5, runs=2.0, ms=0.5, exposed_ms=0.125),
        collective(6, runs=3.0, ms=0.25, exposed_ms=0.125),
    ),
    kernels=(
        Kernel("gemm_" + "x" * 50, "computing", 3.0, 2.0, "model.py:30", "jit(f)/b"),
        *(Kernel(f"kernel_{n}", "computing", 0.5, 1.0, "", "jit(f)/" + "long/" * 12) for n in range(6)),
    ),
    advice=(
        Advice("use-fsdp", "It waits <long>.", "Do & try it.", "2 times on H200", "https://example.org/a?b=1&c=2"),
    ),
    gpus=(gpu(0), gpu(1, waiting_ms=1.5, parts={**PARTS, "exposed_communication": 4.0})),
    ranks=(
        Rank(0, 9.0, own_ms=7.0),
        Rank(1, 9.5, own_ms=8.0),
        Rank(2, None),
    ),
    slow_rank=1,
    skew_ms=1.0,
    host=HostTimes(first_step_s=12.34, compiled=5, compile_s=4.56, recompiled=2),
    peak_bytes=30_000_000_000,
    limit_bytes=141_000_000_000,
    memory=BufferPlan(
        1_500_000,
        0,
        2_000_000_000_000,
        (
            Buffer(999, "dot.1", "model.py:9"),
            Buffer(12_345, "add.2", ""),
            Buffer(3, "c", ""),
            Buffer(2, "not.shown", ""),
        ),
    ),
    device="NVIDIA H200",
    unnamed_ms=8.0,
    notes=("no trace of rank <2>",),
    timeline=Timeline(
        (
            Lane("/device:GPU:0", "computing (2)", (Block(1.23456, 2.0, "dot", "computing", "</script>"),)),
            Lane("/device:GPU:0", "copies", (Block(3.0, 0.5, "dot", "copies", ""),)),
        ),
        (("/device:GPU:0", (0.0, 10.00049)),),
        7,
    ),
)
