"""Arguments of the measuring functions."""

from __future__ import annotations

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.checks import check_arguments


def test_all_problems_at_once() -> None:
    """Each names the argument, its value and what is allowed; what is valid is not told."""
    with pytest.raises(BadSetting) as caught:
        check_arguments(
            ("pairs", 0, False, "at least 1"),
            ("seconds", 1, True, "numbers above 0"),
            ("step", None, False, "a function"),
        )
    assert [finding.message for finding in caught.value.findings] == [
        "pairs=0 is not valid; allowed: at least 1.",
        "step=None is not valid; allowed: a function.",
    ]
    check_arguments(("seconds", 1, True, "numbers above 0"))
