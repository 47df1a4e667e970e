"""What is said in one way everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.xla_flags.grammar import scan
from jaxgpu_tune.wording import (
    by_severity,
    capital,
    count_of,
    counted,
    did_you_mean,
    is_above_zero,
    is_true,
    nearest,
    number_of,
    rough_time,
    setting_text,
    size_text,
    told_once,
    took,
    written,
)


@given(st.lists(st.sampled_from(["note", "error", "warning"])))
def test_the_worst_comes_first_and_equals_keep_their_order(severities: list[str]) -> None:
    findings = [Finding(f"f{number}", severity, "") for number, severity in enumerate(severities)]
    found = by_severity(findings)
    order = ["error", "warning", "note"]
    keys = [(order.index(one.severity), int(one.code[1:])) for one in found]
    assert keys == sorted(keys) and len(found) == len(findings)


@pytest.mark.parametrize(
    ("first", "second", "others"),
    [
        ("--a is old. / Take --a out.", "--b is old. / Take --b out.", "--b"),
        ("x.sh:1: A=1 is bad. / Write A.", "x.sh:7: A=1 is bad. / Write A.", "x.sh:7"),
        ("x.sh:1: --a is old. / Take --a out.", "y.sh:1: --b is old. / Take --b out.", "y.sh:1: --b"),
        ("my x.sh:1: A=1 is bad.", "my x.sh:7: A=1 is bad.", "my x.sh:7"),
        (
            "a.ipynb: cell 1, line 2: --a is old.",
            "a.ipynb: cell 2, line 1: --b is old.",
            "a.ipynb: cell 2, line 1: --b",
        ),
        ("GPU 0 (A100) is busy.", "GPU 1 (A100) is busy.", "GPU 1"),
        ("It has: --a.", "It has: --b.", "--b"),
        ("--a becomes --c.", "--b becomes --d.", ""),
        ("--a is old. / Take --a out.", "--b is old. / Write --c.", ""),
        ("--a is old.", "--b is not old.", ""),
        ("--a is old.", "--a is old.", ""),
    ],
)
def test_what_holds_for_several_things_is_told_once(first: str, second: str, others: str) -> None:
    one, other = (Finding("code", "warning", *text.split(" / ")) for text in (first, second))
    found = told_once([one, other])
    assert found[0].message == one.message + (f" The same holds for {others}." if others else "")
    assert found[0].hint == one.hint and len(found) == (1 if others or one == other else 2)
    assert len(told_once([one, other._replace(severity="error")])) == 2


def test_all_the_others_are_named() -> None:
    many = [Finding("code", "note", f"{name} is old.") for name in "abcc"]
    assert [one.message for one in told_once(many)] == ["a is old. The same holds for b and c."]


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (2, "2"), (0.5, "0.5"), ("x", "x"), ([1, True, "a"], "1,true,a"), ([], "")],
)
def test_a_value_as_xla_takes_it(value: object, text: str) -> None:
    assert setting_text(value) == text


@given(st.floats(allow_nan=False))
def test_a_number_is_read_as_it_was_said(number: float) -> None:
    assert number_of(setting_text(number)) == number


@pytest.mark.parametrize("text", ["", "x", "1x", "--1"])
def test_other_text_is_no_number(text: str) -> None:
    assert number_of(text) is None


@given(st.sampled_from(["xla_a", "xla_gpu_b"]), st.booleans() | st.integers())
def test_a_flag_is_written_as_xla_reads_it(name: str, value: object) -> None:
    (token,) = scan(written("xla_flag", name, setting_text(value))).tokens
    assert (token.name, token.meant) == (name, setting_text(value))
    assert written("env", name, "1") == f"{name}=1"


def test_true_is_what_xla_takes_for_true() -> None:
    assert [is_true(text) for text in ("1", "true", "TRUE", "True")] == [True] * 4
    assert [is_true(text) for text in (None, "", "0", "false", "yes", "2")] == [False] * 6


def test_the_nearest_name_is_near() -> None:
    assert nearest("fdsp", ("fsdp", "decode")) == "fsdp" and nearest("zzz", ("fsdp",)) is None
    assert nearest("fdsp", ("fsdp",), 0.9) is None
    assert did_you_mean("FSDP", ("fsdp",)) == "Did you mean 'fsdp'?" and did_you_mean("zzz", ("fsdp",)) == ""


def test_a_time_is_as_exact_as_people_need_it() -> None:
    assert [rough_time(seconds) for seconds in (-1, 3.2, 99, 120)] == ["0 s", "3 s", "99 s", "2 min"]


def test_a_run_is_told_in_the_unit_that_it_was_judged_by() -> None:
    assert [took(ms, {}) for ms in (0.12345, 9999.0, 12345.0)] == ["0.1235 ms", "9999 ms", "12.35 s"]
    metric = {"clock": "metric", "higher_is_better": False}
    assert [took(value, metric) for value in (12.3, 132345.6)] == ["12.3", "132346"]
    assert took(1e3 / 132345.6, {**metric, "higher_is_better": True}) == "132346"


def test_a_count_is_of_digits_alone() -> None:
    assert [count_of(text) for text in ("0", "12", "", "-1", "+1", " 1", "1.0", "\u0661", "\xb2")] == [
        0,
        12,
        *[None] * 7,
    ]


def test_a_sentence_begins_with_a_capital_and_keeps_its_names() -> None:
    assert [capital(text) for text in ("the XLA flag", "NCCL", "")] == ["The XLA flag", "NCCL", ""]


def test_one_is_not_counted_as_many() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert [counted(number, "process", "processes") for number in (1, 2)] == ["1 process", "2 processes"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "unknown size"),
        (0, "0 KiB"),
        (262144, "256 KiB"),
        (1 << 20, "1 MiB"),
        (180 << 20, "180 MiB"),
        ((1 << 30) - 1, "1024 MiB"),
        (1 << 30, "1 GiB"),
        (3 << 29, "1.5 GiB"),
        (150_754_820_096, "140.4 GiB"),
        (12345 << 30, "12345 GiB"),
    ],
)
def test_a_size_is_told_in_one_way(size: int | None, text: str) -> None:
    assert size_text(size) == text


def test_numbers_above_zero() -> None:
    """Finite ones; a text is no number, nor is a truth value."""
    tried = (1, 0.5, 0, -1, float("nan"), float("inf"), "1", None, True)
    assert [value for value in tried if is_above_zero(value)] == [1, 0.5]
