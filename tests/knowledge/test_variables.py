"""Who reads which variable: a near miss is claimed of no name that somebody reads."""

from __future__ import annotations

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge.tables import read_table
from jaxgpu_tune.knowledge.variables import is_read, misspelt, program_of, unread
from jaxgpu_tune.planning.settings.variable_checks import name_finding
from tests.fleet import machine


@pytest.mark.parametrize("name", [*read_table("variables")["programs"], "JAX_COORDINATOR_PORT", "NCCL_IB_TIMEOUT"])
def test_a_name_that_somebody_reads_is_no_misspelling(name: str) -> None:
    """As MaxText reads JAX_COORDINATOR_IP beside JAX_COORDINATOR_PORT."""
    assert misspelt(name) is None and name_finding(name, "0.11.2") is None
    assert is_read(name) != bool(program_of(name))


@pytest.mark.parametrize("name", read_table("variables")["nobody"])
def test_a_name_that_nobody_reads_is_told_with_what_to_do(name: str) -> None:
    """Inherited and asked for."""
    assert unread(name) and not is_read(name) and not program_of(name)
    for asked in ({"environ": {name: "60"}}, {"environ": {}, "env": {name: "60"}}):
        found = [
            f for f in jaxgpu_tune.plan("auto", machine=machine(), probe=False, **asked).findings if name in f.message
        ]
        assert [(f.code, f.severity) for f in found] == [("variable-without-reader", "warning")]
        assert "initialization_timeout=" in found[0].hint


def test_a_near_miss_is_told_still() -> None:
    assert misspelt("JAX_COORDINATOR_PORTS") == "JAX_COORDINATOR_PORT"
    assert misspelt("NCCL_IB_TIMEOUTS") == "NCCL_IB_TIMEOUT"


def test_explain_says_who_reads_it() -> None:
    assert "MaxText" in jaxgpu_tune.explain("JAX_COORDINATOR_IP").does
