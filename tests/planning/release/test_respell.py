"""Values that a release takes only in another spelling."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.planning.release.respell import respelled
from jaxgpu_tune.planning.release.target import Target

GRAPHS = "xla_gpu_enable_command_buffer"


def said(name: str, value: str, release: str) -> list[str] | None:
    """What stands for a value there; None where it can stay."""
    target, spec = Target((release,)), flags.flag(name, release)
    assert spec is not None
    found = respelled(spec, value, target, refused=target.refusal(name, value) is not None)
    return None if found is None else [text for _, _, text in found.settings]


@pytest.mark.parametrize(
    ("name", "value", "release", "becomes"),
    [
        ("xla_gpu_ftz", "1", "0.4.19", ["true"]),
        ("xla_gpu_ftz", "0", "0.4.19", ["false"]),
        ("xla_gpu_ftz", "1", "0.11.2", None),
        ("xla_gpu_ftz", "2", "0.4.19", None),
        ("xla_gpu_autotune_level", "1", "0.4.19", None),
        (GRAPHS, "+WHILE,-FUSION", "0.6.2", ["+WHILE", "-FUSION"]),
        (GRAPHS, " +WHILE , -FUSION", "0.6.2", ["+WHILE", "-FUSION"]),
        (GRAPHS, "+WHILE,-FUSION", "0.11.2", None),
        (GRAPHS, "+WHILE", "0.6.2", None),
        (GRAPHS, "WHILE,FUSION", "0.6.2", None),
        (GRAPHS, "+WHILE,FUSION", "0.6.2", None),
        (GRAPHS, "+WHILE,-NO_SUCH", "0.6.2", None),
    ],
)
def test_digits_and_changes_of_a_list(name: str, value: str, release: str, becomes: list[str] | None) -> None:
    """A word for a digit where digits are refused; each change by itself where only the first counts."""
    assert said(name, value, release) == becomes


@pytest.mark.parametrize("value", ["+WHILE,-FUSION", "-CUBLAS,+COLLECTIVES,-CUDNN"])
def test_what_it_becomes_stays(value: str) -> None:
    assert [said(GRAPHS, one, "0.6.2") for one in said(GRAPHS, value, "0.6.2") or ()] == [None] * (value.count(",") + 1)
