"""What is kept of a search: every finished run, whatever ended it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.search.trials import Trial
from jaxgpu_tune.measure.tuning.how import ENDS, output_of
from jaxgpu_tune.measure.tuning.journal import NAME, Journal, own_folder, trial_json, trial_of
from tests.measure.atoms import atom

ATOMS = st.builds(atom, st.sampled_from(["a=1", "b=", "--c=x=y"]), st.sampled_from(["env", "xla_flag"]))
TRIALS = st.builds(
    Trial,
    st.frozensets(ATOMS),
    st.sampled_from(["start", "toggle", "prune", "check"]),
    st.none() | st.floats(0, 100),
    st.sampled_from(["", "hang"]),
    st.floats(0, 9),
    st.text(max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2),
)
ABOUT = {"command": ["python", "x"], "jaxlib": "0.11.2"}
ONE, TWO = (Trial(frozenset([atom(f"a={n}")]), "toggle", float(n)) for n in (1, 2))


@given(TRIALS)
def test_a_trial_is_read_as_it_was_written(trial: Trial) -> None:
    assert trial_of(trial_json(trial)) == trial


def test_of_what_a_kept_run_printed_the_beginning_and_the_end_are_left(tmp_path: Path) -> None:
    journal = Journal(tmp_path / NAME, ABOUT)
    for number, trial in enumerate((ONE, TWO), start=1):
        output = output_of(tmp_path, number)
        output.parent.mkdir()
        output.write_bytes(b"a" * 3 * ENDS)
        journal.add(trial)
        assert 2 * ENDS < output.stat().st_size < 2.1 * ENDS


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    """Also where it was ended in the middle of a line."""
    path = tmp_path / "runs" / NAME
    journal = Journal(path, ABOUT)
    journal.add(ONE)
    assert Journal(path, ABOUT).trials == [ONE] and not journal.earlier
    with path.open("ab") as file:
        file.write(b'{"config": [["xla')
    again = Journal(path, ABOUT)
    assert again.trials == [ONE]
    again.add(TWO)
    (earlier,) = again.earlier
    assert (earlier.severity, earlier.message.split(" here.")[0]) == ("note", "1 run of an earlier start counts")
    assert f"remove {path.parent} and start again" in Journal(path, ABOUT).earlier[0].message
    assert Journal(path, ABOUT).trials == [ONE, TWO] == again.trials
    assert len(path.read_bytes().splitlines()) == 3


def test_another_search_is_told_with_what_differs(tmp_path: Path) -> None:
    """One that finished no run gives way."""
    path = tmp_path / NAME
    Journal(path, {**ABOUT, "more": 1})
    Journal(path, ABOUT).add(ONE)
    with pytest.raises(BadSetting, match=r"another search\. What differs: jaxlib, more\.") as raised:
        Journal(path, {**ABOUT, "jaxlib": "0.12.0", "more": 2})
    assert [one.code for one in raised.value.findings] == ["another-search"]
    assert Journal(path, {"jaxlib": "0.11.2", "command": ("python", "x")}).trials == [ONE]


def test_each_search_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """The next one beside what holds another; the same one again where it was."""
    for number, folder in ((1, "runs"), (2, "runs-2"), (3, "runs-3")):
        about = {"number": number}
        own = own_folder(tmp_path / "runs", about)
        assert own == tmp_path / folder
        Journal(own / NAME, about).add(ONE)
        assert own_folder(tmp_path / "runs", about) == own


def test_one_process_searches_with_a_journal_at_a_time(tmp_path: Path) -> None:
    """A second one is refused, in words, and may come after the first."""
    first, second = (Journal(tmp_path / NAME, {"command": ["a"]}) for _ in range(2))
    with first.alone():
        first.add(ONE)
        with pytest.raises(BadSetting, match="Another process is searching") as refused, second.alone():
            raise AssertionError
        assert [(one.code, one.severity) for one in refused.value.findings] == [("search-under-way", "error")]
    with second.alone():
        assert second.trials == [ONE], "what the first has found since"
        second.add(TWO)
    assert Journal(tmp_path / NAME, {"command": ["a"]}).trials == [ONE, TWO]


def test_a_search_that_is_refused_leaves_the_other_ones_journal_as_it_is(tmp_path: Path) -> None:
    """Also while the other one is in its first run, with the same name for its answer but another program."""
    mine, other = {"command": ["mine"]}, {"command": ["other"]}
    journal = Journal(tmp_path / NAME, mine)
    with journal.alone():
        with pytest.raises(BadSetting, match="Another process is searching"), Journal(tmp_path / NAME, other).alone():
            raise AssertionError
        journal.add(ONE)
    assert Journal(tmp_path / NAME, mine).trials == [ONE]
