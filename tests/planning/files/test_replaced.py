"""Where a Python program gives XLA_FLAGS another text, whatever was in it."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.replaced import replaced_in


@pytest.mark.parametrize(
    ("line", "replaces"),
    [
        ('os.environ["XLA_FLAGS"] = "--xla_a=1"', "--xla_a=1"),
        ("environ['XLA_FLAGS'] = '--xla_a=1 ' '--xla_b=2'", "--xla_a=1 --xla_b=2"),
        ("os.environ['XLA_FLAGS'] = flags = ('--xla_a' + f'=1' + ' --xla_b')", "--xla_a=1 --xla_b"),
        ("os.environ['XLA_FLAGS'] = '--xla_a=1'; import jax; jax.devices()", "--xla_a=1"),
        ("import jax; jax.devices(); os.environ['XLA_FLAGS'] = '--xla_a=1'", False),
        ("os.environ['XLA_FLAGS'] = '--xla_a=1'; os.environ['XLA_FLAGS'] = saved", False),
        ("os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_a=1'", False),
        ("os.environ['XLA_FLAGS'] = f\"{os.environ['XLA_FLAGS']} --xla_a=1\"", False),
        ("os.environ['XLA_FLAGS'] += ' --xla_a=1'", False),
        ("os.environ.setdefault('XLA_FLAGS', '--xla_a=1')", False),
        ("os.environ['XLA_FLAGS'] = flags", False),
        ("if debug: os.environ['XLA_FLAGS'] = '--xla_a=1'", False),
        ("def f(): os.environ['XLA_FLAGS'] = '--xla_a=1'", False),
        ("settings['XLA_FLAGS'] = '--xla_a=1'", False),
        ("os.environ['NCCL_DEBUG'] = 'INFO'", False),
    ],
)
def test_what_keeps_what_was_there_does_not_replace_it(line: str, replaces: str | bool) -> None:
    """Of names and calls it is not known; what comes after JAX has started does nothing. https://github.com/proteneer/timemachine/pull/770"""
    assert replaced_in(f"import os\n\n{line}\n") == ((3, replaces) if replaces else None)


def test_what_is_no_python_is_not_judged() -> None:
    assert replaced_in("export XLA_FLAGS='--xla_a=1'") is None
    assert replaced_in("a = '\0'") is None
    assert replaced_in("-" * 100_000 + "1") is None
