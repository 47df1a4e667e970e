"""Under JAXGPU_TUNE=off a report says what would be done, and claims nothing as done."""

from __future__ import annotations

import re

import pytest

import jaxgpu_tune
from jaxgpu_tune.model import Report
from tests.fleet import machine

CLAIMS = r"\bis (left out|taken out|used|dropped|removed|read as)|\bSet by|\d (set|merged|removed)\b|: (now|taken out|dropped)\b"
FLAGS = "--xla_gpu_graph_level=0 --xla_gpu_autotune_levle=2 --xla_gpu_enable_async_collectives=true \u201c--xla_gpu_autotune_level=2\u201d"
ENVIRON = {"XLA_FLAGS": FLAGS, "XLA_PYTHON_CLIENT_PREALLOCATE": "no", "XLA_PYTHON_CLIENT_MEM_FRACTION": "75%"}


def planned(preset: str, switch: str) -> Report:
    environ = {**ENVIRON, "JAXGPU_TUNE": switch}
    here = machine(jaxlib="0.11.2")
    return jaxgpu_tune.plan(preset, environ=environ, machine=here, flags={"xla_gpu_autotune_level": None})


def texts(report: Report) -> tuple[str, ...]:
    """Every form for a person, on one line each and without tags."""
    html = re.sub("<style>.*?</style>|<[^>]*>", " ", report._repr_html_(), flags=re.DOTALL)
    return tuple(" ".join(text.split()) for text in (str(report), report.details(), html))


@pytest.mark.parametrize("preset", ["fsdp", "auto"])
def test_nothing_is_claimed_as_done(preset: str) -> None:
    for text in texts(planned(preset, "off")):
        assert "not applied, since JAXGPU_TUNE is off" in text and "would be" in text
        assert not re.search(CLAIMS, text), re.search(CLAIMS, text)


def test_the_test_can_fail() -> None:
    """Where it is on, the same plan does claim it."""
    for text in texts(planned("fsdp", "on")):
        assert re.search(CLAIMS, text) and "would be set" not in text


def test_findings_say_the_same_otherwise() -> None:
    on, off = (planned("fsdp", switch).findings for switch in ("on", "off"))
    assert [(f.code, f.severity, f.hint) for f in on] == [(f.code, f.severity, f.hint) for f in off]
