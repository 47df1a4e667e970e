"""Section C of the reports: set too late. Each in a real process with the real jax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.child import told

FLAG = "{'xla_gpu_autotune_level': 2}"


def test_R22_R24_R25_too_late_raises_before_anything_is_applied_and_names_it() -> None:
    code = f"""
import os, jax, jaxgpu_tune
jax.devices()
before = dict(os.environ)
try:
    jaxgpu_tune.configure(flags={FLAG}, jax_config={{"jax_debug_nans": True}})
except jaxgpu_tune.TooLate as error:
    tell([isinstance(error, RuntimeError), "--xla_gpu_autotune_level" in str(error), dict(os.environ) == before, jax.config.jax_debug_nans])
"""
    assert told(code) == [True, True, True, False]


def test_R23_in_a_notebook_too_late_says_restart_the_kernel() -> None:
    pytest.importorskip("IPython")
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import jax, jaxgpu_tune
jax.devices()
try:
    jaxgpu_tune.configure(flags={FLAG})
except jaxgpu_tune.TooLate as error:
    tell("Restart the kernel" in str(error))
"""
    assert told(code) is True


def test_R25_between_the_import_and_the_first_use_of_a_device_it_still_counts() -> None:
    """The test is whether a backend is up, not whether jax is imported."""
    code = f"""
import os, jax, jaxgpu_tune
report = jaxgpu_tune.configure(flags={FLAG}, preallocate=False)
tell([report.applied, os.environ["XLA_FLAGS"], os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"], "late" in [d.status for d in report.decisions]])
"""
    assert told(code) == [True, "--xla_gpu_autotune_level=2", "false", False]


def test_R22_the_hint_offers_only_what_was_not_passed() -> None:
    """With late="warn" there is nothing but calling earlier."""
    code = f"""
import jax, jaxgpu_tune
jax.devices()
@jaxgpu_tune.configured(flags={FLAG})
def train(): ...
raised = []
for call in (lambda: jaxgpu_tune.configure(flags={FLAG}), train):
    try:
        call()
    except jaxgpu_tune.TooLate as late:
        raised.append(str(late))
(warned,) = [f for f in jaxgpu_tune.configure(flags={FLAG}, late="warn").findings if f.code == "too-late"]
tell([raised, warned.hint])
"""
    (raised, decorated), hint = told(code)
    assert raised == decorated and "or pass late='warn' to apply what still can be, or late='reexec' to" in raised
    assert hint == "Call configure() before the first use of a device."


def test_R26_the_packages_that_may_have_started_jax_are_named(tmp_path: Path) -> None:
    """A library made an array when it was imported."""
    (tmp_path / "interpolates").mkdir()
    (tmp_path / "interpolates" / "__init__.py").write_text("import jax.numpy as jnp\nZERO = jnp.array(0)\n")
    (tmp_path / "harmless.py").write_text("import math\n")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import harmless, interpolates, jaxgpu_tune
try:
    jaxgpu_tune.configure(flags={FLAG})
except jaxgpu_tune.TooLate as error:
    tell(["interpolates" in str(error), "harmless" in str(error)])
"""
    assert told(code) == [True, False]


@pytest.mark.parametrize(
    ("report", "name", "text"),
    [
        ("R22", "XLA_FLAGS", "import os, jax\njax.devices()\nos.environ['XLA_FLAGS'] = '--xla_dump_to=x'\n"),
        ("R23", "XLA_PYTHON_CLIENT_PREALLOCATE", "import os\nimport jax.numpy as jnp\njnp.ones(1)\nos.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'\n"),
        ("R26", "XLA_FLAGS", "import os\nimport jax.numpy as jnp\ndef f(x=jnp.array(0)): pass\nos.environ['XLA_FLAGS'] = '--xla_dump_to=x'\n"),
        ("R27", "JAX_PLATFORMS", "import os\nimport jax\nos.environ['JAX_PLATFORMS'] = 'cpu'\n"),
    ],
)  # fmt: skip
def test_R22_R23_R26_R27_a_file_that_sets_it_too_late_is_told(
    report: str, name: str, text: str, tmp_path: Path
) -> None:
    """Before anybody runs it: the setting, and the line that came before it."""
    from tests.cli.typed import call

    (tmp_path / "train.py").write_text(text)
    done = call("check", "--file", str(tmp_path / "train.py"))
    assert done.exit_code == 1 and f"{name} is set after" in " ".join(done.stdout.split()), (report, done.stdout)


@pytest.mark.parametrize(
    ("report", "line", "severity"),
    [
        ("R19", "if 'XLA_FLAGS' not in os.environ:\n    os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'\n", 0),
        ("R20", "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'\n", 1),
    ],
)  # fmt: skip
def test_R19_R20_a_file_that_takes_out_what_configure_has_set_is_told(
    report: str, line: str, severity: int, tmp_path: Path
) -> None:
    """A guard that asks whether anything is set, and an assignment of the whole variable."""
    from tests.cli.typed import call

    (tmp_path / "train.py").write_text(f"import os, jaxgpu_tune\njaxgpu_tune.configure('fsdp')\n{line}")
    done = call("check", "--file", str(tmp_path / "train.py"))
    assert done.exit_code == severity and "set-beside-configure" in done.stdout, (report, done.stdout)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("import numpyro", "numpyro.set_host_device_count"),
        ("from numpyro.util import set_host_device_count", "set_host_device_count"),
        ("from numpyro import set_host_device_count as more", "more"),
        ("import chex", "chex.set_n_cpu_devices"),
    ],
)
def test_R24_a_library_that_sets_the_count_of_devices_too_late_is_told(line: str, call: str, tmp_path: Path) -> None:
    """By the call: who wrote it may not know of XLA_FLAGS: https://github.com/pyro-ppl/numpyro/issues/2096"""
    from tests.cli import typed

    (tmp_path / "a.py").write_text(f"{line}\nimport jax.numpy as jnp\njnp.ones(1)\n{call}(4)\n")
    done = typed.call("check", "--file", str(tmp_path / "a.py"))
    told = f"a.py:4: {call}() sets XLA_FLAGS after JAX has started (line 3: jnp.ones()), which does not read it again."
    assert done.exit_code == 1 and f"{told} Call it above that line." in " ".join(done.stdout.split())


def test_R24_what_takes_the_flags_place_is_explained() -> None:
    """As numpyro's answer was: https://github.com/pyro-ppl/numpyro/issues/2096"""
    import jaxgpu_tune

    told = str(jaxgpu_tune.explain("jax_num_cpu_devices"))
    assert "xla_force_host_platform_device_count" in told and "RuntimeError" in told


def test_R28_a_decorated_function_that_is_called_too_late_is_told(tmp_path: Path) -> None:
    """The library's own settings come when its function is called: https://github.com/trymirai/lalamo/pull/347"""
    from tests.cli.typed import call

    text = "import jax\nfrom jaxgpu_tune import configured\n\n@configured('fsdp')\ndef main(): ...\n\njax.devices()\nmain()\n"
    (tmp_path / "a.py").write_text(text)
    done = call("check", "--file", str(tmp_path / "a.py"))
    assert done.exit_code == 1 and "under @configured is called after JAX has started (line 7" in " ".join(
        done.stdout.split()
    )
