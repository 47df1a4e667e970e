"""A setting that is written as if it were an option is told with the option that takes it."""

from __future__ import annotations

import pytest

from tests.cli.typed import call

pytestmark = pytest.mark.usefixtures("machine")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("plan", "--xla_gpu_ftz=1"), "It is an XLA flag. Write --flag xla_gpu_ftz=VALUE."),
        (
            ("run", "fsdp", "--jax-enable-x64", "--", "true"),
            "It is an option of jax. Write --config jax_enable_x64=VALUE.",
        ),
        (("plan", "--NCCL_DEBUG=INFO"), "It is a variable of NCCL. Write --env NCCL_DEBUG=VALUE."),
        (("plan", "--cuda"), "It is a platform of JAX. Write --platform cuda."),
        (("plan", "--memory_fraction=0.9"), "It is an argument of configure(). Write --memory-fraction VALUE."),
        (("plan", "--jax_config", "a=1"), "It is an argument of configure(). Write --config VALUE."),
        (("detect", "--tpu"), "It is JAX's name for Google's TPUs."),
    ],
)
def test_a_real_name_in_the_place_of_an_option_is_told_as_what_it_is(line: tuple[str, ...], said: str) -> None:
    told = call(*line)
    assert told.exit_code == 2 and said in told.output and "Did you mean" not in told.output
