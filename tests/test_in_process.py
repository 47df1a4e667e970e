"""The runs of a search in this process: what is left out, and what an earlier start did not come back from."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.host.observe import observe
from jaxgpu_tune.in_process import CallRuns
from jaxgpu_tune.measure.search.trials import Step
from jaxgpu_tune.measure.tuning.space import Space, space_of
from jaxgpu_tune.measure.tuning.tune import files_of
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.request import make_request

H200 = {"jaxlib": "0.11.2", "jax": "0.11.2", "gpus": [{"compute_capability": "9.0", "name": "NVIDIA H200"}]}


def runs() -> tuple[CallRuns, Space]:
    """Of a function that is not run here, and what could be tried of it on an H200."""
    space = space_of(make_request(), observe({}, Machine.from_dict(H200), live=False), ["simulation"])
    return CallRuns(jax.jit(jnp.tanh), (jnp.ones(4),), 0.05, 0.01, None), space


def test_what_may_hang_together_is_left_out_unless_it_is_asked_for() -> None:
    calls, space = runs()
    told = [one.name for one in calls._in_one_process(space).left_out if "may hang" in one.why]
    assert "simulation with loops-in-graphs" in told
    calls.ends = True
    assert not [one.name for one in calls._in_one_process(space).left_out if "may hang" in one.why]


def test_what_an_earlier_start_did_not_come_back_from_is_known(tmp_path: Path) -> None:
    calls, space = runs()
    calls.space = space
    files, pair = (
        files_of(tmp_path / "tuned.toml"),
        frozenset(one for move in space.moves[:2] for one in move.config),
    )
    with calls.journal(files, {}) as journal:
        assert journal.trials == []
        calls._in_case_of_no_return(Step(pair, "toggle")).__enter__()
    with calls.journal(files, {}) as journal:
        assert [(one.config, one.failure) for one in journal.trials] == [(pair, "hang")]
    with calls.journal(files, {}) as journal, calls._in_case_of_no_return(Step(pair, "toggle")):
        assert len(journal.trials) == 1
    with calls.journal(files, {}) as journal:
        assert len(journal.trials) == 1


def test_what_another_process_is_in_right_now_is_not_taken_for_lost(tmp_path: Path) -> None:
    """The second search is refused, and the first comes back from it."""
    (calls, space), (other, _) = runs(), runs()
    calls.space = space
    files, step = files_of(tmp_path / "tuned.toml"), Step(space.moves[0].config | space.moves[1].config, "toggle")
    with calls.journal(files, {}) as journal, journal.alone():
        with calls._in_case_of_no_return(step):
            with pytest.raises(BadSetting, match="Another process is searching"), other.journal(files, {}):
                raise AssertionError
            assert calls.lost is not None and calls.lost.exists()
        assert not calls.lost.exists() and journal.trials == []
