"""Comparisons of which every part is told, and those that came to nothing."""

from __future__ import annotations

from jaxgpu_tune.measure.comparison import Comparison, Variant, VariantRun
from jaxgpu_tune.measure.statistics import Verdict
from jaxgpu_tune.model import Finding


def trial(name: str, number: int, value: float | None, **more: object) -> VariantRun:
    """One run."""
    return VariantRun(name, number, "ok" if value else "died", clock="marks", value=value, **more)


REFERENCE = Variant(
    "none",
    Verdict("no-difference"),
    trials=(
        trial("none", 0, 0.010, compile_seconds=9.0, first_step_s=20.5, peak_bytes=3 * 2**30),
        trial("none", 1, 0.012, compile_seconds=11.0, first_step_s=21.5, peak_bytes=2 * 2**30),
        trial("none", 2, None),
    ),
)
FASTER = Variant(
    "fsdp <a>",
    Verdict("faster", 1.25, (1.2, 1.3), 0.969),
    ratios=(1.2, 1.25, 1.3),
    trials=(trial("fsdp <a>", 1, 0.0095),),
    settings={"XLA_FLAGS": "--xla_a"},
)
SLOWER = Variant("mine", Verdict("slower", 0.5, (0.4, 0.6), 0.97), ratios=(0.4, 0.6), trials=(trial("mine", 1, 2e-5),))
DIED = Variant("broken", Verdict("failed"), status="died", cause="it ended with status 1")
SILENT = Variant("silent", Verdict("failed"))

WHOLE = Comparison(
    (REFERENCE, SLOWER, FASTER, DIED, SILENT),
    clock="marks",
    ended="budget",
    noise=1.012,
    percentile=95.0,
    caches="warm",
    findings=(
        Finding("busy-gpu", "note", "GPU 0 is <busy>.", "Wait."),
        Finding("few-pairs", "warning", "There were three pairs only.", "Give it more time."),
    ),
    command="jaxgpu-tune compare none 'fsdp <a>' -- python train.py",
    seconds=75.0,
)
FAILED = Comparison(
    (
        Variant(
            "none",
            Verdict("failed"),
            status="died",
            cause="it ended with status 1",
            trials=(trial("none", 0, None, last_words="no\n  such file"),),
        ),
        DIED,
    ),
    clock="",
    ended="failed",
)
ALONE = Comparison((REFERENCE._replace(verdict=Verdict("failed"), trials=()),), clock="whole", ended="interrupted")
EQUAL = WHOLE._replace(
    variants=(REFERENCE, FASTER._replace(verdict=Verdict("no-difference", 1.001, (0.99, 1.01), 0.97))),
    clock="metric",
    higher_is_better=True,
    ended="complete",
    noise=None,
    percentile=None,
    caches="",
    findings=(),
    command="",
    seconds=0.5,
)
