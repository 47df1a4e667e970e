"""``flags``: those of a release, or those that match."""

from __future__ import annotations

import json

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_flags_are_those_of_the_release() -> None:
    """A flag that a release lacks is not listed; the objects have at least the four keys of the contract."""
    names = {release: _flags(release) for release in ("0.4.30", "0.11.2")}
    assert "xla_gpu_graph_level" in names["0.4.30"] and "xla_gpu_graph_level" not in names["0.11.2"]
    entry = names["0.11.2"]["xla_gpu_autotune_level"]
    assert entry["type"] == "int32" and entry["default"] == "4" and entry["compile_option"] is True


def _flags(release: str) -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in json.loads(call("flags", "--jaxlib", release, "--json").stdout)}


def test_flags_takes_the_installed_release_and_a_pattern() -> None:
    """The pattern may be written with the dashes."""
    lines = call("flags", "--grep", "--xla_gpu_autotune_level$").stdout.split("\n")
    assert [line.split() for line in lines if line] == [
        ["flag", "type", "default"],
        ["--xla_gpu_autotune_level", "int32", "4"],
    ]


def test_flags_takes_names_and_parts_of_names() -> None:
    """With dashes and a value, too, as they stand in XLA_FLAGS; beside a pattern both must match."""
    told = json.loads(call("flags", "--xla_gpu_autotune_level=2", "gemm_rewrite_size", "--json").stdout)
    assert [one["name"] for one in told] == ["xla_gpu_autotune_level", "xla_gpu_gemm_rewrite_size_threshold"]
    assert json.loads(call("flags", "autotune_level", "--grep", "gemm", "--json").stdout) == []
    assert "matches 'nothing_such gemm'" in call("flags", "nothing_such", "--grep", "gemm").stderr


def test_flags_says_where_no_name_matches() -> None:
    """Not on stdout, which is the list."""
    result = call("flags", "--grep", "GRAPH")
    assert result.exit_code == 0 and not result.stdout and "No flag of jaxlib 0.11.2 matches 'GRAPH'" in result.stderr
