"""Where a Python program gives XLA_FLAGS another text, whatever was in it."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.replaced import assigned_anew, passed_over_at


@pytest.mark.parametrize(
    ("line", "replaces"),
    [
        ('os.environ["XLA_FLAGS"] = "--xla_a=1"', "--xla_a=1"),
        ("environ['XLA_FLAGS'] = '--xla_a=1 ' '--xla_b=2'", "--xla_a=1 --xla_b=2"),
        ("os.environ['XLA_FLAGS'] = flags = ('--xla_a' + f'=1' + ' --xla_b')", "--xla_a=1 --xla_b"),
        ("os.environ['XLA_FLAGS'] = '--xla_a=1'; import jax; jax.devices()", "--xla_a=1"),
        ("os.environ.update(XLA_FLAGS='--xla_a=1')", "--xla_a=1"),
        ("with context(): os.environ['XLA_FLAGS'] = '--xla_a=1'", "--xla_a=1"),
        (
            "if __name__ == '__main__': os.environ['XLA_FLAGS'] = ' '.join(['--xla_a=1', '--xla_b'])",
            "--xla_a=1 --xla_b",
        ),
        ("os.environ['XLA_FLAGS'] = '--xla_a=1'; os.environ['XLA_FLAGS'] += ' --xla_b'", "--xla_a=1  --xla_b"),
        (
            "env = os.environ; os.environ['XLA_FLAGS'] = '--xla_a=1'; os.environ['XLA_FLAGS'] = env['XLA_FLAGS']",
            "--xla_a=1 ",
        ),
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
    found = assigned_anew(f"import os\n\n{line}\n")
    assert (found and (found.at, found.text)) == ((3, replaces) if replaces else None)


@pytest.mark.parametrize(
    ("line", "passed_over"),
    [
        ("if 'XLA_FLAGS' not in os.environ:\n    os.environ['XLA_FLAGS'] = '--xla_a=1'", True),
        ("if 'XLA_FLAGS' not in environ: numpyro.set_host_device_count(4)", True),
        ("os.environ.setdefault('XLA_FLAGS', '--xla_a=1')", True),
        ("if 'XLA_FLAGS' not in os.environ:\n    raise SystemExit('Set it.')", False),
        ("if 'XLA_FLAGS' not in os.environ: raise E\nelse: os.environ['XLA_FLAGS'] += ' --xla_a=1'", False),
        ("if 'XLA_FLAGS' in os.environ:\n    os.environ['XLA_FLAGS'] = '--xla_a=1'", False),
        ("os.environ.setdefault('NCCL_DEBUG', 'INFO')", False),
        ("os.environ['XLA_FLAGS'] = '--xla_a=1'", False),
    ],
)
def test_r19_what_acts_only_where_nothing_is_set_is_passed_over(line: str, passed_over: bool) -> None:
    """https://github.com/CDCgov/cfa-stf-routine-forecasting/pull/603"""
    assert passed_over_at(f"import os, numpyro\n\n{line}\n") == (3 if passed_over else None)


def test_what_is_no_python_is_not_judged() -> None:
    assert assigned_anew("export XLA_FLAGS='--xla_a=1'") is None
    assert assigned_anew("a = '\0'") is None
    assert assigned_anew("-" * 100_000 + "1") is None
