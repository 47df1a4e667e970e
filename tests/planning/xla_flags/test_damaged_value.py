"""One flag's value where XLA would read something else."""

from __future__ import annotations

import pytest

from tests.planning.xla_flags.damaged import (
    IN_VALUES,
    LEVEL,
    LHS,
    TO,
    assert_repaired,
    assert_stays,
    codes,
    read,
    texts,
)


class TestDamage:
    @pytest.mark.parametrize(("code", "given_text", "expected"), IN_VALUES)
    def test_is_repaired_with_a_finding(self, code: str, given_text: str, expected: list[str]) -> None:
        assert_repaired(code, given_text, expected)

    @pytest.mark.parametrize("expected", [expected for _, _, expected in IN_VALUES])
    def test_once_repaired_it_stays(self, expected: list[str]) -> None:
        assert_stays(expected)


class TestAmbiguous:
    @pytest.mark.parametrize(
        ("code", "given_text"),
        [
            ("ambiguous-quote", f'--{TO}="/tmp/a --{LHS}=true'),
            ("ambiguous-quote", f"--{TO}=\u201c/tmp/a --{LHS}=true"),
            ("missing-value", f"--{LEVEL} --{LHS}=true"),
        ],
    )
    def test_is_left_out_with_an_error_and_the_rest_is_read(self, code: str, given_text: str) -> None:
        result = read(given_text)
        assert texts(result) == [f"--{LHS}=true"]
        assert [(finding.code, finding.severity) for finding in result.findings] == [(code, "error")]


@pytest.mark.parametrize(
    ("given_text", "expected", "found"),
    [
        (f'"--{TO} " --{LHS}', [f"--{LHS}"], {"wrapped-in-quotes", "missing-value"}),
        (f"'--{LEVEL} ' --{LHS}=true", [f"--{LHS}=true"], {"wrapped-in-quotes", "missing-value"}),
        (f"--{TO} '--{LHS}=true'", [f"--{LHS}=true"], {"missing-value", "wrapped-in-quotes"}),
        (f'"--{LEVEL} 2 --{TO} a"', [f"--{LEVEL}=2", f"--{TO}=a"], {"wrapped-in-quotes", "blank-before-value"}),
        (f"--{LEVEL} '2' --{LHS}", [f"--{LEVEL}=2", f"--{LHS}"], {"blank-before-value"}),
        (f"'--{TO}=a b' c", [f'--{TO}="a b"'], {"wrapped-in-quotes", "stray-word"}),
    ],
)
def test_a_quote_behind_a_blank_is_a_value_or_one_around_flags(
    given_text: str, expected: list[str], found: set[str]
) -> None:
    """It closes what an earlier one opened, or opens around the next flag: then the value is missing."""
    result = read(given_text)
    assert texts(result) == expected and set(codes(result)) == found
