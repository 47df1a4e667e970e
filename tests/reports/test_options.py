"""Public reports on jax.config (facts: reports C and H), each as a test by its number; what jax reads is asked of a real jax."""

from __future__ import annotations

import pytest

import jaxgpu_tune
from child import told
from fleet import codes, decision, machine

HOST, DEVICE, BACK = (f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
GUARDS = f"{{'{HOST}': 'log', '{BACK}': 'disallow'}}"
READ = f"[jax.config.{HOST}, jax.config.{DEVICE}, jax.config.{BACK}]"
ALONE = "jax_cuda_visible_devices"


@pytest.mark.parametrize("how", ["import jax", "import jax.numpy", "from jax._src import core; import jax"])
@pytest.mark.parametrize("first", [True, False])
def test_R82_a_guard_for_each_direction(how: str, first: bool) -> None:
    """jax overwrites their variables with the umbrella's, so they are set right after its import."""
    call = f"import jaxgpu_tune\nreport = jaxgpu_tune.configure('single_gpu', jax_config={GUARDS})\n"
    code = (
        (call + how if first else f"{how}\n{call}")
        + f"""
import sys
before = {READ}
jax.devices()
items = {{item.name: item.status for item in jaxgpu_tune.verify().items}}
report.restore()
ours = [finder for finder in sys.meta_path if type(finder).__module__.startswith("jaxgpu_tune")]
tell([before, {READ}, sorted(items.items()), len(ours)])
"""
    )
    effective = [[BACK, "effective"], [HOST, "effective"]]
    assert told(code) == [["log", None, "disallow"], [None, None, None], effective, 0]


def test_R27_an_option_without_a_variable_waits_for_jax() -> None:
    """A second call takes the first one's place, reload changes nothing, and jax's own loader stays."""
    code = f"""
import jaxgpu_tune, importlib, importlib.util, sys
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}})
report = jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "1"}})
finders = len(sys.meta_path)
assert importlib.util.find_spec("jax") is not None
import jax
held = jax.config.values["{ALONE}"]
jax.config.update("{ALONE}", "2")
importlib.reload(jax)
tell([held, jax.config.values["{ALONE}"], finders - len(sys.meta_path), list(vars(jax.__spec__.loader)), [f.code for f in report.findings]])
"""
    held, after, gone, loader, found = told(code)
    assert (held, after, gone, loader) == ("1", "2", 1, ["name", "path"])
    assert found == ["option-without-variable"]


def test_R27_what_was_taken_back_before_the_import_is_not_set() -> None:
    code = f"""
import jaxgpu_tune
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}}).restore()
import jax
tell(jax.config.values["{ALONE}"])
"""
    assert told(code) == "all"


def test_R27_an_import_that_fails_is_tried_again(tmp_path: object) -> None:
    code = f"""
import jaxgpu_tune, sys
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}})
sys.modules["jaxlib"] = None
try:
    import jax
except ImportError:
    pass
else:
    raise SystemExit("jax was imported without jaxlib")
del sys.modules["jaxlib"]
import jax
tell(jax.config.values["{ALONE}"])
"""
    assert told(code) == "0"


def test_R27_another_process_is_told_what_to_write() -> None:
    """No variable carries it there: the plan for a fresh process says so."""
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={}, jax_config={ALONE: "0", HOST: "log"})
    assert {decision(report, name).status for name in (ALONE, HOST)} == {"unmet"}
    hints = [f.hint for f in report.findings if f.code == "option-without-variable"]
    assert any(f"jax.config.update('{ALONE}', '0')" in hint for hint in hints) and len(hints) == 2


def test_R82_one_level_for_all_directions_has_a_variable() -> None:
    """The umbrella's; so that children have it too."""
    final = jaxgpu_tune.environ("auto", base={}, machine=machine(), transfer_guard="log")
    code = f"import jax; tell({READ})"
    assert told(code, **final) == ["log", "log", "log"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("JAX_CUDA_VISIBLE_DEVICES", "variable-without-reader"),
        ("JAX_TRANSFER_GUARD_HOST_TO_DEVICE", "variable-without-reader"),
        ("JAX_COMPILATION_CACHE_DIRS", "unknown-variable"),
        ("JAX_COORDINATOR_ADDRESS", None),
        ("JAX_PLATFORMS", None),
        ("JAX_MYLIB_OPTION", None),
    ],
)
def test_R28_variables_that_jax_does_not_read_are_told(name: str, code: str | None) -> None:
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={name: "cuda"})
    assert codes(report) == ({code} if code else set())
