"""Presets joined: those of a name as one, of files that were read before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import BadSetting, UnknownPreset, plan
from jaxgpu_tune.host.looked_up import preset_of
from jaxgpu_tune.knowledge.presets import load_preset, preset_names
from jaxgpu_tune.model import Finding, Preset
from jaxgpu_tune.planning.composing import compose, is_path, is_preset
from tests.fleet import codes, machine


def preset_file(folder: Path, name: str, text: str) -> str:
    """A user's preset."""
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_later_presets_fraction_wins(tmp_path: Path) -> None:
    first = preset_file(tmp_path, "first.toml", "memory_fraction = 0.5\n")
    second = preset_file(tmp_path, "second.toml", "memory_fraction = 0.8\n")
    assert preset_of(f"{first}+{second}").memory_fraction == 0.8
    assert preset_of(f"{second}+{first}").memory_fraction == 0.5
    assert preset_of(f"{first}+single_gpu").memory_fraction == 0.5
    assert compose("single_gpu").memory_fraction is None


@pytest.mark.parametrize("joined", ["fsdp+{0}", "{0}+fsdp", "jax-toolbox+{0}"])
def test_mistakes_in_a_users_part_of_a_joined_preset_are_told(joined: str, tmp_path: Path) -> None:
    """A name that no release has, in a table whose condition does not hold here."""
    mine = preset_file(
        tmp_path,
        "mine.toml",
        '[[set]]\nflag = "xla_gpu_autotune_levle"\nvalue = 2\nreason = "r"\nwhen = { devices = ">=99" }\n',
    )
    name = joined.format(mine)
    assert preset_of(name).kind == "user"
    assert "unknown-flag" in codes(plan(name, machine=machine(), environ={}))
    with pytest.raises((BadSetting, ValueError)):
        plan(name, machine=machine(), environ={}, strict=True)


def test_of_ours_the_less_tried_kind_counts() -> None:
    assert compose("fsdp+reproducible").kind == "maintained"
    assert compose("fsdp+jax-toolbox").kind == compose("jax-toolbox+fsdp").kind == "published"


@given(st.lists(st.sampled_from(["fsdp", "decode", "debug", "reproducible"]), min_size=1, max_size=3))
def test_a_joined_preset_holds_all_of_each(names: list[str]) -> None:
    """In order."""
    whole, parts = compose("+".join(names)), [compose(name) for name in names]
    assert whole.settings == tuple(setting for part in parts for setting in part.settings)
    assert whole.evidence == tuple(line for part in parts for line in part.evidence)
    assert whole.advice == tuple(advice for part in parts for advice in part.advice)
    assert whole.summary == " ".join(part.summary for part in parts)
    assert whole.use_when == " ".join(part.use_when for part in parts if part.use_when)
    assert whole.source == " ".join(part.source for part in parts if part.source)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_alone_loses_nothing(name: str) -> None:
    """So a field that presets get reaches whoever asks for one by its name: `explain` tells when to use it."""
    assert compose(name) == load_preset(name)


@pytest.mark.parametrize("name", ["fsdp+", "+fsdp", "fsdp++decode", "fsdp+ ", "+"])
def test_a_name_that_is_missing_beside_a_plus_is_told(name: str) -> None:
    with pytest.raises(UnknownPreset, match="a name is missing"):
        compose(name)


def test_what_can_only_be_a_presets_name() -> None:
    assert all(map(is_preset, ("fsdp", "fsdp+mine", "mine.toml", "./folder/mine")))
    assert not any(map(is_preset, ("fsd", "xla_gpu_autotune_level", "NCCL_DEBUG")))


def test_the_file_of_a_name_with_a_plus_is_that_file(tmp_path: Path) -> None:
    assert preset_of(preset_file(tmp_path, "a+b.toml", 'summary = "both"\n')).summary == "both"


def test_a_name_is_a_files_by_its_spelling_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies in the folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("fsdp", "fsdp+reproducible", "reproducible"):
        (tmp_path / name).write_text("no preset")
    assert preset_of("fsdp+reproducible") == compose("fsdp+reproducible")
    assert plan("fsdp+reproducible", machine=machine(), environ={}).preset == "fsdp+reproducible"
    assert all(map(is_path, ("a.toml", "./fsdp", "/a/b"))) and not any(map(is_path, ("fsdp", "fsdp+reproducible")))


def test_composing_reads_nothing(tmp_path: Path) -> None:
    """A file that is there counts as its content that is handed in, and not without it."""
    path = preset_file(tmp_path, "mine.toml", 'summary = "mine"\n')
    with pytest.raises(BadSetting, match="not read"):
        compose(path)
    handed = Preset("other", "handed in", "user")
    assert compose(f"fsdp+{path}", {path: handed}).summary.endswith("handed in")
    wrong = (Finding("bad-preset-file", "error", "broken"), Finding("bad-preset-file", "error", "twice"))
    with pytest.raises(BadSetting, match=r"(?s)broken.*twice"):
        compose(path, {path: wrong})
