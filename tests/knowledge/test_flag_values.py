"""What texts of flags mean: forms with their bounds, and what one release is stricter about."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.flag_spec import FlagSpec, Rules
from jaxgpu_tune.knowledge.flag_values import meaning_of, on_top, refusal

LENIENT = Rules(True, True, False, True, True, True, True, True, True, True, ("inf", "infinity", "nan", "nan(1)"))
STRICT = Rules(True, False, False, False, False, False, False, False, False, False, ())


def spec(form: str, **more: object) -> FlagSpec:
    """A flag of that form."""
    kind = form if form in ("bool", "int32", "int64", "float") else "string"
    return FlagSpec(
        **{"name": "x", "type": kind, "default": "", "effective": "", "fields": ("x",), "form": form, **more}
    )


def refused(one: FlagSpec, text: str, rules: Rules = LENIENT) -> bool:
    """Whether a parser with these rules refuses it, with a sentence that names the flag and the text."""
    why = refusal(one, text, rules)
    assert why is None or (why.startswith("--x does not take ") and why.endswith((".", "?")))
    return why is not None


@pytest.mark.parametrize(("form", "bits"), [("int32", 32), ("int64", 64)])
def test_whole_numbers_end_where_their_bits_do(form: str, bits: int) -> None:
    top = 2 ** (bits - 1)
    for number, bad in ((top - 1, False), (top, True), (-top, False), (-top - 1, True)):
        assert refused(spec(form), str(number)) is bad
    assert f"{-top} to {top - 1}" in str(refusal(spec(form), str(top), LENIENT))


@given(st.integers(-(2**31), 2**31 - 1), st.sampled_from(["", " ", "\t", "\n"]), st.sampled_from(["", " ", "\r"]))
def test_blanks_around_a_number_are_for_releases_that_take_them(number: int, before: str, after: str) -> None:
    text = f"{before}{number}{after}"
    assert meaning_of(spec("int32"), text) == number
    assert refused(spec("int32"), text, STRICT) is bool(before or after)
    assert refused(spec("int32"), text, STRICT._replace(int_leading_blanks=True)) is bool(after)
    assert refused(spec("int32"), text, STRICT._replace(int_trailing_blanks=True)) is bool(before)


@pytest.mark.parametrize("text", ["", "+", "1.0", "0x10", "1e3", "one", "1 2", "--1", "1_0", "٣"])
def test_what_is_no_whole_number(text: str) -> None:
    assert refused(spec("int32"), text)


@pytest.mark.parametrize(
    ("refuses", "allowed", "wrong"), [("<0", (0, 1, 7), (-1, -9)), ("<=0", (1, 7), (0, -1)), ("", (-1, 0, 1), ())]
)
def test_a_setters_own_bounds(refuses: str, allowed: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    one = spec("int32", refuses=refuses)
    assert not any(refused(one, str(number)) for number in allowed)
    assert all(refused(one, str(number)) for number in wrong)


def test_bools() -> None:
    for text, value in (("true", True), ("TRUE", True), ("1", True), ("false", False), ("False", False), ("0", False)):
        assert meaning_of(spec("bool"), text) is value
        assert refused(spec("bool"), text, STRICT) is (text in "01")
    assert all(refused(spec("bool"), text) for text in ("", "yes", "2", " true", "on"))
    assert refused(spec("bool", refuses="true"), "true") and not refused(spec("bool", refuses="true"), "false")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_kept_in_32_bits(value: float) -> None:
    try:
        kept = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        kept = math.copysign(math.inf, value)
    assert meaning_of(spec("float"), repr(value)) == kept
    assert meaning_of(spec("float"), f" {value!r} ") == kept


@pytest.mark.parametrize(
    ("text", "value", "rule"),
    [
        ("0x10", 16.0, "float_hex"),
        ("0x1p3", 8.0, "float_hex"),
        ("1e", 1.0, "float_open_exponent"),
        ("2e+", 2.0, "float_open_exponent"),
        (" 1.5", 1.5, "float_leading_blanks"),
        ("1.5 ", 1.5, "float_trailing_blanks"),
        (".5", 0.5, ""),
        ("5.", 5.0, ""),
        ("-1e-3", struct.unpack("<f", struct.pack("<f", -0.001))[0], ""),
    ],
)
def test_forms_of_a_decimal_number(text: str, value: float, rule: str) -> None:
    """What only some releases take is refused by the others."""
    assert meaning_of(spec("float"), text) == value
    assert refused(spec("float"), text, STRICT) is bool(rule)
    assert not refused(spec("float"), text, LENIENT)
    if rule:
        assert not refused(spec("float"), text, STRICT._replace(**{rule: True}))
        assert refused(spec("float"), text, LENIENT._replace(**{rule: False}))


def test_words_for_numbers() -> None:
    for text in ("inf", "-INF", "infinity", "nan", "nan(abc)", "+nan"):
        assert not refused(spec("float"), text, LENIENT) and refused(spec("float"), text, STRICT)
    assert meaning_of(spec("float"), "nan") == meaning_of(spec("float"), "-NaN(12)") == "nan"
    assert meaning_of(spec("float"), "-inf") == -math.inf and meaning_of(spec("float"), "1e99") == math.inf
    assert all(refused(spec("float"), text) for text in ("", "one", "1.2.3", "e5", "0x", "infinit"))


MEMBERS = {"members": ("NONE", "ONE", "TWO"), "names": ("NONE", "ONE", "TWO")}


def test_members_of_an_enum() -> None:
    exact, any_case = (
        spec("enum", **MEMBERS, empty=False),
        spec("enum", **MEMBERS, case="any", prefix="MY_", empty=True),
    )
    assert meaning_of(exact, "ONE") == "ONE" and refused(exact, "") and refused(exact, "MY_ONE")
    assert "(the case of letters counts)" in str(refusal(exact, "one", LENIENT))
    assert "the case" not in str(refusal(exact, "three", LENIENT))
    assert str(refusal(exact, "TOW", LENIENT)).endswith("Did you mean 'TWO'?") and "Did" not in str(
        refusal(exact, "x", LENIENT)
    )
    assert meaning_of(any_case, "my_two") == meaning_of(any_case, "TWO") == "TWO" and meaning_of(any_case, "") == "NONE"


def test_lists_of_members() -> None:
    plain = spec("list", **MEMBERS, empty=False)
    assert meaning_of(plain, "TWO,ONE,TWO") == ("TWO", "ONE")
    assert refused(plain, "") and refused(plain, "ONE,") and refused(plain, "ONE, TWO") and refused(plain, "+ONE")
    assert meaning_of(plain._replace(empty=True), "") == ()
    assert meaning_of(plain._replace(trailing=True), "ONE,") == ("ONE",)
    assert meaning_of(plain._replace(blanks=True), " ONE, TWO ") == ("ONE", "TWO")
    assert "a comma-separated list of" in str(refusal(plain, "FOUR", LENIENT))


STEPS = spec("list", **MEMBERS, empty=True, incremental=True, effective="NONE,ONE")


@given(st.lists(st.tuples(st.sampled_from("+-"), st.sampled_from(MEMBERS["members"])), min_size=1))
def test_changes_add_to_the_default_and_take_from_it(changes: list[tuple[str, str]]) -> None:
    """One after the other; where a release reads the first only, that one."""

    def left(done: list[tuple[str, str]]) -> tuple[str, ...]:
        members = ["NONE", "ONE"]
        for sign, member in done:
            members = [one for one in members if one != member] if sign == "-" else [*dict.fromkeys([*members, member])]
        return tuple(members)

    text = ",".join(sign + member for sign, member in changes)
    assert meaning_of(STEPS, text) == left(changes)
    assert meaning_of(STEPS._replace(first_only=True), text) == left(changes[:1])
    assert on_top(STEPS, "NONE,ONE", text) == ",".join(left(changes))


def test_changes_are_not_mixed_with_names() -> None:
    assert "either plain names" in str(refusal(STEPS, "+ONE,TWO", LENIENT))
    assert on_top(STEPS, "ONE", "TWO") == "TWO" and on_top(spec("text"), "a", "+b") == "+b"
    assert on_top(STEPS, "ONE", "") == "" and on_top(STEPS, "ONE", "+TWO") == "ONE,TWO"
    assert meaning_of(STEPS._replace(trailing=True), ",") == ("NONE", "ONE")


def test_members_with_a_number_and_a_type() -> None:
    one = spec("list", **MEMBERS, suffix="bytes", types=("F32", "8"), ignored="-_")
    assert meaning_of(one, "ONE:64:f32,-TWO:1") == (("ONE", 64, "F32"), ("TWO", 1))
    assert meaning_of(one, "ONE:64:8:anything") == (("ONE", 64, "8"),)
    assert all(refused(one, text) for text in ("ONE:", "ONE:x", "ONE:1:F64", f"ONE:{2**63}", "FOUR:1"))
    assert not refused(one, f"ONE:{2**63 - 1}") and not refused(one, f"ONE:{-(2**63)}")


@given(st.sampled_from(MEMBERS["members"]), st.text("-_", min_size=1, max_size=3), st.data())
def test_marks_count_where_a_parser_does_not_leave_them_out(member: str, marks: str, data: st.DataObject) -> None:
    """Wherever in a member they stand; a number after the colon keeps its sign."""
    place = data.draw(st.integers(0, len(member)))
    marked = member[:place] + marks + member[place:]
    for more in ({}, {"suffix": "bytes"}):
        strict, lenient = (spec("list", **MEMBERS, ignored=ignored, **more) for ignored in ("", "-_"))
        assert refused(strict, marked) and meaning_of(lenient, marked) == meaning_of(strict, member)
    assert meaning_of(lenient, f"{marked}:-1") == ((member, -1),)


def test_free_lists_and_maps() -> None:
    assert meaning_of(spec("list"), "a,b,a") == ("a", "b", "a") and meaning_of(spec("list"), "") == ("",)
    assert meaning_of(spec("list", separator=""), "a,b") == ("a,b",)
    numbered = spec("list", suffix="int")
    assert not refused(numbered, "a:1,b,c:-2") and refused(numbered, "a:x") and refused(numbered, "a:")
    assert meaning_of(spec("map"), "b=2,a=1,b=3,c") == (("a", "1"), ("b", "3"), ("c", ""))
    assert refused(spec("map", suffix="int"), "a=x") and not refused(spec("map", suffix="int"), "a=1,b=-2")


@pytest.mark.parametrize(("text", "good"), [("1h30m", True), ("1.5s", True), ("-2ms", True), ("0", True), ("inf", True), (".5us", True), ("5", False), ("", False), ("1x", False), ("1 s", False)])  # fmt: skip
def test_times(text: str, good: bool) -> None:
    assert refused(spec("duration"), text) is not good


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", ((3, 3),)),
        ("1,3:5", ((1, 1), (3, 5))),
        ("7:", ((7, 2**63 - 1),)),
        (":5", ((-(2**63), 5),)),
        ("4:4", ((4, 4),)),
        *((wrong, None) for wrong in ("", ":", "5:4", "1:2:3", "x", "1,", f"{2**63}")),
    ],
)
def test_ranges(text: str, value: tuple[tuple[int, int], ...] | None) -> None:
    if value is None:
        assert refused(spec("ranges"), text)
    else:
        assert meaning_of(spec("ranges"), text) == value and not refused(spec("ranges"), text)


def test_no_text_means_what_holds_without_one_where_none_says_it() -> None:
    with pytest.raises(ValueError, match="No text of --x gives"):
        meaning_of(spec("bool"), None)


@pytest.mark.parametrize("release", flags.releases()[::6])
def test_every_flag_takes_its_own_default(release: str) -> None:
    """And the text that states what holds without it is one."""
    for one in flags.flags(release).values():
        if one.effective is not None:
            assert flags.check_value(one, one.effective, release) is None, one.name
            assert flags.is_default(one, one.effective), one.name
