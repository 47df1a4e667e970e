"""How a program is run."""

from __future__ import annotations

from pathlib import Path

from jaxgpu_tune.measure.search.trials import atom
from jaxgpu_tune.measure.tuning.how import caches


def test_what_chooses_kernels_anew_is_not_given_the_choices_of_others(tmp_path: Path) -> None:
    shared, own = (caches(tmp_path, frozenset([atom(f"{name}=5")])) for name in ("x", "xla_gpu_autotune_level"))
    assert shared["JAX_COMPILATION_CACHE_DIR"] == own["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "compiled")
    assert own["JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"] == "none"
    assert "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES" not in shared
