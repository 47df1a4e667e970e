"""Presets joined, and what is known of the job they are for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import BadSetting, UnknownPreset, plan
from jaxgpu_tune.host.named import preset_of
from jaxgpu_tune.model import Finding, Machine, Preset
from jaxgpu_tune.planning.composing import compose, is_path, is_preset
from jaxgpu_tune.planning.request import Request
from jaxgpu_tune.planning.select import facts_of
from tests.fleet import GIB, codes, machine


def preset_file(folder: Path, name: str, text: str) -> str:
    """A user's preset."""
    (folder / name).write_text(text)
    return str(folder / name)


def facts(here: Machine, **arguments: object) -> object:
    """What conditions are judged by."""
    return facts_of(here, Request(**arguments))


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
    assert whole.source == " ".join(part.source for part in parts if part.source)


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


class TestJob:
    """How many GPUs and processes there are: as said, as the launcher tells, or as one asks for the other."""

    @pytest.mark.parametrize(
        ("gpus", "devices", "processes"), [(8, 8, 1), (8, 9, 2), (8, 16, 2), (8, 17, 3), (1, 64, 64), (2, 1, 1)]
    )
    def test_devices_of_the_job_tell_how_many_processes_it_has(self, gpus: int, devices: int, processes: int) -> None:
        """Nine GPUs are more than one process of eight has."""
        found = facts(machine(count=gpus), devices=devices)
        assert (found.devices, found.processes) == (devices, processes)

    @pytest.mark.parametrize(
        ("layout", "devices", "processes", "hosts"),
        [
            ({}, 8, 1, 1),
            ({"count": 4, "local_count": 1, "launcher": "slurm"}, 32, 4, 4),
            ({"count": 4, "local_count": 2, "launcher": "slurm"}, 16, 4, 2),
            ({"count": 5, "local_count": 2, "launcher": "slurm"}, 20, 5, 3),
            ({"count": 4, "launcher": "slurm"}, 32, 4, None),
            ({"launcher": "slurm"}, None, None, None),
            ({"count": 16, "local_count": 16, "launcher": "slurm"}, 16, 16, 1),
        ],
    )
    def test_processes_share_what_all_see(
        self, layout: dict[str, object], devices: int | None, processes: int | None, hosts: int | None
    ) -> None:
        found = facts(machine(count=8, processes=layout))
        assert (found.devices, found.processes, found.hosts) == (devices, processes, hosts)

    def test_what_is_said_wins_over_what_the_launcher_tells(self) -> None:
        here = machine(count=8, processes={"count": 4, "local_count": 1, "launcher": "slurm"})
        assert facts(here, devices=64).devices == 64
        assert facts(here, devices=64).processes == 4

    def test_without_a_gpu_there_is_none(self) -> None:
        found = facts(machine(count=0))
        assert (found.devices, found.local_gpus, found.compute_capabilities, found.platform) == (0, 0, (), "cpu")

    def test_unknown_gpus_stay_unknown(self) -> None:
        found = facts(Machine.from_dict({"jaxlib": "0.11.2"}))
        assert (found.devices, found.local_gpus, found.nvlink, found.platform) == (None, None, None, None)

    def test_for_the_cpu_there_are_no_gpus(self) -> None:
        found = facts(machine(count=8), platform="cpu")
        assert (found.local_gpus, found.compute_capabilities, found.platform, found.devices) == (0, (), "cpu", None)


class TestNvlink:
    """Joined: every GPU reaches every other."""

    @staticmethod
    def joined(peers: list[list[int] | None]) -> bool | None:
        gpus = [
            {"index": i, "name": "H", "compute_capability": "9.0", "memory_bytes": 80 * GIB, "nvlink_peers": reached}
            for i, reached in enumerate(peers)
        ]
        return facts(machine(gpus=gpus)).nvlink

    @given(st.integers(2, 6), st.data())
    def test_one_that_reaches_less_than_all_is_enough_to_be_apart(self, count: int, data: st.DataObject) -> None:
        peers: list[list[int] | None] = [[j for j in range(count) if j != i] for i in range(count)]
        assert self.joined(peers) is True
        alone = data.draw(st.integers(0, count - 1))
        peers[alone] = data.draw(st.sampled_from([[], (peers[alone] or [])[1:]]))
        assert self.joined(peers) is False

    def test_one_unknown_leaves_it_unknown(self) -> None:
        assert self.joined([[1], None]) is None


def test_gpus_of_which_one_is_unknown_have_no_known_capability() -> None:
    gpus = [{"index": i, "name": "H", "compute_capability": one} for i, one in enumerate(("9.0", None))]
    assert facts(machine(gpus=gpus)).compute_capabilities is None
