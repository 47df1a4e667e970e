"""``diff``: what changed between two releases."""

from __future__ import annotations

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_diff_of_a_release_that_is_in_no_table_is_wrong_use() -> None:
    """It would compare another one."""
    result = call("diff", "9.9.9", "0.11.2")
    assert result.exit_code == 2 and "jaxlib 9.9.9 is in no table." in result.stderr and "0.12.0.1" in result.stderr


def test_diff_of_my_flags_where_none_are_set_says_so() -> None:
    """Not that nothing changed."""
    assert call("diff", "0.5.1", "0.11.2", "--mine").stdout == "There are no flags to look at: none are set.\n"
    unchanged = call("diff", "0.5.1", "0.11.2", "--flags=--xla_gpu_autotune_level=2").stdout
    assert unchanged == "Nothing changed from 0.5.1 to 0.11.2 about these flags.\n"


def test_diff_names_the_flags_that_neither_release_has() -> None:
    """That nothing changed about them would sound as if they were fine."""
    result = call("diff", "0.5.1", "0.11.2", "--flags=--xla_gpu_autotune_levle=2 --xla_gpu_graph_level=0")
    assert result.stderr == "Neither of the two has --xla_gpu_autotune_levle.\n"


def test_diff_compares_with_the_installed_release_by_default() -> None:
    """That of the machine here."""
    assert call("diff", "0.4.35").stdout == call("diff", "0.4.35", "0.11.2").stdout != ""
