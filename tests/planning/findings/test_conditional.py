"""Findings of a report that claims nothing as done."""

from __future__ import annotations

import pytest

import jaxgpu_tune
from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.findings.conditional import conditional, would_be
from tests.fleet import machine


@pytest.mark.parametrize(
    ("said", "would"),
    [
        ("--a is left out: no such flag", "--a would be left out: no such flag"),
        ("it is taken out, and B is dropped", "it would be taken out, and B would be dropped"),
        ("A is removed", "A would be removed"),
        ("A is used instead; B is used", "A would be used instead; B would be used"),
        ("it is read as --a", "it would be read as --a"),
        ("it is read as a number", "it is read as a number"),
        ("--a=1 now stands in XLA_FLAGS", "--a=1 would stand in XLA_FLAGS"),
        ("they now stand in it", "they would stand in it"),
        ("this is left", "this is left"),
        ("his left out", "his left out"),
        ("GPU 0 is busy", "GPU 0 is busy"),
    ],
)
def test_what_is_done_would_be_done(said: str, would: str) -> None:
    report = jaxgpu_tune.plan(machine=machine(), environ={})
    finding = Finding("some-code", "warning", said, "It is used.")
    (told,) = conditional(report._replace(findings=(finding,))).findings
    assert told == finding._replace(message=would)


@pytest.mark.parametrize(
    ("said", "would"),
    [
        ("It is taken out.", "It would be taken out by configure()."),
        (
            "--b is used instead; --a is left out",
            "--b would be used instead by configure(); --a would be left out by configure()",
        ),
        ("`a` is read as `b`", "`a` would be read by configure() as `b`"),
        ("--a=1 now stands in XLA_FLAGS", "--a=1 would stand in XLA_FLAGS"),
    ],
)
def test_who_would_do_it_is_named(said: str, would: str) -> None:
    assert would_be(said, "configure()") == would


def test_an_error_under_strict_claims_nothing_as_done() -> None:
    """It is raised before anything is applied."""
    with pytest.raises(jaxgpu_tune.BadSetting, match="It would be taken out"):
        jaxgpu_tune.plan(machine=machine(), environ={"XLA_PYTHON_CLIENT_MEM_FRACTION": "75%"}, strict=True)
