"""What says the same in the words of several releases."""

from __future__ import annotations

from jaxgpu_tune.knowledge.alike import alike, speaking_for, values_told
from jaxgpu_tune.knowledge.translations import all_rules

COMMAND_BUFFER, SCHEDULING = "xla_gpu_enable_command_buffer", "xla_gpu_command_buffer_scheduling_mode"


def test_who_says_a_thing_is_known_to_speak_for_it() -> None:
    """Over all translations: whatever a value says in other words, its name is found by theirs."""
    for kind, name in {(rule.kind, rule.name) for rule in all_rules()}:
        for value in (*values_told(kind, name), "true", "allreduce,allgather"):
            said = {one for one, _ in alike(kind, name, value)}
            assert name not in said
            assert all(name in speaking_for(kind, one) for one in said), (name, value)


def test_one_step_and_several() -> None:
    """An older name, a newer one, and one switch for three by way of the newest names."""
    assert alike("xla_flag", "xla_gpu_graph_enable_concurrent_region", "1") == ((SCHEDULING, "CONCURRENT"),)
    assert alike("xla_flag", "xla_gpu_graph_level", "0") == ((COMMAND_BUFFER, ""),)
    assert ("jax_optimization_level", "O1") in alike("jax_config", "jax_exec_time_optimization_effort", 0.5)
    said = dict(alike("xla_flag", "xla_gpu_enable_pipelined_collectives", "true"))
    assert said["xla_gpu_pipeline_all_gather"] == "on" and said["xla_gpu_enable_pipelined_all_gather"] == "true"
    assert "xla_gpu_enable_pipelined_collectives" in speaking_for("xla_flag", "xla_gpu_enable_pipelined_all_gather")


def test_what_says_nothing_else() -> None:
    """Off, of another kind, or a name of which no translation tells."""
    assert alike("xla_flag", "xla_gpu_graph_enable_concurrent_region", "false") == ()
    assert alike("jax_config", "jax_compiler_enable_remat_pass", False) == ()
    assert alike("xla_flag", "xla_dump_to", "/x") == () == speaking_for("xla_flag", "xla_dump_to")
