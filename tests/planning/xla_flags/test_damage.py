"""A text of flags that is read on where XLA would stop: what stands between flags, and their names."""

from __future__ import annotations

import pytest

from tests.planning.xla_flags.damaged import (
    BETWEEN_FLAGS,
    DUMP,
    LHS,
    TO,
    assert_repaired,
    assert_stays,
    read,
    texts,
)


class TestDamage:
    @pytest.mark.parametrize(("code", "given_text", "expected"), BETWEEN_FLAGS)
    def test_is_repaired_with_a_finding(self, code: str, given_text: str, expected: list[str]) -> None:
        assert_repaired(code, given_text, expected)

    @pytest.mark.parametrize("expected", [expected for _, _, expected in BETWEEN_FLAGS])
    def test_once_repaired_it_stays(self, expected: list[str]) -> None:
        assert_stays(expected)

    def test_the_code_point_is_named(self) -> None:
        message = read(f"\u2013\u2013{LHS}=true").findings[0].message
        assert "EN DASH (U+2013)" in message and f"`\u2013\u2013{LHS}=true` is read as `--{LHS}=true`" in message

    def test_a_stray_word_is_named(self) -> None:
        assert "`foo` is left out" in read(f"--{LHS} foo").findings[0].message

    def test_findings_that_say_the_same_are_one(self) -> None:
        assert len(read(f"\u2013\u2013{LHS} \u2013\u2013{DUMP}").findings) == 1

    def test_what_cannot_be_seen_is_escaped(self) -> None:
        assert r"`\xa0` is read as a blank: NO-BREAK SPACE (U+00A0)" in read(f"--{LHS}\xa0--{DUMP}").findings[0].message

    def test_repaired_flags_say_so(self) -> None:
        assert [flag.text == flag.argument for flag in read(f"--{LHS}=true -{DUMP}").flags] == [True, False]

    def test_two_kinds_at_once(self) -> None:
        result = read(f"\u2018\u2013{LHS}=true, foo\\\n\u2014{TO}=\u201ca b\u201d\u2019")
        assert texts(result) == [f"--{LHS}=true", f'--{TO}="a b"']
