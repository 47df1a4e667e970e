"""What is known of the job that a preset is for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding, Machine, Preset, Setting
from jaxgpu_tune.planning.in_force import InForce
from jaxgpu_tune.planning.request import Request
from jaxgpu_tune.planning.select import (
    GENERATION,
    MIB,
    REMEDIES,
    Selection,
    advised,
    facts_of,
    nothing_set,
    select,
    unheeded,
)
from jaxgpu_tune.planning.settings.setting_names import THRESHOLD_FLAGS
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


def setting(name: str = "xla_gpu_autotune_level", kind: str = "xla_flag", **more: Any) -> Setting:
    """One of a preset."""
    return Setting(kind, name, "4", "because", "preset mine", **more)  # type: ignore[arg-type]


def preset(*settings: Setting, **more: Any) -> Preset:
    """One with these settings."""
    return Preset("mine", "For me.", "user", settings, **more)


def chosen(*settings: Setting, here: Machine | None = None, **arguments: Any) -> Selection:
    """Which of them hold on eight H100."""
    request = Request(**arguments)
    return select(settings, "preset", request, facts_of(here or machine(), request))


HOPPER, AMPERE = {"compute_capability": "==9.0"}, {"compute_capability": "==8.0"}


class TestSettings:
    """Which settings hold, and what is said of the others."""

    def test_those_whose_conditions_are_met_hold_and_the_others_say_why_not(self) -> None:
        mine = setting("xla_a", when=HOPPER)
        other = setting("xla_b", when={**AMPERE, "devices": ">=9"})
        found = chosen(mine, other)
        assert (found.settings, found.unmet) == ((mine,), (other,))
        (decision,) = found.decisions
        assert (decision.status, decision.value, decision.name, decision.origin) == ("unmet", None, "xla_b", "preset")
        assert decision.reason == (
            "Compute capability 9.0 does not meet compute_capability ==8.0. 8 GPUs in this job do not meet devices >=9."
        )

    @pytest.mark.parametrize(
        ("when", "held"),
        [
            (AMPERE, True),
            ({**AMPERE, "devices": "==8"}, True),
            ({**AMPERE, "devices": "==9"}, False),
            ({"devices": "==9"}, False),
        ],
    )
    def test_what_was_measured_on_other_gpus_alone_can_be_asked_for(self, when: dict[str, str], held: bool) -> None:
        """It says so; other conditions stay, and so does a capability that is unknown."""
        found = chosen(setting(when=when), unmeasured=True)
        assert bool(found.settings) is held
        assert not held or found.settings[0].reason == (
            "because; unmeasured on these GPUs, measured for compute capability ==8.0"
        )
        assert not chosen(setting(when=when)).settings
        unknown = machine(gpus=[{"index": 0, "name": "?"}])
        assert not chosen(setting(when=AMPERE), here=unknown, unmeasured=True).settings
        assert chosen(setting(when=HOPPER), unmeasured=True).settings == (setting(when=HOPPER),)

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("xla_gpu_autotune_level", "xla_flag"),
            ("NCCL_ALGO", "env"),
            ("CUDA_DEVICE_MAX_CONNECTIONS", "env"),
            ("XLA_PYTHON_CLIENT_ALLOCATOR", "env"),
            ("XLA_CLIENT_MEM_FRACTION", "env"),
        ],
    )
    def test_what_only_gpus_read_needs_one(self, name: str, kind: str) -> None:
        for here, arguments, why in (
            (machine(count=0), {}, "No NVIDIA GPU is used here."),
            (machine(), {"platform": "cpu"}, "No NVIDIA GPU is used here."),
            (Machine.from_dict({"jaxlib": "0.11.2"}), {}, "Whether there is an NVIDIA GPU is unknown."),
        ):
            found = chosen(setting(name, kind), setting("xla_other"), here=here, **arguments)
            assert [one.name for one in found.settings] == ["xla_other"]
            assert [one.reason for one in found.decisions] == [why]
        assert chosen(setting(name, kind)).settings

    @pytest.mark.parametrize(("size", "mib"), [(1, 1), (MIB, 1), (MIB + 1, 2), (300 * MIB - 1, 300)])
    def test_thresholds_hold_one_layer_in_whole_mib(self, size: int, mib: int) -> None:
        threshold, other = setting(THRESHOLD_FLAGS[0]), setting("xla_other")
        first, second = chosen(threshold, other, layer_bytes=size).settings
        assert first.value == str(mib * MIB) and second == other
        assert first.reason == f"holds one layer of {size} bytes (layer_bytes), in whole MiB; because"
        assert chosen(threshold, other).settings == (threshold, other)


class TestPreset:
    """What is said of a preset as a whole."""

    @staticmethod
    def told(mine: Preset, here: Machine, **arguments: Any) -> list[Finding]:
        request = Request(**arguments)
        facts = facts_of(here, request)
        found = select(mine.settings, "preset", request, facts)
        return [*unheeded(mine, request), *nothing_set(mine, found, request, facts, here)]

    def test_one_that_sets_nothing_says_why_and_what_to_do(self) -> None:
        """By the condition that most of its settings miss first."""
        rules = {
            "compute_capability": (AMPERE, "compute capability 9.0 does not meet compute_capability ==8.0."),
            "devices": ({"devices": "==2"}, "8 GPUs in this job do not meet devices ==2."),
            "jaxlib": ({"jaxlib": "<0.5"}, "jaxlib 0.11.2 does not meet jaxlib <0.5."),
            "nvlink": ({"nvlink": False}, "NVLink joins all GPUs of this process does not meet nvlink false."),
        }
        for condition, (when, why) in rules.items():
            other = {"processes": "==2"}
            mine = preset(*(setting(f"xla_{n}", when=one) for n, one in enumerate((other, when, when))))
            (finding,) = self.told(mine, machine())
            assert (finding.code, finding.severity) == ("preset-sets-nothing", "warning")
            assert finding.message == f"mine sets nothing here: {why}"
            assert finding.hint.endswith(REMEDIES.get(condition, "").replace("{preset}", "mine"))
            assert finding.hint.startswith(GENERATION) is (condition == "compute_capability")
        assert self.told(preset(setting(), setting(when=AMPERE)), machine()) == []
        assert self.told(preset(), machine()) == []

    def test_of_joined_ones_each_that_sets_nothing_says_so(self) -> None:
        """Not one that has no settings, nor where nothing at all is set: that is told of the whole."""
        held = {name: setting(f"xla_{name}")._replace(source=f"preset {name}") for name in ("fsdp", "decode")}
        unheld = held["decode"]._replace(when=AMPERE)
        joined = preset(held["fsdp"], unheld)._replace(name="fsdp + decode+auto")
        (finding,) = self.told(joined, machine())
        assert finding.message.startswith("decode sets nothing here: compute capability 9.0")
        assert self.told(joined._replace(settings=tuple(held.values())), machine()) == []
        (whole,) = self.told(joined._replace(settings=(unheld,)), machine())
        assert whole.message.startswith("fsdp + decode+auto sets nothing here")

    def test_one_that_sets_nothing_for_several_reasons_tells_all(self) -> None:
        """Another jaxlib alone would not help; neither would unmeasured=True."""
        (finding,) = self.told(preset(setting(when={"jaxlib": "<0.5", **AMPERE})), machine())
        assert finding.message.endswith(
            "jaxlib 0.11.2 does not meet jaxlib <0.5. Compute capability 9.0 does not meet compute_capability ==8.0."
        )
        assert finding.hint == f"{GENERATION} `jaxgpu-tune explain mine` lists where its settings hold."

    def test_a_plugin_without_a_gpu_is_an_error(self) -> None:
        without = machine(count=0)
        (finding,) = self.told(preset(setting()), without)
        assert (finding.code, finding.severity) == ("no-gpu", "error")
        assert finding.message.endswith("JAX runs on the CPU, and mine sets nothing.")
        (finding,) = self.told(preset(), without)
        assert finding.message.endswith("JAX runs on the CPU.")
        assert self.told(preset(setting()), without._replace(plugins={"jax-cuda13-pjrt": "0.11.2"})) == []
        assert self.told(preset(setting()), without, platform="cpu") == []

    def test_cuda_without_a_gpu_is_told(self) -> None:
        here = machine(count=0)._replace(plugins={})
        alone = {"platform": "cuda", "held": InForce(("cuda",))}
        (finding,) = self.told(preset(), here, **alone)
        assert (finding.code, finding.severity) == ("no-gpu", "error") and "does not start" in finding.message
        assert self.told(preset(), here, held=InForce(("cuda", "cpu"))) == []
        assert self.told(preset(), machine(), **alone) == []
        assert self.told(preset(), Machine.from_dict({"jaxlib": "0.11.2"}), **alone) == []

    def test_a_layers_size_is_for_presets_with_thresholds(self) -> None:
        (finding,) = self.told(preset(setting()), machine(), layer_bytes=1)
        assert (finding.code, finding.severity) == ("layer-bytes-unused", "warning")
        assert "preset mine sets no combine threshold" in finding.message
        assert self.told(preset(setting(THRESHOLD_FLAGS[-1])), machine(), layer_bytes=1) == []
        assert self.told(preset(setting()), machine()) == []

    def test_advice_is_given_where_its_condition_holds(self) -> None:
        mine = preset(advice=(("Here.", {"devices": ">=8"}), ("There.", {"devices": ">=9"}), ("Always.", {})))
        found = list(advised(mine, facts_of(machine(), Request())))
        assert [(one.code, one.severity, one.message) for one in found] == [
            ("advice", "note", "Here."),
            ("advice", "note", "Always."),
        ]
