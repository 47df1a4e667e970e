"""The values that cross the stages: told, sent, and shown."""

from __future__ import annotations

import io
import json
import os
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import Machine, plan
from jaxgpu_tune.model import Presets
from tests.fleet import machine


@pytest.mark.parametrize(
    ("environ", "arguments"),
    [
        ({"XLA_FLAGS": "--xla_dump_to=a"}, {"layer_bytes": 1000}),
        ({"NSYS_PROFILING_SESSION_ID": "1"}, {"pgle": "auto"}),
        ({"OMP_NUM_THREADS": "8"}, {"env": {"OMP_NUM_THREADS": "4"}}),
        ({"OMP_NUM_THREADS": "8"}, {"env": {"OMP_NUM_THREADS": "4"}, "prefer": "existing"}),
    ],
)
def test_a_report_round_trips_to_json_and_replays(environ: dict[str, str], arguments: dict[str, Any]) -> None:
    """What the plan depended on is in it, whatever the variables are called."""
    first = plan("fsdp", machine=machine(), environ=environ, **arguments)
    told = json.loads(json.dumps(first.to_dict()))
    again = plan(
        machine=Machine.from_dict(told["machine"]), environ=told["inputs"]["environ"], **told["inputs"]["arguments"]
    )
    assert again.to_dict()["decisions"] == told["decisions"] and again.xla_flags == first.xla_flags


REPORT = jaxgpu_tune.plan("fsdp", environ={}, machine={"gpus": [{"compute_capability": "9.0", "count": 8}]})


def test_a_report_is_pickled_whole() -> None:
    """With its machine, decisions and inputs; for processes that are sent one."""
    again = pickle.loads(pickle.dumps(REPORT))
    assert again == REPORT and again.machine == REPORT.machine and str(again) == str(REPORT)
    assert pickle.loads(pickle.dumps(REPORT.machine)) == REPORT.machine
    assert all(pickle.loads(pickle.dumps(preset)) == preset for preset in jaxgpu_tune.presets())


SECRET = {"WANDB_API_KEY": "abc123", "HTTPS_PROXY": "http://me:abc123@host"}


def test_a_secret_is_in_no_form_of_a_report() -> None:
    """Though the value itself is there for who needs it."""
    report = plan("auto", machine=machine(), environ={}, env=SECRET)
    forms = (json.dumps(report.to_dict()), repr(report), str(report), report.details(), report._repr_html_())
    assert all("abc123" not in form for form in forms)
    assert report.environ["WANDB_API_KEY"] == "abc123"


def test_a_plan_that_was_not_applied_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    plan("auto", machine=machine(), env={"NCCL_DEBUG": "WARN"}).restore()
    assert os.environ["NCCL_DEBUG"] == "INFO"


def test_what_is_told_of_a_report_is_what_is_printed() -> None:
    """Also in a terminal of IPython."""
    report, printed = plan("fsdp", machine=machine(), environ={}), io.StringIO()
    report._repr_pretty_(SimpleNamespace(text=printed.write), False)
    assert printed.getvalue() == str(report)


def test_presets_are_a_table_in_notebooks() -> None:
    shown = jaxgpu_tune.presets()
    assert isinstance(shown, Presets) and shown._repr_html_().count("<tr>") == len(shown) + 1
