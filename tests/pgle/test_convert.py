"""Traces, exports and profiles to one profile; JAX's own converter, inside jaxlib, reads the same traces."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle.binary_form import parse_binary
from jaxgpu_tune.pgle.convert import convert, of_one_run
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, is_communication
from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.program import read_program
from tests.pgle.nsys_export import Export
from tests.pgle.xspace import Kernel, hlo, ran, space

FILES = Path(__file__).parent / "files"
TRACES = Path(__file__).parents[1] / "measure" / "traces"
BOUND = "0123456789abcdef" * 2
NAMES = {"fusion.1": "fusion.1", "all-gather.4": "all-gather-start", "wrapped.2": "wrapped.2"}


def steps(wait: float) -> list[Kernel]:
    """Two steps of one GPU, whose collective comes so early, and waits; a kernel of another program, and one of no program."""
    kernels = [Kernel("cub", 0, 5, {}), ran("jit_other", "fusion.1", 1, 3)]
    for begin in (110.0 - wait, 310.0 - wait):
        kernels += [ran("jit_step", "fusion.1", begin, 8), ran("jit_step", "wrapped.2", begin + 9, 4)]
        kernels += [ran("jit_step", "all-gather.4", begin + 20, 30 + wait, "ncclDevKernel_AllGather")]
    return kernels


def trace(path: Path, waits: tuple[float, ...] = (0, 40)) -> Path:
    """Of a host with so many GPUs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = space([steps(wait) for wait in waits], {"jit_step(3)": hlo("jit_step", BOUND, NAMES)})
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


COSTS = {"all-gather-start": 30, "fusion.1": 8, "wrapped.2": 4}


def test_a_trace_becomes_a_profile(tmp_path: Path) -> None:
    """Of the program that takes most time, by the names that the scheduler looks up, without what a GPU waited for the other."""
    found = convert([trace(tmp_path / "a.xplane.pb")])
    assert (found.profile.by_name, found.module, found.runs) == (COSTS, "jit_step", 1)
    assert found.profile.fingerprints == () and found.findings == ()


def test_jaxs_own_converter_of_the_same_trace(tmp_path: Path) -> None:
    """Its means count the waiting, and name the collective as it is after scheduling, bound to the program's fingerprint."""
    from jax._src.lib import _profiler

    path = trace(tmp_path / "a.xplane.pb")
    theirs = parse_binary(_profiler.get_fdo_profile(path.read_bytes()))
    means = {"all-gather.4": 50.0, "fusion.1": 8.0, "wrapped.2": 4.0}
    assert {cost for cost in theirs.costs if cost.fingerprint} == {Cost(name, us, BOUND) for name, us in means.items()}
    write_profile(CostProfile(tuple(cost for cost in theirs.costs if cost.fingerprint)), tmp_path / "theirs.pb")
    assert convert([tmp_path / "theirs.pb"]).profile.by_name == means


def test_hosts_are_ranks_and_folders_are_runs(tmp_path: Path) -> None:
    trace(tmp_path / "one" / "a.xplane.pb", (40,))
    trace(tmp_path / "one" / "b.xplane.pb.gz", (0,))
    assert convert([tmp_path / "one"]).profile.by_name == COSTS
    trace(tmp_path / "two" / "a.xplane.pb", (10,))
    trace(tmp_path / "three" / "a.xplane.pb", (5,))
    found = convert([tmp_path])
    assert found.runs == 3 and found.profile.by_name == {**COSTS, "all-gather-start": 35}
    assert convert([tmp_path], percent=100).profile.by_name["all-gather-start"] == 40
    ranks = [tmp_path / name / "a.xplane.pb" for name in ("one", "two")]
    assert of_one_run(ranks).profile.by_name["all-gather-start"] == 40


def test_another_program_of_the_trace(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.xplane.pb")
    found = convert([path], module="jit_other")
    assert found.profile.by_name == {"fusion.1": 3}
    assert [one.code for one in found.findings] == ["pgle-no-program"]
    with pytest.raises(BadSetting, match=r"No kernel of the program 'jit_none'.*jit_step, jit_other"):
        convert([path], module="jit_none")


def test_an_export_needs_the_program_for_its_names(tmp_path: Path) -> None:
    export = Export(tmp_path / "rank0.sqlite")
    names = read_program(FILES / "fsdp_no_overlap.hlo.txt").scheduled_names
    gather = next(name for name, before in names.items() if before == "all-gather-start.1" and name != before)
    export.range("XlaModule:#hlo_module=jit_f,program_id=3#", 0, 100)
    export.range(f"Thunk:#name=x,hlo_op={gather}#", 1, 5)
    export.kernel("ncclDevKernel_AllGather", 2, 10, 20)
    found = convert([export.path]).findings
    assert [(one.code, one.severity) for one in found] == [("pgle-no-program", "warning")]
    assert "'s instructions are those after scheduling" in found[0].message and "--program" in found[0].hint
    other = convert([export.path], program=read_program(FILES / "fsdp.hlo.txt"))
    assert "pgle-collectives-missing" in [one.code for one in other.findings] and other.match is not None
    named = convert([export.path], program=read_program(FILES / "fsdp_no_overlap.hlo.txt"))
    assert named.profile.by_name == {"all-gather-start.1": 20}
    assert named.match is not None and named.match.found == ("all-gather-start.1",)


def test_several_profiles_are_several_runs(tmp_path: Path) -> None:
    for number, us in enumerate((5.0, 1.0, 9.0)):
        write_profile(CostProfile((Cost("fusion", us),)), tmp_path / f"{number}.pbtxt")
    found = convert([tmp_path / f"{number}.pbtxt" for number in range(3)])
    assert (found.profile.by_name, found.runs) == ({"fusion": 5.0}, 3)


def test_profiles_of_several_programs_do_not_mix(tmp_path: Path) -> None:
    """But where the program is given, its entries are taken."""
    program = read_program(FILES / "fsdp.hlo.txt")
    entries = (Cost("fusion", 1.0, BOUND), Cost("fusion", 2.0, program.fingerprint), Cost("copy", 3.0))
    write_profile(CostProfile(entries), tmp_path / "p.pb")
    with pytest.raises(BadSetting, match="2 programs"):
        convert([tmp_path / "p.pb"])
    assert convert([tmp_path / "p.pb"], program=program).profile.by_name == {"fusion": 2.0, "copy": 3.0}


def test_everything_wrong_is_told_at_once_and_nothing_is_touched(tmp_path: Path) -> None:
    (tmp_path / "x.nsys-rep").write_bytes(b"?")
    (tmp_path / "empty").mkdir()
    (tmp_path / "cpu.xplane.pb").write_bytes(space([], {}))
    (tmp_path / "idle.xplane.pb").write_bytes(space([[]], {}))
    (tmp_path / "graph.xplane.pb").write_bytes(space([[Kernel("graph", 0, 1, {})]], {}))
    (tmp_path / "notes.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BadSetting) as raised:
        convert([*sorted(tmp_path.iterdir()), tmp_path / "absent"])
    for said in (
        "nsys export",
        "holds no",
        "no plane of a GPU",
        "are empty",
        "CUDA graphs",
        "no profile",
        "no such file",
    ):
        assert said in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(BadSetting, match="101 is not from 0 to 100"):
        convert([tmp_path], percent=101)


def test_a_real_trace_of_two_gpus() -> None:
    """FSDP on two H200, jaxlib 0.11.2, taken with the settings of training: every collective is found by its start; what ran in
    CUDA graphs is not."""
    found = convert([TRACES / "fsdp-h200x2.xplane.pb.gz"])
    assert found.module == "jit_step" and found.match is not None
    told = [(one.code, one.severity) for one in found.findings]
    assert told == [("pgle-command-buffers", "warning"), ("pgle-little-match", "warning")]
    assert found.match.collectives == () and len([n for n in found.match.found if is_communication(n)]) == 12
    assert all(10 < us < 1000 for name, us in found.profile.by_name.items() if is_communication(name))
