"""A text of flags: what is wrong with it, and the same for another release."""

from __future__ import annotations

import re

import pytest

import jaxgpu_tune
from jaxgpu_tune.flag_texts import checked, checker, migrator


def test_check_tells_what_is_wrong_with_a_text() -> None:
    found = jaxgpu_tune.check("--xla_gpu_enable_triton_gemm=yes --xla_gpu_nonsense=1", jaxlib="0.11.2")
    assert {f.code for f in found} >= {"bad-flag-value", "unknown-flag"}
    assert jaxgpu_tune.check("--xla_gpu_autotune_level=2", jaxlib="0.11.2") == ()


@pytest.mark.parametrize(
    "text",
    [
        "--foo",
        "--help",
        "--xla_tpu_x=1",
        "-xla_gpu_ftz=1",
        "\u2013\u2013xla_gpu_ftz=1",
        "'--xla_gpu_ftz=1'",
        "--xla_gpu_ftz-false",
        "no/such/file",
    ],
)
def test_check_calls_every_text_that_ends_the_process_an_error(text: str) -> None:
    assert "error" in {finding.severity for finding in jaxgpu_tune.check(text, jaxlib="0.11.2")}


FATAL = "--xla_gpu_graph_level=0"


def test_what_ends_the_process_is_an_error_with_what_to_write_instead() -> None:
    """The reading tells where; a plan would only warn of it."""
    report, read = checked(f"{FATAL} --xla_gpu_autotune_level=2", "0.11.2")
    assert [(one.code, one.severity) for one in report.findings] == [("flag-translated", "error")]
    assert (
        read.ends and read.instead == report.xla_flags == "--xla_gpu_autotune_level=2 --xla_gpu_enable_command_buffer="
    )
    assert [read.text[start:end] for start, end in read.faults] == [FATAL]


def test_the_machine_is_looked_at_once_for_many_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set here does not count, nor what is installed beside jaxlib."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=mine")
    monkeypatch.setenv("JAXGPU_TUNE_MACHINE", "/no/such/file")
    with pytest.raises(jaxgpu_tune.BadSetting, match="no/such/file"):
        migrator("0.11.2")
    monkeypatch.delenv("JAXGPU_TUNE_MACHINE")
    restate = migrator("0.11.2")
    assert [restate(text).xla_flags for text in ("", FATAL, "--xla_gpu_ftz=1")] == [
        "",
        "--xla_gpu_enable_command_buffer=",
        "--xla_gpu_ftz=1",
    ]
    assert {one.name: one.status for one in restate(FATAL).decisions}["xla_gpu_graph_level"] == "translated"


CLAIMS = re.compile(r"\b(is|are) (left out|taken out|dropped|removed|used)\b")


@pytest.mark.parametrize(
    "environ",
    [
        {"XLA_FLAGS": f"{FATAL} --xla_gpu_nonsense=1 --xla_gpu_autotune_level=x foo=1"},
        {"XLA_CLIENT_MEM_FRACTION": "0.9x", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.5", "JAX_ENABLE_X64": "maybe"},
        {"NCCL_DEBUG": "'info'", "NCCL_NVLS_ENABLE": "true", "NCCL_ALGO": "Ring, Tree", "CUDA_MODULE_LOADING": "lazy"},
    ],
)
def test_a_check_claims_nothing_as_done(environ: dict[str, str]) -> None:
    """It only tells; who would do it is named."""
    said = [finding.message for finding in checker("0.11.2")(environ)]
    assert said and not [message for message in said if CLAIMS.search(message)]
    assert any("by configure()" in message for message in said)
