"""What is left of a profile, the environment without CUDA graphs, and what a run is told as."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.host.marker import MARKER
from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.profiling import NO_GRAPHS, TOO_SHORT, keep, profile_outcome, without_graphs
from jaxgpu_tune.measure.watched import Compilation, Process
from tests.measure.test_readings import outcome
from tests.render.profiles import WHOLE

PERIOD = Period(0.5, 4, 4, 0, 0.0, 0.25, (0.5,))


def test_the_report_and_every_trace_are_left_where_tools_look(tmp_path: Path) -> None:
    """By rank, or by number where there is none; a trace that is gone is left out."""
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    processes = (
        Process(1, "", trace=str(tmp_path / "a"), rank=3),
        Process(2, "", trace=str(tmp_path / "gone")),
        Process(3, ""),
        Process(4, "", trace=str(tmp_path / "b")),
    )
    place = tmp_path / "new" / "out"
    kept = keep(WHOLE, outcome(processes=processes), place)
    traces = place / "plugins" / "profile" / "jaxgpu_tune"
    assert kept == [
        place / "profile.json",
        place / "profile.html",
        traces / "rank3.xplane.pb",
        traces / "rank1.xplane.pb",
    ]
    assert [path.read_bytes() for path in kept[2:]] == [b"one", b"two"]
    assert json.loads(kept[0].read_text()) == json.loads(json.dumps(WHOLE.to_dict()))
    assert kept[1].read_text().startswith("<!")


@pytest.mark.parametrize(
    ("flags", "made"), [(None, NO_GRAPHS), ("", NO_GRAPHS), (" --xla_a=1", f" --xla_a=1 {NO_GRAPHS}".strip())]
)
def test_cuda_graphs_are_taken_off_behind_what_is_set(flags: str | None, made: str) -> None:
    environ = {"A": "1"} if flags is None else {"A": "1", "XLA_FLAGS": flags}
    assert without_graphs(environ) == {"A": "1", "XLA_FLAGS": made}
    assert environ.get("XLA_FLAGS") == flags


def test_a_file_of_flags_cannot_be_added_to() -> None:
    with pytest.raises(BadSetting, match="names a file") as raised:
        without_graphs({"XLA_FLAGS": "/a/file"})
    assert [one.code for one in raised.value.findings] == ["names-need-flags"]


def test_a_run_is_told_by_those_of_its_processes_that_ran_steps() -> None:
    """With what is known of the host and the device, and why there is no trace."""
    compiled = tuple(Compilation("step", at, 1.5, cached=False) for at in (1.0, 2.0, 3.0))
    device = {"kind": "H200", "peak_bytes": 5, "limit_bytes": 9}
    ran = Process(
        1,
        "",
        clock="marks",
        function="step",
        period=PERIOD,
        compilations=compiled,
        first_step_s=7.0,
        devices=(device,),
        jax="0.11.2",
    )
    found = profile_outcome(outcome(processes=(Process(2, ""), ran), command=("x",)), unnamed_s=0.25)
    assert (found.step_ms, found.clock, found.function, found.error) == (500.0, "marks", "step", 0.25)
    assert (found.command, found.unnamed_ms, len(found.ranks), found.device, found.jax) == (
        ("x",),
        250.0,
        1,
        "H200",
        "0.11.2",
    )
    assert (found.peak_bytes, found.limit_bytes) == (5, 9)
    host = found.host
    assert (host.first_step_s, host.compiled, host.compile_s, host.recompiled, host.recompile_s) == (
        7.0,
        3,
        4.5,
        2,
        3.0,
    )
    assert found.notes == (f"There is no trace: {TOO_SHORT}.",)


def test_what_went_wrong_with_the_run_comes_first(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(b"\xff\xff\xff")
    ran = Process(1, "", clock="marks", trace=str(tmp_path / "trace"))
    found = profile_outcome(outcome(processes=(ran,), silent="It was silent.", cause="it died"))
    first, second, third, *_ = found.notes
    assert (first, second) == ("It was silent.", "The command did not end well: it died.") and "No steady" in third
    assert found.step_ms is None and any(note.startswith("There is no trace: ") for note in found.notes)


@pytest.mark.parametrize(("called", "lost"), [({}, True), ({MARKER: "{}"}, False)])
def test_flags_that_the_program_drops_are_told(called: dict[str, str], lost: bool) -> None:
    """Unless it calls configure(), which tells itself what it changes."""
    compiled = (Compilation("f", 1.0, 0.1, cached=False),)
    ran = Process(1, "", clock="marks", settings={"XLA_FLAGS": "--xla_b=1", **called}, compilations=compiled)
    notes = profile_outcome(outcome(processes=(ran,)), {"XLA_FLAGS": "--xla_a=1"}).notes
    said = "The program sets XLA_FLAGS itself, which drops --xla_a=1. In the program, add to XLA_FLAGS: "
    assert any(note.startswith(said) for note in notes) is lost
