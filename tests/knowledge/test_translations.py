"""Translations: laws over every release, and the ones that reports ask for by name."""

from __future__ import annotations

from itertools import chain, product

import pytest

from jaxgpu_tune.knowledge import flags, options
from jaxgpu_tune.knowledge.translations import (
    Rule,
    _load,
    changed_meaning,
    member_rules,
    rules,
    translate,
    translate_option,
)
from jaxgpu_tune.knowledge.versions import is_specifier, version_key

RELEASES = flags.releases()
NEWEST = RELEASES[-1]
OLDEST = RELEASES[0]
FLAG_RULES = [rule for (kind, _), found in _load()[0].items() if kind == "xla_flag" for rule in found]
NEVER_FLAGS = {"xla_gpu_cudnn_gemm_fusion", "xla_gpu_enable_cudnn_gemm_fusion"}
ALL_COLLECTIVES = "allreduce,allgather,reducescatter,collectivebroadcast,alltoall,collectivepermute"


def near(release: str) -> str:
    """The last release of the table that is not newer than ``release``."""
    return [one for one in RELEASES if version_key(one) <= version_key(release)][-1]


def samples(rule: Rule) -> tuple[str, ...]:
    """Values that the table is for."""
    if rule.values is not None:
        return rule.values
    if rule.each is not None:
        return tuple(rule.each)
    return ("3",) if rule.at_least is not None else ("true", "false", "0")


def test_every_target_is_accepted_in_its_release() -> None:
    """Whatever a translation says, that release has the flags and takes the values."""
    for rule, release in product(FLAG_RULES, RELEASES):
        for value in samples(rule):
            found = translate(rule.name, value, release)
            for kind, name, text in found.settings if found else ():
                spec = flags.flag(name, release)
                assert kind != "xla_flag" or (spec is not None and not flags.check_value(spec, text, release)), (
                    rule.name,
                    name,
                    text,
                    release,
                )


def test_a_flag_that_is_fine_is_not_translated() -> None:
    """Where the flag exists and takes the value, there is nothing to do."""
    for rule, release in product(FLAG_RULES, RELEASES):
        spec = flags.flag(rule.name, release)
        for value in samples(rule):
            if spec is not None and not flags.check_value(spec, value, release):
                assert translate(rule.name, value, release) is None, (rule.name, value, release)


def test_every_name_is_or_was_a_flag() -> None:
    """A misspelt name in the table would never be used."""
    targets = chain.from_iterable((*rule.targets, *(rule.each or {}).values()) for rule in FLAG_RULES)
    names = {rule.name for rule in FLAG_RULES} | {name for kind, name, _ in targets if kind == "xla_flag"}
    known = {name for name in names if any(flags.flag(name, release) for release in RELEASES)}
    assert names - known == NEVER_FLAGS


def test_intents_are_parts_of_a_sentence() -> None:
    """They follow "… is not for this release: "."""
    for rule in (*FLAG_RULES, *_load()[1]):
        assert rule.intent
        assert not rule.intent.endswith(".")
        assert rule.intent[0].islower() or rule.intent.split()[0] in ("CUDA", "XLA", "AutoPGLE", "cuDNN's")


def test_changed_meanings_name_their_releases() -> None:
    """Every table of a change of meaning has a range."""
    assert all(is_specifier(rule.releases) for rule in _load()[1])


def test_async_collectives() -> None:
    """R03: true needs nothing, false becomes a list with every member, never the text of a boolean."""
    true, false = (translate("xla_gpu_enable_async_collectives", value, NEWEST) for value in ("true", "false"))
    assert true
    assert true.settings == ()
    assert true.lossless
    assert false
    assert false.settings == (("xla_flag", "xla_gpu_disable_async_collectives", ALL_COLLECTIVES),)
    for value in ("True", "1"):
        assert translate("xla_gpu_enable_async_collectives", value, NEWEST) == true


def test_one_collective() -> None:
    """R01: each of the family alone."""
    found = translate("xla_gpu_enable_async_all_gather", "false", NEWEST)
    assert found
    assert found.settings == (("xla_flag", "xla_gpu_disable_async_collectives", "allgather"),)


def test_the_short_form_of_all_collectives_before_it_existed() -> None:
    """R03's boundary: allcollectives is refused up to 0.5.0."""
    found = translate("xla_gpu_disable_async_collectives", "allcollectives", near("0.4.38"))
    assert found
    assert found.settings[0][2] == ALL_COLLECTIVES


def test_fp_conversions_keep_the_numbers() -> None:
    """R04: true needs nothing, false must not be lost."""
    true, false = (translate("xla_gpu_simplify_all_fp_conversions", value, NEWEST) for value in ("true", "false"))
    assert true
    assert true.settings == ()
    assert false
    assert false.settings == (("xla_flag", "xla_allow_excess_precision", "false"),)


@pytest.mark.parametrize(
    ("level", "kinds"), [("0", ""), ("1", "FUSION"), ("2", "FUSION,CUBLAS"), ("3", "FUSION,CUBLAS,CUDNN")]
)
@pytest.mark.parametrize("flag", ["xla_gpu_graph_level", "xla_gpu_enable_command_buffer"])
def test_graph_levels(flag: str, level: str, kinds: str) -> None:
    """R05 and the first seed: levels, under either name, are lists of command types; off is the empty list."""
    found = translate(flag, level, NEWEST)
    assert found
    assert found.settings == (("xla_flag", "xla_gpu_enable_command_buffer", kinds),)


@pytest.mark.parametrize("collective", ["all_gather", "all_reduce", "reduce_scatter"])
def test_pipelining_in_the_older_words(collective: str) -> None:
    """The newest names, said to a release of booleans."""
    old = near("0.6.2")
    for value, text in (("on", "true"), ("off", "false")):
        found = translate(f"xla_gpu_pipeline_{collective}", value, old)
        assert found
        assert found.settings == (("xla_flag", f"xla_gpu_enable_pipelined_{collective}", text),)
        assert found.lossless
    assert translate(f"xla_gpu_pipeline_{collective}", "on", NEWEST) is None
    assert rules("xla_flag", f"xla_gpu_enable_pipelined_{collective}")


def test_one_switch_for_three_goes_by_way_of_the_newest_names() -> None:
    """A chain: in a release without the one switch and without the newest names, the boolean ones."""
    old = near("0.7.2")
    found = translate("xla_gpu_enable_pipelined_collectives", "true", old)
    assert found
    assert {name for _, name, _ in found.settings} <= {
        f"xla_gpu_{verb}_{collective}"
        for verb in ("pipeline", "enable_pipelined")
        for collective in ("all_gather", "all_reduce", "reduce_scatter")
    }
    assert len(found.settings) == 3


def test_false_no_longer_means_off() -> None:
    """From 0.11.1 on; only for moving between releases, not for what was written for this one."""
    name = "xla_gpu_enable_pipelined_reduce_scatter"
    changed = changed_meaning("xla_flag", name, "false", "0.11.2")
    assert changed
    assert changed.settings == (("xla_flag", "xla_gpu_pipeline_reduce_scatter", "off"),)
    assert changed_meaning("xla_flag", name, "false", "0.11.0") is None
    assert changed_meaning("xla_flag", name, "true", "0.11.2") is None


def test_the_kernel_s_switch_and_its_list() -> None:
    """Off, in the words of each release; where there is no such kernel, nothing."""
    name = "xla_gpu_experimental_use_collective_kernels"
    found = translate(name, "", near("0.10.2"))
    assert found
    assert found.settings == (("xla_flag", "xla_gpu_unsupported_use_all_reduce_one_shot_kernel", "false"),)
    oldest = translate(name, "", OLDEST)
    assert oldest
    assert oldest.settings == ()


def test_concurrent_commands_in_the_older_words() -> None:
    """A mode became of a boolean."""
    found = translate("xla_gpu_command_buffer_scheduling_mode", "CONCURRENT", near("0.6.2"))
    assert found
    assert found.settings == (("xla_flag", "xla_gpu_graph_enable_concurrent_region", "true"),)


def test_determinism_before_the_newer_flag() -> None:
    """R74: the newer flag where it is known, else the older."""
    if flags.flag("xla_gpu_exclude_nondeterministic_ops", OLDEST) is None:
        found = translate("xla_gpu_exclude_nondeterministic_ops", "true", OLDEST)
        assert found
        assert found.settings == (("xla_flag", "xla_gpu_deterministic_ops", "true"),)
    assert translate("xla_gpu_exclude_nondeterministic_ops", "true", NEWEST) is None


def test_members_with_another_name() -> None:
    """CONDITIONALS became CONDITIONAL and WHILE; signs are kept."""
    found = translate("xla_gpu_enable_command_buffer", "+CONDITIONALS,+CUBLAS", NEWEST)
    assert found
    assert found.settings[0][2] == "+CONDITIONAL,+WHILE,+CUBLAS"
    assert found.lossless


def test_members_without_another_name_are_left_out_and_told() -> None:
    """What an old release does not know leaves the list."""
    found = translate("xla_gpu_enable_command_buffer", "FUSION,COLLECTIVES_KERNEL", near("0.10.2"))
    assert found
    assert found.settings[0][2] == "FUSION"
    assert not found.lossless
    assert "COLLECTIVES_KERNEL" in found.intent
    assert member_rules("xla_gpu_enable_command_buffer")["WHILE"] == ("CONDITIONALS",)


def test_a_flag_became_an_option() -> None:
    """The precision of GEMMs is asked of JAX now."""
    found = translate("xla_gpu_enable_bf16_6way_gemm", "true", NEWEST)
    assert found
    assert found.settings == (("jax_config", "jax_default_matmul_precision", "BF16_BF16_F32_X6"),)


def test_what_no_table_covers() -> None:
    """No translation: the caller drops it."""
    assert translate("xla_gpu_make_it_fast", "true", NEWEST) is None
    assert translate("xla_gpu_enable_command_buffer", "NONSENSE", NEWEST) is None
    assert translate_option("jax_make_it_fast", True, "0.11.2") is None


def test_removed_options() -> None:
    """R14: options that are gone need nothing."""
    for name in ("jax_spmd_mode", "jax_array"):
        found = translate_option(name, "allow_all", "0.11.2")
        assert found
        assert found.settings == ()


def test_effort_and_level() -> None:
    """An effort of 0.2 acted as O1; below it did nothing; the level said to an older jax is that effort."""
    high, low = (translate_option("jax_exec_time_optimization_effort", value, "0.11.2") for value in (0.5, 0.0))
    assert high
    assert high.settings == (("jax_config", "jax_optimization_level", "O1"),)
    assert low
    assert low.settings == ()
    older = translate_option("jax_optimization_level", "O1", "0.4.38")
    assert older
    assert older.settings == (("jax_config", "jax_exec_time_optimization_effort", 0.2),)
    oldest = translate_option("jax_optimization_level", "O1", "0.4.30")
    assert oldest
    assert oldest.settings == ()
    assert not oldest.lossless
    assert options.option("jax_optimization_level", "0.11.2")
    assert translate_option("jax_optimization_level", "O1", "0.11.2") is None


def test_rematerialization_before_the_option() -> None:
    """A flag then; and until 0.11.1 the flag is the safer of the two."""
    wanted = (("xla_flag", "xla_disable_hlo_passes", "rematerialization"),)
    older = translate_option("jax_compiler_enable_remat_pass", False, "0.4.30")
    changed = changed_meaning("jax_config", "jax_compiler_enable_remat_pass", False, "0.10.2")
    assert older
    assert older.settings == wanted
    assert changed
    assert changed.settings == wanted
    assert changed_meaning("jax_config", "jax_compiler_enable_remat_pass", False, "0.11.1") is None
