"""What is known of the job that a preset is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.request import Request
from jaxgpu_tune.planning.select import facts_of
from tests.fleet import GIB, machine


def facts(here: Machine, **arguments: object) -> object:
    """What conditions are judged by."""
    return facts_of(here, Request(**arguments))


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
