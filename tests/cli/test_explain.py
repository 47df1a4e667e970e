"""``explain``: all about one name."""

from __future__ import annotations

import json

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_explain_takes_a_name_as_one_types_it() -> None:
    """With dashes or without; JSON holds what the text tells."""
    assert call("explain", "--xla_gpu_autotune_level").output == call("explain", "xla_gpu_autotune_level").output
    told = json.loads(call("explain", "xla_gpu_autotune_level", "--json").output)
    assert told["name"] == "xla_gpu_autotune_level" and told["type"] == "int32"


def test_a_variable_of_which_only_its_reader_is_known_is_explained() -> None:
    """By what reads it."""
    result = call("explain", "NCCL_IB_HCA")
    assert result.exit_code == 0 and "NCCL reads a variable of this name." in result.stdout
    assert call("explain", "NCCL_IB_HCAS").exit_code == 2


def test_what_is_like_no_flag_gets_no_suggestion() -> None:
    """A beginning in common is not enough; a slip of the finger is found."""
    assert "Did you mean" not in call("explain", "xla_gpu_nope").stderr
    assert "Did you mean xla_gpu_autotune_level?" in call("explain", "xla_gpu_autotune_lvl").stderr
