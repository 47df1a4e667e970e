"""The marker variable: what it tells, what a damaged one does, and pinning."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.host.marker import MARKER, follow, is_pinned, pinned, read_state, state_text, touched
from jaxgpu_tune.state import FlagsText, Layer, State
from tests.child import clean_environ, told

LEVEL = {"xla_gpu_autotune_level": 2}


def planned(base: dict[str, str], **arguments: object) -> dict[str, str]:
    """The environment after one more call."""
    return jaxgpu_tune.environ(base=base, **arguments)


def test_the_users_environment_comes_back_to_the_letter() -> None:
    """What of it we read otherwise than XLA does, too."""
    for text in (
        "  --xla_dump_to=a   --xla_gpu_autotune_level=4 ",
        "--xla_dump_to a # why",
        "",
        " ",
        "\u2013\u2013xla_dump_to=b",
    ):
        base = {"XLA_FLAGS": text, "NCCL_DEBUG": "INFO"}
        made = planned(base, flags=LEVEL, env={"NCCL_DEBUG": None, "NCCL_ALGO": "Ring"}, memory_fraction=0.4)
        assert made["XLA_FLAGS"].endswith("--xla_gpu_autotune_level=2") and "NCCL_DEBUG" not in made
        assert follow(made).environ == base
        assert follow(planned(made, flags={"xla_gpu_autotune_level": 3})).environ == base


def test_a_call_that_asks_for_nothing_and_changes_nothing_leaves_no_marker() -> None:
    assert planned({"JAX_PLATFORMS": "cpu"}) == {"JAX_PLATFORMS": "cpu"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"v":1}', '{"v":2,"set":{"A=B":["1",null]}}', '{"XLA_FLAGS":[null,"--a=1"]}', "[" * 99_999]
)
def test_a_damaged_marker_counts_as_none_and_is_told(text: str) -> None:
    environ = {MARKER: text, "NCCL_DEBUG": "INFO"}
    assert follow(environ).environ == {"NCCL_DEBUG": "INFO"} and touched(environ) == {}
    assert "damaged-state" in {finding.code for finding in jaxgpu_tune.plan(environ=environ).findings}


def test_what_is_set_by_hand_afterwards_is_the_users() -> None:
    made = planned({"NCCL_DEBUG": "INFO"}, env={"NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring"})
    made = {name: text for name, text in made.items() if name != "NCCL_ALGO"} | {"NCCL_DEBUG": "TRACE"}
    report = jaxgpu_tune.plan(environ=made)
    assert [f.message.split(" (")[0] for f in report.findings if f.code == "request-edited"] == [
        "NCCL_DEBUG=WARN",
        "NCCL_ALGO=Ring",
    ]
    assert follow(made).environ == {"NCCL_DEBUG": "TRACE"}
    assert {d.name: d.value for d in report.decisions if d.name.startswith("NCCL")} == {
        "NCCL_DEBUG": "TRACE",
        "NCCL_ALGO": None,
    }


def test_a_pinned_environment_stays_as_it_is() -> None:
    for base in ({}, planned({}, flags=LEVEL)):
        held = pinned(base)
        assert is_pinned(held) and not is_pinned(base)
        assert planned(held, flags={"xla_gpu_autotune_level": 3}) == held
        assert pinned(held) == held and follow(held).environ == follow(base).environ


def test_a_call_in_a_pinned_process_reports_and_changes_nothing() -> None:
    """Nor does one in a child of it; what it would have changed is a warning."""
    code = """
import os, jaxgpu_tune, subprocess, sys
before = dict(os.environ)
reports = [jaxgpu_tune.configure("fsdp", flags={"xla_gpu_autotune_level": 3}), jaxgpu_tune.configure()]
reports[0].restore()
run = [sys.executable, "-m", "jaxgpu_tune", "run", "fsdp", "--flag", "xla_gpu_autotune_level=1", "--", "env"]
child = subprocess.run(run, capture_output=True, text=True).stdout
said = [[f.severity for f in r.findings if f.code == "pinned"] for r in reports]
tell([[r.applied for r in reports], said, dict(os.environ) == before, "level=2" in child, reports[0].xla_flags])
"""
    environ = pinned({"XLA_FLAGS": "--xla_gpu_autotune_level=2"})
    applied, said, same, child, flags = told(code, **environ)
    assert applied == [False, False] and said == [["warning"], ["note"]] and same and child
    assert "--xla_gpu_autotune_level=3" in flags


def test_run_pins_its_program() -> None:
    import subprocess
    import sys

    program = (
        "import jaxgpu_tune as j, os; j.configure(flags={'xla_gpu_autotune_level': 3}); print(os.environ['XLA_FLAGS'])"
    )
    command = ("run", "auto", "--pin", "--flag", "xla_gpu_autotune_level=2", "--", sys.executable, "-c", program)
    done = subprocess.run(
        [sys.executable, "-m", "jaxgpu_tune", *command], env=clean_environ(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["--xla_gpu_autotune_level=2"] and "pinned" in done.stderr
    assert os.environ.get(MARKER) is None


def test_every_part_of_a_list_that_was_joined_is_still_the_users_after_an_edit() -> None:
    own = "--xla_disable_hlo_passes=a --xla_disable_hlo_passes=b"
    made = planned({"XLA_FLAGS": own}, flags={"xla_disable_hlo_passes": "c"})
    assert made["XLA_FLAGS"] == "--xla_disable_hlo_passes=a,b,c"
    longer = {**made, "XLA_FLAGS": made["XLA_FLAGS"] + " --xla_dump_to=/u"}
    assert follow(longer).environ == {"XLA_FLAGS": f"{own} --xla_dump_to=/u"}


def test_a_secret_that_an_earlier_call_was_given_is_in_no_report() -> None:
    made = planned({}, env={"HF_TOKEN": "sesame-0"}, flags=LEVEL)
    report = jaxgpu_tune.plan(environ=made)
    shown = [str(report), repr(report), str(report.to_dict()), report._repr_html_()]
    assert made["HF_TOKEN"] == "sesame-0" and not any("sesame" in text for text in shown)
    inputs = report.to_dict()["inputs"]
    assert jaxgpu_tune.plan(environ=inputs["environ"]).xla_flags == "--xla_gpu_autotune_level=2"


TEXTS = st.none() | st.text(max_size=5)
NAMES = st.text("ABC_", min_size=1, max_size=3)
FLAGS = st.builds(
    FlagsText,
    st.none() | st.lists(st.sampled_from(["--xla_a=1", "--xla_b"])).map(" ".join),
    st.lists(st.sampled_from(["--xla_a=1", "--xla_b"]), min_size=2).map(tuple),
    st.none() | st.lists(st.integers(0, 1) | st.just("--xla_c"), max_size=3).map(tuple),
)
STATES = st.builds(
    State,
    st.lists(st.builds(Layer, st.integers(), st.text(max_size=5), st.dictionaries(NAMES, st.text()))).map(tuple),
    st.dictionaries(NAMES, st.tuples(TEXTS, TEXTS)),
    st.none() | FLAGS,
    st.dictionaries(NAMES, st.integers()),
    st.booleans(),
)


@given(STATES)
def test_what_is_written_is_read(state: State) -> None:
    assert read_state({MARKER: state_text(state)}) == state


def test_what_is_plain_is_written_once() -> None:
    """XLA_FLAGS that this library reads as XLA does stand there as the text alone."""
    for text, plain in (("--xla_dump_to=a --xla_gpu_autotune_level=4", True), ("\u2013\u2013xla_dump_to=b", False)):
        told = json.loads(planned({"XLA_FLAGS": text}, flags=LEVEL)[MARKER])
        assert told["flags"][0] == text and (told["flags"][1] == 0) is plain
    assert sorted(told) == ["calls", "flags", "v"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"v": 1},
        {"v": 3},
        {"v": 2, "set": {"": ["a", "b"]}},
        {"v": 2, "set": {"A\0": ["a", "b"]}},
        {"v": 2, "set": {"A": [1, "b"]}},
        {"v": 2, "set": {"A": ["a", ["b"]]}},
        {"v": 2, "calls": [["1", "me", {}]]},
        {"v": 2, "calls": [[1, 2, {}]]},
        {"v": 2, "edits": {"A": "1"}},
        {"v": 2, "flags": [1, 0, None]},
        {"v": 2, "flags": ["--a", [1], None]},
        {"v": 2, "flags": ["--a", 0, [7]]},
    ],
)
def test_what_this_library_did_not_write_is_damaged(wrong: dict[str, object]) -> None:
    assert read_state({MARKER: json.dumps(wrong)}) is None
    assert read_state({MARKER: json.dumps({"v": 2})}) == State()


def test_what_was_changed_is_told_and_what_stays_is_not() -> None:
    """The variables that a call changed; one that it asked for and that stood there already is watched only."""
    made = planned({"NCCL_ALGO": "Ring"}, env={"NCCL_ALGO": "Ring", "NCCL_DEBUG": "WARN"}, flags=LEVEL)
    assert touched(made) == {"NCCL_DEBUG": (None, "WARN"), "XLA_FLAGS": (None, "--xla_gpu_autotune_level=2")}
    state = read_state(made)
    assert state is not None and state.variables["NCCL_ALGO"] == ("Ring", "Ring") and not state.pinned
