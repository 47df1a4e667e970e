"""What can be tried on a machine: gated by the plan, with presets, hazards and what is inherited."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.arms import environ_of
from jaxgpu_tune.host.observe import observe
from jaxgpu_tune.knowledge.candidates import starts
from jaxgpu_tune.measure.search.trials import NOTHING, Config
from jaxgpu_tune.measure.tuning.space import AS_IT_IS, CLEAN, Space, _starts, candidate_of, space_of
from jaxgpu_tune.model import Machine, Setting
from jaxgpu_tune.planning.request import make_request
from tests.measure.atoms import atom

MODE = atom("xla_gpu_command_buffer_scheduling_mode=CONCURRENT")


def space(jaxlib: str = "0.11.2", gpus: int = 1, environ: dict[str, str] | None = None, **more: Any) -> Space:
    told = {"jaxlib": jaxlib, "jax": jaxlib, "gpus": [{"compute_capability": "9.0", "count": gpus}] if gpus else []}
    observation = observe({"PATH": "/bin", **(environ or {})}, Machine.from_dict(told), live=False)
    clean = environ_of("clean", observation.environ)[1]
    return space_of(make_request("auto", more.pop("arguments", {})), observation, starts(), clean, **more)


def test_what_fits_the_kind_of_program_comes_first_and_what_changed_much_is_marked() -> None:
    """As it was asked, or as the first run showed it; what was asked stays."""
    seen, asked = space().for_kinds(["convolutions"]), space(kinds=["loops"])
    assert seen.name(seen.moves[0].config) == "convolutions-in-graphs"
    assert not any(move.large for move in seen.moves)
    assert asked.for_kinds(["convolutions"]) == asked
    assert [asked.name(move.config) for move in asked.moves if move.large] == ["simulation", "loops-in-graphs"]
    own = candidate_of("mine", [Setting("env", "MINE", "1", "asked for", "asked for")])
    assert space(more=[own]).for_kinds(["loops"]).moves[0].config == frozenset([atom("MINE=1", "env")])


def test_what_is_mended_for_the_runs_is_told() -> None:
    """The program by itself ends on it."""
    found = space(environ={"XLA_FLAGS": "--xla_no_such=1", "NCCL_DEBUGG": "INFO"})
    assert [one.code for one in found.mended] == ["unknown-flag", "unknown-variable"] and space().mended == ()
    assert "xla_no_such" not in found.environ(NOTHING).get("XLA_FLAGS", "")


def why(found: Space, name: str) -> str:
    return next(one.why for one in found.left_out if one.name == name)


def test_presets_that_fit_are_starts_and_the_first_is_what_is_there() -> None:
    one, two = space(), space(gpus=2)
    assert [start.name for start in one.starts] == [AS_IT_IS, "simulation"]
    assert one.starts[0].config == NOTHING
    assert one.starts[1].config == frozenset([MODE])
    assert [start.name for start in two.starts] == [AS_IT_IS, "fsdp", "data_parallel", "decode", "simulation"]


@given(st.lists(st.frozensets(st.sampled_from([atom(f"a={number}") for number in range(3)]))))
def test_no_two_starts_are_alike(configs: list[Config]) -> None:
    """Of presets that set the same the first stands; what sets nothing is what is there."""
    found = _starts((), {str(number): one for number, one in enumerate(configs)})
    assert [one.config for one in found] == list(dict.fromkeys([NOTHING, *configs]))
    assert [one.name for one in found] == [AS_IT_IS, *(str(configs.index(one.config)) for one in found[1:])]


def test_what_this_machine_or_release_cannot_use_is_left_out_with_the_plans_reason() -> None:
    assert "1 GPU in this job does not meet devices >=2" in why(space(), "combine-large")
    assert "no such flag" in why(space("0.5.3"), "unrolled-in-graphs")
    assert "No NVIDIA GPU" in why(space(gpus=0), "small-graphs")
    assert not [one for move in space(gpus=0).moves for one in move.config if "gpu" in one.name]


def test_what_is_set_already_is_not_tried_and_can_be_left_out_as_a_whole() -> None:
    found = space(environ={"XLA_FLAGS": "--xla_gpu_enable_triton_gemm=true --xla_force_host_platform_device_count=2"})
    assert "set already" in why(found, "cublas-only")
    assert [start.name for start in found.starts[:2]] == [AS_IT_IS, "clean"]
    assert found.environ(frozenset([CLEAN]))["XLA_FLAGS"] == "--xla_force_host_platform_device_count=2"
    kept = found.environ(frozenset([MODE]))["XLA_FLAGS"]
    assert "triton_gemm=true" in kept and "CONCURRENT" in kept


def test_an_older_release_gets_its_own_names() -> None:
    names = {one.name for move in space("0.5.3").moves for one in move.config}
    assert "xla_gpu_graph_enable_concurrent_region" in names
    assert "xla_gpu_command_buffer_scheduling_mode" not in names


def test_the_environment_has_the_settings_and_no_call_of_ours_changes_it() -> None:
    found = space()
    environ = found.environ(frozenset([MODE, atom("XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async", "env")]))
    assert environ["XLA_FLAGS"] == str(MODE)
    assert environ["XLA_PYTHON_CLIENT_ALLOCATOR"] == "cuda_async"
    assert environ["JAXGPU_TUNE"] == "off"
    assert found.environ(frozenset([atom("jax_optimization_level=O1", "jax_config")]))["JAX_OPTIMIZATION_LEVEL"] == "O1"


def test_hazards_that_change_numbers_are_out_and_those_that_hang_are_known() -> None:
    wrong = space("0.11.1", gpus=2)
    assert "wrong offsets" in why(wrong, "double-buffering")
    assert all("double_buffering" not in one.name for move in wrong.moves for one in move.config)
    hang = frozenset([atom("xla_gpu_enable_command_buffer=+COLLECTIVES")])
    assert space(gpus=2).risk(hang) == "dies"
    assert space().risk(frozenset([MODE])) == "none"
    assert space().risk(frozenset([MODE, atom("xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL")])) == "dies"
    inherited = space(gpus=2, environ={"XLA_FLAGS": "--xla_gpu_enable_command_buffer=+COLLECTIVES"})
    assert inherited.risk(frozenset([MODE])) == "none"


def test_candidates_of_the_user_and_for_the_kind_of_program_come_first() -> None:
    own = candidate_of("mine", [Setting("xla_flag", "xla_gpu_graph_min_graph_size", "7", "asked for", "--try")])
    found = space(more=[own], kinds=["convolutions"])
    names = [found.name(move.config) for move in found.moves]
    assert names[0] == "mine"
    assert names.index("convolutions-in-graphs") < names.index("loops-in-graphs")


def test_thresholds_hold_the_layer_that_is_told() -> None:
    found = space(gpus=2, arguments={"layer_bytes": 300 << 20})
    values = {one.value for move in found.moves for one in move.config if "threshold_bytes" in one.name}
    assert values == {str(300 << 20)}


def test_a_run_has_all_the_settings_that_it_is_named_by() -> None:
    """What may hang is tried last and as it is called: no part of it is left out."""
    risky = frozenset([MODE, atom("xla_gpu_enable_while_loop_double_buffering=true")])
    found = space()
    assert found.risk(risky) == "dies"
    assert found.environ(risky)["XLA_FLAGS"].split() == [f"--{one.name}={one.value}" for one in sorted(risky)]
