"""How a program is run."""

from __future__ import annotations

from pathlib import Path

from jaxgpu_tune.measure.compare import kept_in
from jaxgpu_tune.measure.tuning.how import ENDS, How, caches, shorten
from tests.measure.atoms import atom


def test_what_chooses_kernels_anew_is_not_given_the_choices_of_others(tmp_path: Path) -> None:
    shared, own = (caches(tmp_path, frozenset([atom(f"{name}=5")])) for name in ("x", "xla_gpu_autotune_level"))
    assert shared["JAX_COMPILATION_CACHE_DIR"] == own["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "compiled")
    assert own["JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"] == "none"
    assert "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES" not in shared


def test_by_default_a_step_of_the_program_is_timed_and_what_is_compiled_is_kept(tmp_path: Path) -> None:
    """For the search's own runs alone, in its folder, and everything: also what compiles in no time."""
    how = How(("python", "train.py"), tmp_path)
    assert (how.clock, how.metric, how.whole, how.early) == ("steps", None, False, True)
    kept = caches(how.folder, frozenset())
    assert kept == kept_in(tmp_path / "compiled") and kept["JAX_COMPILATION_CACHE_DIR"].startswith(str(tmp_path))
    assert [kept[f"JAX_PERSISTENT_CACHE_MIN_{name}"] for name in ("COMPILE_TIME_SECS", "ENTRY_SIZE_BYTES")] == [
        "0",
        "-1",
    ]


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    """A program that prints 20 kB a step had left 713 MB after two runs."""
    output = tmp_path / "output.txt"
    shorten(output)
    assert not output.exists()
    for middle in (0, 1, 5_000_000):
        output.write_bytes(b"a" * ENDS + b"m" * middle + b"z" * ENDS)
        shorten(output)
        told = f"\n… {middle} bytes are left out …\n".encode() if middle else b""
        assert output.read_bytes() == b"a" * ENDS + told + b"z" * ENDS
