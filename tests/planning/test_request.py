"""The arguments of a call as one value, with everything that is wrong with them at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.arguments import Arguments
from jaxgpu_tune.errors import BadSetting, UnknownArgument, UnknownPreset
from jaxgpu_tune.planning.request import MOST, Request, check_switch, chosen_preset, is_off, make_request


def problems(preset: Any = "auto", **arguments: Any) -> list[str]:
    """What is wrong."""
    return [problem.finding.message for problem in make_request(preset, arguments).problems]


@pytest.mark.parametrize("name", MOST)
@given(number=st.integers(-3, 2**41))
def test_a_count_is_from_one_to_its_most(name: str, number: int) -> None:
    """Beyond that it is a mistake of unit."""
    assert bool(problems(**{name: number})) is not (1 <= number <= MOST[name])


@pytest.mark.parametrize("name", MOST)
def test_the_bounds_of_a_count(name: str) -> None:
    """A layer of 1 TiB, a hundred processes on a GPU, a million GPUs."""
    assert MOST == {"layer_bytes": 1_099_511_627_776, "processes_per_gpu": 100, "devices": 1_048_576}
    assert not problems(**{name: 1}) and not problems(**{name: MOST[name]})
    assert all(problems(**{name: wrong}) for wrong in (0, MOST[name] + 1, 1.0, True, "8"))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("prefer", ("existing", "preset"), ("mine", "", 3)),
        ("late", ("raise", "warn", "reexec"), ("later", None.__class__, 1)),
        ("platform", ("cpu", "cuda"), ("gpu", "CPU ", 1)),
        ("strict", (True, False), ("no", 1)),
        ("probe", (True, False, None), ("no", 1)),
        ("unmeasured", (True, False), ("yes",)),
        ("memory_fraction", (0.5, 1, "auto", None), ("0.5", True, [0.5])),
        ("preset", ("fsdp", "a+b"), ("", None, 3)),
    ],
)
def test_words(name: str, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    """Each with what is allowed."""
    assert not any(problems(**{name: value}) for value in right)
    for value in wrong:
        (message,) = problems(**{name: value})
        assert name in message and repr(value) in message


def test_a_wrong_argument_leaves_its_default() -> None:
    """So that the plan can tell what else is wrong."""
    request = make_request("auto", {"prefer": "mine", "strict": True, "memory_fraction": "0.5", "devices": 0})
    assert (request.prefer, request.strict, request.memory_fraction, request.devices) == ("existing", True, None, None)
    assert len(request.problems) == 3
    assert [make_request(given, {}).preset for given in (3, None, "", "x", Path("x"))] == ["", "", "", "x", "x"]


def test_a_fraction_and_processes_that_share_exclude_each_other() -> None:
    assert problems(memory_fraction=0.5, processes_per_gpu=2)
    assert not problems(memory_fraction="auto", processes_per_gpu=2)


def test_a_name_that_is_no_argument_is_told_with_the_nearest() -> None:
    (problem,) = make_request("auto", {"memory_fractions": 0.5}).problems
    assert "Did you mean memory_fraction=?" in problem.finding.hint
    (problem,) = make_request("auto", {"qqqqqq": 0.5}).problems
    assert all(name in problem.finding.hint for name in Arguments.__annotations__)


def test_all_problems_come_at_once() -> None:
    with pytest.raises(BadSetting) as raised:
        jaxgpu_tune.plan(prefer="mine", late="never", devices=0)
    assert len(raised.value.findings) == 3


def test_earlier_calls_settings_come_before_this_ones() -> None:
    one, two = (make_request("auto", {"env": {"A": text}}).settings for text in "12")
    assert [s.value for s in Request(settings=two, earlier=one).asked] == ["1", "2"]


def test_the_gpus_that_are_asked_for() -> None:
    assert make_request("auto", {"env": {"CUDA_VISIBLE_DEVICES": "1"}}).visible == "1"
    assert make_request("auto", {"env": {"A": "1"}}).visible is None


@pytest.mark.parametrize("text", ["off", "0", "false", "no", "OFF", " off ", "'off'"])
def test_switched_off(text: str) -> None:
    assert is_off({"JAXGPU_TUNE": text}) and not list(check_switch({"JAXGPU_TUNE": text}))


@pytest.mark.parametrize("text", ["", "on", "1", "true", "yes", "Yes"])
def test_switched_on(text: str) -> None:
    assert not is_off({"JAXGPU_TUNE": text}) and not list(check_switch({"JAXGPU_TUNE": text}))
    assert not is_off({}) and not list(check_switch({}))


def test_a_switch_that_says_neither_is_on_and_told() -> None:
    (finding,) = check_switch({"JAXGPU_TUNE": "offf"})
    assert finding.severity == "warning" and "'offf'" in finding.message and not is_off({"JAXGPU_TUNE": "offf"})


def test_the_variable_names_the_preset() -> None:
    """And is told where the program asked for another; a misspelt one is named."""
    assert chosen_preset({}, "fsdp") == ("fsdp", ())
    assert chosen_preset({"JAXGPU_TUNE_PRESET": ""}, "fsdp") == ("fsdp", ())
    named, (note,) = chosen_preset({"JAXGPU_TUNE_PRESET": "debug"}, "fsdp")
    assert named == "debug" and note.severity == "note" and "'fsdp'" in note.message
    for asked in ("auto", "debug"):
        assert chosen_preset({"JAXGPU_TUNE_PRESET": "debug"}, asked) == ("debug", ())
    with pytest.raises(UnknownPreset, match=r"^JAXGPU_TUNE_PRESET: "):
        chosen_preset({"JAXGPU_TUNE_PRESET": "debgu"}, "auto")


@given(st.dictionaries(st.sampled_from(sorted({*Arguments.__annotations__} - {"machine"})), st.just("fsdp")))
def test_what_lasts_is_what_is_not_of_one_call_alone(given_as: dict[str, str]) -> None:
    """A later call need not say it again; how a call is made it says itself."""
    request = make_request("auto", given_as)
    assert {*request.lasting} == {*given_as} - {"prefer", "strict", "probe", "late", "machine"}
    assert make_request("fsdp", given_as).lasting == {"preset": "fsdp", **request.lasting}
    assert "machine" not in Request(arguments={"machine": "a", "late": "warn", "preset": "auto"}).lasting


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("devicez", "Did you mean devices=?"),
        ("Preallocate", "Did you mean preallocate=?"),
        ("qqq", "The arguments are: "),
    ],
)
def test_an_argument_that_there_is_not_is_told_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UnknownArgument) as raised:
        jaxgpu_tune.plan(**{name: 1})  # type: ignore[arg-type]
    (finding,) = raised.value.findings
    assert (finding.code, finding.severity) == ("unknown-argument", "error")
    assert finding.message == f"There is no argument {name!r}." and finding.hint.startswith(hint)
