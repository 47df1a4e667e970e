"""The magic in a real shell: a typo is a line or two in the magic's own words, a warning appears once; tables in notebooks."""

from __future__ import annotations

import pytest

import jaxgpu_tune
from jaxgpu_tune.notebook import configure_line
from tests.child import told_warm
from tests.fleet import machine

SHELL = """
import io, logging, sys, contextlib
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.run_line_magic("load_ext", "jaxgpu_tune")
shell.run_line_magic("load_ext", "jaxgpu_tune")
def said(cell):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        done = shell.run_cell(cell)
    return [out.getvalue() + err.getvalue(), done.success]
"""
TYPOS = {
    "fspd": "Did you mean 'fsdp'?",
    "fsdp --memory-fracton 0.9": "--memory-fraction",
    "fsdp --late wran": "--late wran is not valid",
    "fsdp --prefer mine": "--prefer mine is not valid",
    "fsdp --flag xla_gpu_autotune_levl=2": "Did you mean --xla_gpu_autotune_level?",
    "fsdp 'unclosed": "No closing quotation",
}
WARNS = "auto --env CUDA_VISIBLE_DEVICE=1"


def test_a_typo_is_at_most_three_lines() -> None:
    pytest.importorskip("IPython")
    code = f"import jax\n{SHELL}\ntell([said('%jaxgpu_tune ' + line) for line in {list(TYPOS)!r}])"
    for (text, success), wanted in zip(told_warm(code), TYPOS.values(), strict=True):
        lines = text.strip().splitlines()
        assert len(lines) <= 3 and lines[0].startswith("UsageError: %jaxgpu_tune: "), text
        assert wanted in text and not success and "Traceback" not in text


def test_what_comes_too_late_is_told_in_the_magics_words() -> None:
    pytest.importorskip("IPython")
    code = f"import jax\njax.devices()\n{SHELL}\ntell(said('%jaxgpu_tune fsdp --flag xla_gpu_autotune_level=2'))"
    text, success = told_warm(code)
    assert "--late warn" in text and "late=" not in text and len(text.strip().splitlines()) <= 3 and not success


@pytest.mark.parametrize("cell", [f"%jaxgpu_tune {WARNS}", f"r = %jaxgpu_tune {WARNS}", f"%jaxgpu_tune {WARNS};"])
def test_a_warning_appears_once(cell: str) -> None:
    """In the report where that is shown, else on the logger; not in the next cell again."""
    pytest.importorskip("IPython")
    text, after = told_warm(f"import jax\n{SHELL}\ntell([said({cell!r})[0], said('1')[0]])")
    assert text.count("Did you mean CUDA_VISIBLE_DEVICES?") == 1 and "CUDA_VISIBLE" not in after


ASKS = "auto --env NCCL_DEBUG=INFO"
UNLOADED = f"""
hooks = lambda: shell.events.callbacks["post_run_cell"]
before = len(hooks())
nothing = said("%unload_ext jaxgpu_tune")
cells = ["%load_ext jaxgpu_tune", "r = %jaxgpu_tune {ASKS}", "%unload_ext jaxgpu_tune", "%jaxgpu_tune auto"]
unloaded = [said(cell) for cell in cells]
gone = before - len(hooks())
again = [said(cell) for cell in (cells[0], "%reload_ext jaxgpu_tune", "q = %jaxgpu_tune auto")]
value, back = os.environ.get("NCCL_DEBUG"), before - len(hooks())
read = [said(cell) for cell in ("import jax; jax.devices()", "%unload_ext jaxgpu_tune")]
tell([nothing, unloaded, gone, again, value, back, read])
"""


def test_unloaded_the_magic_is_gone_and_what_it_set_stays_and_is_told() -> None:
    """As IPython means it: what loading added goes, and comes back once. Settings that JAX has read cannot be taken back."""
    pytest.importorskip("IPython")
    nothing, unloaded, gone, again, value, back, read = told_warm(f"import jax, os\n{SHELL}\n{UNLOADED}")
    assert nothing == ["", True] and gone == 1 and back == 0 and value == "INFO"
    assert [success for _, success in unloaded] == [True, True, True, False] and "not found" in unloaded[3][0]
    assert unloaded[2][0].startswith("What %jaxgpu_tune has set stays. The report's restore() takes it back")
    assert [success for _, success in again] == [True] * 3
    assert read[1] == ["What %jaxgpu_tune has set stays until the kernel is restarted: JAX has read it.\n", True]


def test_unloaded_nothing_is_said_of_what_was_taken_back_or_never_set() -> None:
    pytest.importorskip("IPython")
    cells = [f"r = %jaxgpu_tune {ASKS}", "r.restore()", "%unload_ext jaxgpu_tune"]
    more = ["%load_ext jaxgpu_tune", "q = %jaxgpu_tune auto", cells[2]]
    said = told_warm(f"import jax\n{SHELL}\ntell([said(cell) for cell in {[*cells, *more]!r}])")
    assert said[2] == said[5] == ["", True]


def test_without_a_shell_the_error_is_the_calls_own() -> None:
    with pytest.raises(jaxgpu_tune.UnknownPreset, match="Did you mean"):
        configure_line("fspd")


def test_values_are_tables_in_notebooks() -> None:
    """Escaped, with a row for each GPU, preset and setting."""
    here = machine()
    strange = here._replace(gpus=tuple(gpu._replace(name="<b>H100</b>") for gpu in here.gpus or ()))
    assert strange._repr_html_().count("&lt;b&gt;H100&lt;/b&gt;") == len(strange.gpus or ()) > 0
    assert "no GPU" in here._replace(gpus=())._repr_html_()
    presets = jaxgpu_tune.presets()
    html = presets._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(presets, tuple) and all(f"<code>{one.name}</code>" in html for one in presets)
    assert "<div" in jaxgpu_tune.Verification(())._repr_html_()
