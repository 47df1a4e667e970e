"""The tool that reads options off the wheels of jax: what is read of some releases leaves what is said of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.test_read_flags import command
from tools.read_jax_options import TARGET, read_of, table_text

facts = st.fixed_dictionaries(
    {
        "type": st.just("enum"),
        "default": st.sampled_from([None, "x"]),
        "env": st.booleans(),
        "values": st.sampled_from([[], ["x", "y"]]),
        "optional": st.booleans(),
    }
)
releases = st.dictionaries(
    st.sampled_from(["0.9.1", "0.10.0", "0.10.1", "0.11.0"]), st.dictionaries(st.sampled_from("ab"), facts)
)


def test_what_is_committed_is_in_the_canonical_form() -> None:
    assert table_text(read_of(TARGET.read_text())) == TARGET.read_text()


@given(releases, releases)
def test_in_whatever_steps_releases_are_read_the_table_is_the_same(first: dict[str, Any], then: dict[str, Any]) -> None:
    stepwise = table_text({**read_of(table_text(first)), **then})
    assert stepwise == table_text({**first, **then})


@pytest.mark.slow
def test_a_committed_release_read_anew_changes_nothing(tmp_path: Path) -> None:
    """Off the index, from an empty cache."""
    done = command("0.10.2", "--cache", str(tmp_path), "--yes", tool="read_jax_options")
    assert (done.returncode, done.stdout) == (0, "jax_options.json: unchanged\n")
