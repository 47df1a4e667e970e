"""Which release a version on the command line means."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.cli.release import release_of
from jaxgpu_tune.errors import BadSetting
from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


def test_what_is_no_version_is_told_as_it_was_given() -> None:
    for line in (("migrate", "--to", "zzz", "--", "--xla_gpu_graph_level=0"), ("diff", "0.5.1", "zzz")):
        told = call(*line)
        assert told.exit_code == 2
        assert "'zzz' is no version of jaxlib. Allowed: a version such as" in told.output


def test_a_release_of_a_table_stands_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a word; without a version it is the installed one, here of the machine that is described."""
    assert (release_of("0.5.1"), release_of(None), release_of("0.5.1", exact=True)) == ("0.5.1", "0.11.2", "0.5.1")
    assert capsys.readouterr() == ("", "")


def test_another_is_stood_for_by_its_nearest_which_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it has to be exact it is refused instead."""
    found = release_of("9.9.9")
    assert capsys.readouterr().err == f"jaxlib 9.9.9 is in no table; these are the flags of {found}.\n"
    with pytest.raises(BadSetting, match=f"The nearest that is: {found}"):
        release_of("9.9.9", exact=True)


def test_where_none_is_installed_one_has_to_be_named(machine: Path) -> None:
    machine.write_text('{"gpus": []}')
    with pytest.raises(BadSetting, match="Name a release with --jaxlib"):
        release_of(None)
