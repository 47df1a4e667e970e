"""What is said of a setting that comes too late: what has read it, in which line, and what to do."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.too_late import CONFIGURE, Happened, SetLate

IMPORT, START = Happened(1, "import jax"), Happened(2, "jax.devices()")


@pytest.mark.parametrize(
    ("late", "severity", "message"),
    [
        (
            SetLate(3, "XLA_FLAGS", START),
            "error",
            "XLA_FLAGS is set after JAX has started (line 2: jax.devices()), which does not read it again.",
        ),
        (
            SetLate(3, "CUDA_VISIBLE_DEVICES", Happened(2, "x.cuda()", "CUDA"), children=True),
            "warning",
            (
                "CUDA_VISIBLE_DEVICES is set after CUDA has started (line 2: x.cuda()), which does not read it again; "
                "only processes that are started later see it."
            ),
        ),
        (
            SetLate(3, "JAX_PLATFORMS", IMPORT),
            "error",
            "JAX_PLATFORMS is set after `import jax` (line 1), which has read it.",
        ),
        (
            SetLate(3, "XLA_FLAGS", START, by="numpyro.set_host_device_count()"),
            "error",
            (
                "numpyro.set_host_device_count() sets XLA_FLAGS after JAX has started (line 2: jax.devices()), which does "
                "not read it again."
            ),
        ),
        (
            SetLate(3, CONFIGURE, START),
            "error",
            "configure() is called after JAX has started (line 2: jax.devices()): it would raise TooLate.",
        ),
        (
            SetLate(3, "XLA_FLAGS", Happened(2, CONFIGURE), way="over"),
            "error",
            "XLA_FLAGS is set here, behind configure() (line 2). This takes out what configure() has set.",
        ),
        (
            SetLate(3, "XLA_FLAGS", Happened(2, CONFIGURE), way="unless"),
            "warning",
            (
                "XLA_FLAGS is set here, behind configure() (line 2). This acts only where nothing else has set it, as "
                "configure() does."
            ),
        ),
    ],
)
def test_it_names_what_has_read_it_and_where(late: SetLate, severity: str, message: str) -> None:
    assert (late.finding().severity, late.finding().message) == (severity, message)
    assert late.finding("cell {}".format).message == message.replace("line", "cell")
