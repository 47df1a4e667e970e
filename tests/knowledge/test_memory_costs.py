"""What presets cost in memory: from what was compiled to what is told."""

from __future__ import annotations

import json

import jaxgpu_tune
from benchmarks.memory_of_settings import costs_text
from benchmarks.tables import RESULTS
from jaxgpu_tune.knowledge.memory_costs import MemoryCost, memory_costs
from jaxgpu_tune.knowledge.presets import load_preset
from tests.child import ROOT

ONE = MemoryCost("xla_gpu_x", "fsdp", "a program", "NVIDIA H200", 2, "0.11.2", 180 << 20, 3 << 30)


def test_a_cost_is_told_with_what_it_comes_on_top_of_and_where() -> None:
    """More, less, and nothing that counts; of a preset as a whole."""
    place = "on top of 3 GiB a GPU: a program (2 x NVIDIA H200, jaxlib 0.11.2"
    assert ONE.sentence == f"180 MiB more, {place}, as part of fsdp)"
    assert ONE._replace(more_bytes=-(40 << 20)).sentence == f"40 MiB less, {place}, as part of fsdp)"
    assert ONE._replace(more_bytes=4096).sentence == f"nothing more, {place}, as part of fsdp)"
    small = ONE._replace(without_bytes=(1 << 30) - (1 << 20))
    assert (
        small.sentence
        == "180 MiB more, on top of 1023 MiB a GPU: a program (2 x NVIDIA H200, jaxlib 0.11.2, as part of fsdp)"
    )
    assert ONE._replace(name="fsdp", more_bytes=1 << 20).sentence == f"1 MiB more, {place})"


def test_the_costs_are_the_differences_of_what_was_compiled() -> None:
    """With the preset, less without one setting; the file that the library reads is made of them."""
    path = ROOT / "jaxgpu_tune" / "knowledge" / "data" / "memory_costs.json"
    assert path.read_text("utf-8") == costs_text(RESULTS)
    (file,) = RESULTS.glob("memory-of-settings-*.json")
    ways = json.loads(file.read_text("utf-8"))["cases"]["fsdp_first"]["ways"]
    whole = ways["preset"]["temporary_bytes"]
    first = memory_costs("fsdp")[0]
    assert first.more_bytes == whole - ways["default"]["temporary_bytes"] > 0
    for flag in ways["preset"]["flags"]:
        cost = memory_costs(flag.removeprefix("--").partition("=")[0])[0]
        assert cost.more_bytes == whole - ways[f"without {flag}"]["temporary_bytes"]


def test_what_was_compiled_is_what_the_preset_sets() -> None:
    """A preset that has changed since is to be compiled anew."""
    (file,) = RESULTS.glob("memory-of-settings-*.json")
    for case in json.loads(file.read_text("utf-8"))["cases"].values():
        told = {flag.removeprefix("--").partition("=")[0] for flag in case["ways"]["preset"]["flags"]}
        assert (
            told
            == {setting.name for setting in load_preset(case["preset"]).settings if setting.kind == "xla_flag"} & told
        )
        assert told


def test_explain_tells_the_memory_of_a_flag_and_of_a_preset() -> None:
    """A line each."""
    for name in ("fsdp", "--xla_gpu_pipeline_all_reduce"):
        told = jaxgpu_tune.explain(name)
        assert told is not None and told.memory and all("GiB a GPU" in one for one in told.memory)
        assert f"  memory: {told.memory[0]}" in str(told)
    alone, joined = jaxgpu_tune.explain("fsdp"), jaxgpu_tune.explain("fsdp+reproducible")
    assert alone is not None and joined is not None and joined.memory == alone.memory
    other = jaxgpu_tune.explain("xla_gpu_autotune_level")
    assert other is not None and other.memory == ()
