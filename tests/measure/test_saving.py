"""The winner of a comparison as a preset file that a plan reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune.knowledge.presets import load_preset_file
from jaxgpu_tune.knowledge.tables import read_toml
from jaxgpu_tune.measure.saving import comparison_preset
from jaxgpu_tune.planning.xla_flags.grammar import scan
from tests.render.comparisons import EQUAL, FASTER, REFERENCE, WHOLE

H200 = {"compute_capability": "9.0", "name": "NVIDIA H200"}
SET = {
    "XLA_FLAGS": "--xla_dump_to=/a --xla_dump_hlo_pass_re='x y' --xla_gpu_autotune_level=2",
    "NCCL_X": 'say "a"\n',
    "GONE": None,
}


def saved(folder: Path, found: Any) -> Path:
    """Its file."""
    path = folder / "best.toml"
    path.write_text(comparison_preset(found))
    return path


def test_the_winners_settings_and_evidence_are_read_back(tmp_path: Path) -> None:
    """Each flag by itself, texts as they were; what it removed has no place there; how to repeat it is a comment."""
    found = WHOLE._replace(
        variants=(REFERENCE, FASTER._replace(settings=SET)),
        machine={"jaxlib": "0.11.2", "gpus": [H200] * 2},
        command="jaxgpu-tune compare a b\n  second line",
        began="2026-11-29T02:00:00",
    )
    path = saved(tmp_path, found)
    preset = load_preset_file(path)
    assert {(one.kind, one.name, str(one.value)) for one in preset.settings} == {
        ("xla_flag", "xla_dump_to", "/a"),
        ("xla_flag", "xla_dump_hlo_pass_re", "x y"),
        ("xla_flag", "xla_gpu_autotune_level", "2"),
        ("env", "NCCL_X", 'say "a"\n'),
    }
    assert preset.evidence == (f"{FASTER.verdict.sentence}, against none, 2026-11-29",)
    assert "# repeat: jaxgpu-tune compare a b\n# repeat:   second line\n" in path.read_text()
    planned = jaxgpu_tune.plan(path, environ={}, machine={"jaxlib": "0.11.2", "gpus": [{**H200, "count": 2}]})
    assert {token.name for token in scan(planned.xla_flags).tokens} >= {"xla_dump_to", "xla_gpu_autotune_level"}


@pytest.mark.parametrize(
    ("machine", "measured"),
    [
        ({}, {"platform": "cpu"}),
        ({"jaxlib": "0.12.0", "gpus": None}, {"jaxlib": "==0.12.0", "platform": "cpu"}),
        ({"gpus": [H200]}, {"compute_capability": "==9.0", "devices": "==1"}),
        ({"gpus": [H200] * 4, "processes": {"count": 2}}, {"compute_capability": "==9.0", "devices": "==8"}),
        ({"gpus": [H200] * 2, "processes": {"count": None}}, {"compute_capability": "==9.0", "devices": "==2"}),
        ({"gpus": [H200, {"compute_capability": "8.0"}]}, {"devices": "==2"}),
        ({"gpus": [H200, {"name": "unknown"}]}, {"compute_capability": "==9.0", "devices": "==2"}),
    ],
)
def test_where_it_was_measured_is_told(tmp_path: Path, machine: dict[str, Any], measured: dict[str, str]) -> None:
    """In the words of conditions, as far as it is known."""
    path = saved(tmp_path, WHOLE._replace(machine=machine))
    assert read_toml(path)["measured"] == measured


def test_where_nothing_won_the_reference_is_saved(tmp_path: Path) -> None:
    path = saved(tmp_path, EQUAL)
    assert read_toml(path)["summary"] == "none, the fastest of 2 variants of one program"
    assert load_preset_file(path).settings == ()
