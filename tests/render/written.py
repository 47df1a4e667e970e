"""Reports made of values written by hand."""

from __future__ import annotations

from jaxgpu_tune.model import Decision, Finding, Gpu, Machine, Processes, Report

LONG = "--xla_gpu_enable_latency_hiding_scheduler"
EMPTY = Report(preset="fsdp", machine=Machine(), xla_flags="", environ={}, jax_config={}, decisions=(), findings=())
FULL = EMPTY._replace(
    applied=True,
    environ={"XLA_FLAGS": "--xla_a=1 --xla_b='x y'", "JAX_PGLE": None},
    decisions=(
        Decision("xla_flag", "xla_unmet", None, "unmet", "needs devices >=2, here 1", "preset fsdp", "preset"),
        Decision(
            "xla_flag", LONG[2:], "true", "set", "overlaps collectives with computation " * 3, "preset fsdp", "preset"
        ),
        Decision("xla_flag", "xla_gpu_enable_command_buffer", "", "kept", "was set already", "XLA_FLAGS"),
        Decision("xla_flag", "xla_other", None, "unmet", "needs devices >=2, here 1", "preset fsdp", "preset"),
        Decision("jax_config", "jax_enable_pgle", None, "dropped", "<b>unknown</b> here", ""),
    ),
    findings=(
        Finding("a-note", "note", "Something to know."),
        Finding("an-error", "error", "This is wrong:\n  --xla_<typo>\n  ^^^^^^^", "Write it right & well."),
    ),
    machine=Machine(
        gpus=(Gpu(0, name="NVIDIA H100", compute_capability="9.0", memory_bytes=80 << 30),) * 2,
        jaxlib="0.5.1",
        plugins={"jax-cuda12-pjrt": "0.5.1"},
        processes=Processes(rank=1, count=2, launcher="slurm"),
    ),
)
