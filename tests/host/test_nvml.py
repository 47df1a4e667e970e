"""GPUs from NVML: a working one, one that fails in every way, and the real library where there is no device."""

from __future__ import annotations

import threading
import time
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import Machine, plan
from jaxgpu_tune.host import nvml as asking
from jaxgpu_tune.host.gpus import NvmlAnswer, find_gpus
from tests.child import told
from tests.host.fake_nvml import GIB, BrokenNvml, Card, FakeNvml


def switched(count: int) -> list[Card]:
    """GPUs joined by NVSwitch, at one bus each."""
    return [Card(f"GPU-{i:08x}", bus=(0, 6 + i, 0), links=["switch"] * 18) for i in range(count)]


def peers(*cards: Card, **environ: str) -> list[tuple[int, ...] | None]:
    """NVLink peers of each visible GPU."""
    return [gpu.nvlink_peers for gpu in find_gpus(environ, FakeNvml(*cards)).gpus or ()]


def test_facts_of_each_gpu() -> None:
    """Name, UUID, capability and memory as NVML tells them; the versions of driver and CUDA."""
    found = find_gpus({}, FakeNvml(*switched(2)))
    assert (found.driver, found.cuda_driver) == ("580.159.04", "13.0")
    gpu = (found.gpus or ())[1]
    assert (gpu.index, gpu.uuid, gpu.compute_capability, gpu.mig) == (1, "GPU-00000001", "9.0", False)
    assert (gpu.memory_bytes, gpu.free_bytes) == (80 * GIB, 79 * GIB)


def test_r56_index_is_the_processes_own_and_the_uuid_tells_which_gpu_it_is() -> None:
    """CUDA renumbers from 0."""
    found = find_gpus({"CUDA_VISIBLE_DEVICES": "2,1"}, FakeNvml(*switched(4)))
    assert [(gpu.index, gpu.uuid) for gpu in found.gpus or ()] == [(0, "GPU-00000002"), (1, "GPU-00000001")]


def test_peers_through_a_switch_are_the_visible_ones() -> None:
    """All GPUs at switches reach each other; only visible ones count."""
    assert peers(*switched(3)) == [(1, 2), (0, 2), (0, 1)]
    assert peers(*switched(3), CUDA_VISIBLE_DEVICES="2,0") == [(1,), (0,)]


def test_peers_by_direct_links_where_each_gpu_has_a_pci_domain_of_its_own() -> None:
    """As on some clouds' virtual machines: device 00:00.0 of domains 1 to 3."""
    a, b, c = (Card(f"GPU-{i}", bus=(i, 0, 0)) for i in (1, 2, 3))
    a.links, b.links = [b, b, None], [a, a, c]
    c.links = [None, b]
    assert peers(a, b, c) == [(1,), (0, 2), (1,)]


def test_no_nvlink() -> None:
    """PCI Express only: no peers, and that is known."""
    assert peers(Card("GPU-1"), Card("GPU-2")) == [(), ()]


def test_r55_a_slice_has_its_own_memory_and_no_peers() -> None:
    """A GPU in MIG mode stands for one slice."""
    parts = [Card(f"MIG-{i}", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", None, 10 * GIB, instance=(i, 0)) for i in (7, 8)]
    (gpu,) = find_gpus({}, FakeNvml(Card("GPU-1", mig=True, slices=parts), Card("GPU-2"))).gpus or ()
    assert (gpu.uuid, gpu.memory_bytes, gpu.mig, gpu.compute_capability, gpu.nvlink_peers) == (
        "MIG-7",
        10 * GIB,
        True,
        "9.0",
        (),
    )


def test_r54_different_gpus_come_fastest_first_unless_pci_order_is_asked_for() -> None:
    """CUDA_DEVICE_ORDER decides what an index means."""
    old, new = (
        Card("GPU-1", "NVIDIA GeForce GTX 1080 Ti", (6, 1), 11 * GIB, 3584),
        Card("GPU-2", "NVIDIA RTX PRO 6000", (12, 0)),
    )
    for order, expected in (({}, ["12.0", "6.1"]), ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["6.1", "12.0"])):
        assert [gpu.compute_capability for gpu in find_gpus(order, FakeNvml(old, new)).gpus or ()] == expected


def test_equal_gpus_keep_their_pci_order() -> None:
    """A little less memory on one (retired pages) moves nothing."""
    cards = [Card(f"GPU-{i}", memory=80 * GIB + i) for i in range(4)]
    assert [gpu.uuid for gpu in find_gpus({}, FakeNvml(*cards)).gpus or ()] == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]


def test_unified_memory_is_unknown() -> None:
    """GB10: NVML states no memory."""
    (gpu,) = find_gpus({}, FakeNvml(Card("GPU-1", "NVIDIA GB10", (12, 1), None))).gpus or ()
    assert (gpu.memory_bytes, gpu.free_bytes, gpu.compute_capability) == (None, None, "12.1")


def test_a_broken_driver_is_a_fact() -> None:
    """Nothing is learned, nothing is raised."""
    assert find_gpus({}, BrokenNvml()) == NvmlAnswer(None)


@pytest.mark.parametrize("dead", sorted(FakeNvml().answers))
def test_any_one_call_may_fail(dead: str) -> None:
    """Whichever function a driver lacks, the others' answers stay."""
    good = FakeNvml(*switched(2))
    found = find_gpus({}, BrokenNvml(good, tuple(name for name in good.answers if name != dead)))
    assert found.gpus is None or len(found.gpus) == 2


def test_nvml_is_shut_down() -> None:
    """Whatever was learned."""
    nvml = FakeNvml(*switched(1))
    find_gpus({}, nvml)
    assert nvml.calls[-1] == "nvmlShutdown"


@given(
    st.sets(st.sampled_from(sorted(FakeNvml().answers))), st.sampled_from([None, "", "0", "1,0", "MIG-7", "GPU-2", "x"])
)
def test_any_set_of_calls_may_fail(dead: set[str], text: str | None) -> None:
    """Whatever a driver lacks: no exception, indices from 0, peers among what is visible and never itself."""
    parts = [Card(f"MIG-{i}", memory=10 * GIB, instance=(i, 0)) for i in (7, 8)]
    good = FakeNvml(
        Card("GPU-1", mig=True, slices=parts), Card("GPU-2", links=["switch"]), Card("GPU-3", links=["switch"])
    )
    works = tuple(name for name in good.answers if name not in dead)
    found = find_gpus({} if text is None else {"CUDA_VISIBLE_DEVICES": text}, BrokenNvml(good, works)).gpus
    for index, gpu in enumerate(found or ()):
        assert gpu.index == index
        assert set(gpu.nvlink_peers or ()) <= set(range(len(found or ()))) - {index}


def test_a_slice_is_chosen_by_its_uuid() -> None:
    """By UUID, and by the older name, of two on one GPU."""
    parts = [Card(f"MIG-{i}{i}", memory=i * GIB, instance=(i, 0)) for i in (7, 8)]
    nvml = FakeNvml(Card("GPU-1", mig=True, slices=parts))
    for text in ("MIG-88", "MIG-GPU-1/8/0"):
        assert [gpu.memory_bytes for gpu in find_gpus({"CUDA_VISIBLE_DEVICES": text}, nvml).gpus or ()] == [8 * GIB]


def test_a_driver_that_hangs_is_unknown_and_does_not_keep_the_process(tmp_path: Any) -> None:
    """In a child: the thread that waits for it ends with the process, and it is asked once."""
    code = """
        import time
        from jaxgpu_tune.host import gpus, nvml
        from jaxgpu_tune import plan
        class Hanging:
            def nvmlInit(self):
                time.sleep(3600)
        nvml.SECONDS, nvml.nvml_library, gpus.NODES = 0.2, Hanging, ("/dev/null",)
        reports = [plan("fsdp", environ={}) for _ in range(3)]
        told = [[f.severity for f in report.findings if f.code == "gpus-unknown"] for report in reports]
        tell([told, [report.machine.gpus for report in reports], len(nvml._hung)])
    """
    assert told(dedent(code), timeout=300) == [[["warning"]] * 3, [None] * 3, 1]


def test_a_host_that_stood_still_has_no_driver_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock went on by more than the driver may take, while nothing ran: a wait ends before its time."""
    joined: list[float | None] = []
    join = threading.Thread.join

    def late(thread: threading.Thread, timeout: float | None = None) -> None:
        joined.append(timeout)
        if len(joined) > 1:
            join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", late)
    monkeypatch.setattr(asking, "_hung", [])
    slow = FakeNvml(Card("GPU-a"))
    slow.answers["nvmlDeviceGetCount"] = lambda: time.sleep(0.2) or 1  # type: ignore[func-returns-value]
    assert [gpu.uuid for gpu in find_gpus({}, slow).gpus or ()] == ["GPU-a"]
    assert len(joined) > 1 and not asking._hung


def absurd(**answers: Any) -> NvmlAnswer:
    """What is found where NVML answers two cards' facts, but for these."""
    nvml = FakeNvml(Card("GPU-1", bus=(0, 1, 0)), Card("GPU-2", bus=(0, 2, 0)))
    nvml.answers |= {name: (lambda *_, value=value: value) for name, value in answers.items()}
    return find_gpus({}, nvml)


@pytest.mark.parametrize("count", [-1, 10**9, "two", None, 2.5, True])
def test_an_absurd_number_of_gpus_is_unknown(count: Any) -> None:
    assert absurd(nvmlDeviceGetCount=count).gpus in (None, ()) or count is True


@pytest.mark.parametrize("capability", [(-1, -7), (10**9, 0), ("9", "0"), (9,), "90", 9, object()])
def test_an_absurd_capability_is_unknown(capability: Any) -> None:
    found = absurd(nvmlDeviceGetCudaComputeCapability=capability).gpus
    assert found is None or {gpu.compute_capability for gpu in found} == {None}


@pytest.mark.parametrize("name", ["NVIDIA\x1b[31m H100", "a\nb", b"\xff\x00", 7, "\u202eH100"])
def test_a_name_that_cannot_be_shown_is_unknown(name: Any) -> None:
    found = absurd(nvmlDeviceGetName=name, nvmlSystemGetDriverVersion=name)
    assert {gpu.name for gpu in found.gpus or ()} in ({None}, {name}) and (
        found.driver is None or found.driver.isprintable()
    )
    assert all(gpu.name is None or gpu.name.isprintable() for gpu in found.gpus or ())


@pytest.mark.parametrize("cuda", [-13000, 10**12, "13", None])
def test_an_absurd_cuda_is_unknown(cuda: Any) -> None:
    assert absurd(nvmlSystemGetCudaDriverVersion_v2=cuda).cuda_driver is None


@given(
    st.dictionaries(
        st.sampled_from([*FakeNvml().answers]),
        st.none() | st.integers() | st.text() | st.binary() | st.tuples(st.integers()),
    )
)
def test_whatever_a_driver_answers_nothing_is_raised(answers: dict[str, Any]) -> None:
    found = absurd(**answers)
    assert found.gpus is None or all(isinstance(gpu.index, int) for gpu in found.gpus)


def test_gpus_of_one_uuid_are_all_there_and_are_told() -> None:
    found = find_gpus(
        {}, FakeNvml(Card("GPU-a", bus=(0, 1, 0)), Card("GPU-a", bus=(0, 2, 0)), Card("GPU-b", bus=(0, 3, 0)))
    )
    assert [(gpu.index, gpu.uuid) for gpu in found.gpus or ()] == [(0, "GPU-a"), (1, "GPU-a"), (2, "GPU-b")]
    here = Machine(gpus=found.gpus, jax="0.11.2", jaxlib="0.11.2")
    (one,) = [f for f in plan("auto", machine=here, environ={}).findings if f.code == "gpus-with-one-uuid"]
    assert one.severity == "warning" and "GPU 0, 1 give one UUID (GPU-a)" in one.message


def test_what_else_a_gpu_tells_of_itself() -> None:
    """By NVML's numbers; what it does not tell, or tells by another number, is unknown."""

    def one(**changes: Any) -> Any:
        (gpu,) = find_gpus({}, FakeNvml(Card("GPU-a", **changes))).gpus or ()
        return gpu

    modes = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process", 4: None, None: None}
    assert {mode: one(compute_mode=mode).compute_mode for mode in modes} == modes
    told = {0: False, 1: False, 2: True, 3: False, None: None}
    assert {mode: one(virtualization=mode).vgpu for mode in told} == told
    assert {state: one(display=state).display for state in (0, 1, None)} == {0: False, 1: True, None: None}
    assert (one().memory_bytes, one().free_bytes, one(memory=None).free_bytes) == (80 << 30, 79 << 30, None)
    assert (one(memory=1 << 50).memory_bytes, one(memory=(1 << 50) + 1).memory_bytes) == (1 << 50, None)


def test_the_bounds_of_what_is_believed() -> None:
    assert absurd(nvmlSystemGetCudaDriverVersion_v2=1_000_000).cuda_driver == "1000.0"
    assert absurd(nvmlSystemGetCudaDriverVersion_v2=1_000_001).cuda_driver is None
    assert absurd(nvmlSystemGetCudaDriverVersion_v2=0).cuda_driver is None
    assert absurd(nvmlSystemGetCudaDriverVersion_v2=12090).cuda_driver == "12.9"
    for capability, text in (((1000, 0), "1000.0"), ((1001, 0), None), ((0, 0), "0.0")):
        assert {gpu.compute_capability for gpu in absurd(nvmlDeviceGetCudaComputeCapability=capability).gpus or ()} == {
            text
        }
    many = FakeNvml(*(Card(f"GPU-{n}", bus=(0, n % 256, n // 256)) for n in range(1025)))
    assert find_gpus({}, many).gpus is None
    many.answers["nvmlDeviceGetCount"] = lambda: 1024
    assert len(find_gpus({}, many).gpus or ()) == 1024


def test_gpus_that_tell_no_capability_come_last_and_are_there() -> None:
    unknown = Card("GPU-a", name="?", capability=None, bus=(0, 1, 0))
    slow, fast = (Card(f"GPU-{n}", capability=(n, 0), bus=(0, n, 0)) for n in (7, 9))
    found = find_gpus({}, FakeNvml(unknown, slow, fast)).gpus or ()
    assert [gpu.uuid for gpu in found] == ["GPU-9", "GPU-7", "GPU-a"]
    assert found[2].compute_capability is None


def test_only_what_nvidias_package_has_is_asked_for() -> None:
    """By every name that a GPU with slices and links is asked for."""
    import pynvml

    piece = Card("MIG-1", instance=(1, 0))
    asked = FakeNvml(
        Card("GPU-a", mig=True, slices=[piece], links=["switch"]), Card("GPU-b", name="x", links=["switch"])
    )
    find_gpus({}, asked)
    assert len(set(asked.calls)) > 20 and [name for name in asked.calls if not hasattr(pynvml, name)] == []
    assert pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH == FakeNvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
