"""Each name stands for a setting that there is."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge.flags import flag, releases
from jaxgpu_tune.knowledge.options import known
from jaxgpu_tune.knowledge.variables import is_read
from jaxgpu_tune.planning.settings import setting_names

WORDS = (getattr(setting_names, name) for name in setting_names.__all__)
NAMES = sorted({name for said in WORDS for name in ((said,) if isinstance(said, str) else said)})


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_flag_an_option_or_a_variable(name: str) -> None:
    """Of the newest release."""
    if name.startswith("xla_"):
        assert flag(name, releases()[-1])
    elif name.startswith("jax_"):
        assert known(name)
    else:
        assert is_read(name)


def test_the_thresholds_that_a_layer_sizes_are_one_for_each_kind_of_collective() -> None:
    """All-gather, reduce-scatter and all-reduce."""
    kinds = {name[len("xla_gpu_") :].partition("_combine")[0] for name in setting_names.THRESHOLD_FLAGS}
    assert kinds == {"all_gather", "reduce_scatter", "all_reduce"} and len(setting_names.THRESHOLD_FLAGS) == 3
