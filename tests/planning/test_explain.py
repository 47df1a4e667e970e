"""What ``explain`` says of presets: who sets a name to what, and whether that was measured here."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.errors import BadSetting, UnknownFlag, UnknownPreset
from jaxgpu_tune.host.looked_up import preset_files
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.candidates import candidates
from jaxgpu_tune.knowledge.presets import load_preset_file
from jaxgpu_tune.model import Machine
from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.explain import explain
from jaxgpu_tune.planning.release.target import target_of

MODE, SWITCH = "xla_gpu_command_buffer_scheduling_mode", "xla_gpu_enable_pipelined_p2p"
WHERE = "measured on jaxlib >=0.11.2,<=0.12.0.1,!=0.12.0, compute_capability 9.0, devices <=2, processes 1"


@pytest.mark.parametrize(
    ("jaxlib", "capability", "said"),
    [
        ("0.11.2", "9.0", WHERE),
        ("0.11.1", "9.0", f"{WHERE}; unmeasured here"),
        ("0.11.2", "10.0", f"{WHERE}; unmeasured here"),
        ("0.11.2", None, f"{WHERE}; unmeasured here"),
    ],
)
def test_a_setting_is_measured_only_where_it_was(jaxlib: str, capability: str | None, said: str) -> None:
    """On the release and the generation of GPUs; what is unknown is not."""
    facts = Facts(jaxlib, None if capability is None else (capability,), 1, 1, True, 1, 1, "cuda")
    found = explain(MODE, target_of(Machine.from_dict({"jaxlib": jaxlib, "jax": jaxlib})), facts)
    assert found is not None and f"simulation: CONCURRENT ({said})" in found.presets


def test_what_no_one_measured_is_unmeasured() -> None:
    """Wherever one is."""
    facts = Facts("0.11.2", ("9.0",) * 2, 2, 2, True, 1, 1, "cuda")
    found = explain(SWITCH, target_of(Machine.from_dict({"jaxlib": "0.11.2"})), facts)
    assert found is not None and found.presets == ("jax-toolbox-permute: true (unmeasured)",)


def test_a_preset_is_explained() -> None:
    """What it sets, where, and what was measured; here, on one GPU, its setting does not hold."""
    target = target_of(Machine.from_dict({"jaxlib": "0.11.2"}))
    found = explain("decode", target, Facts("0.11.2", ("9.0",), 1, 1, True, 1, 1, "cuda"))
    assert found is not None and found.kind == "preset" and found.does and found.evidence
    assert found.sets[0].startswith("--xla_gpu_experimental_use_collective_kernels='', where jaxlib ")
    assert found.sets[0].endswith("(not here)") and found.advice == ()
    text = str(found)
    assert all(
        f"  {key}: {value}" in text
        for key, values in (("sets", found.sets), ("evidence", found.evidence))
        for value in values
    )


@pytest.mark.parametrize(
    ("jaxlib", "devices", "said"),
    [("0.11.2", 2, ""), ("0.11.0", 2, "; unmeasured here"), ("0.11.2", 8, "; unmeasured here")],
)
def test_a_preset_says_where_its_settings_were_measured(jaxlib: str, devices: int, said: str) -> None:
    """Those that hold here, since a condition may be wider than what was measured."""
    facts = Facts(jaxlib, ("9.0",) * devices, devices, devices, True, 1, 1, "cuda")
    found = explain("decode", target_of(Machine.from_dict({"jaxlib": jaxlib})), facts)
    where = "measured on jaxlib 0.11.2, compute_capability 9.0, devices 2, processes 1"
    assert found is not None and found.sets[0].endswith(f"processes ==1; {where}{said}")


def test_presets_of_ones_own_and_joined_ones_are_explained(tmp_path: Path) -> None:
    """As they are given to configure(); one that is unknown is named."""
    path = tmp_path / "mine.toml"
    path.write_text('evidence = ["Seen."]\n[[set]]\nflag = "xla_gpu_autotune_level"\nvalue = 3\n')
    target, facts = target_of(Machine.from_dict({"jaxlib": "0.11.2"})), Facts("0.11.2")
    files = preset_files(str(path))
    found = explain(str(path), target, facts, files=files)
    assert found is not None and found.evidence == ("Seen.",)
    assert found.sets == ("--xla_gpu_autotune_level=3, anywhere; unmeasured",)
    joined = explain(f"decode+{path}", target, facts, files=files)
    decode = explain("decode", target, facts)
    assert joined is not None and decode is not None and joined.sets == decode.sets + found.sets
    flag = explain("--xla_gpu_enable_command_buffer=+WHILE", target, facts)
    assert flag is not None and flag.kind == "xla_flag"
    with pytest.raises(UnknownPreset, match="fsdb"):
        explain("decode+fsdb", target, facts)


def test_advice_is_given_where_it_holds(tmp_path: Path) -> None:
    """As a note of the plan, of joined and extended presets too, and of doctor; not where its condition is not met."""
    path = tmp_path / "mine.toml"
    path.write_text('extends = "decode"\n[[advice]]\ntext = "Batch them."\nwhen = { devices = ">=2" }\n')
    two = {"jaxlib": "0.11.2", "gpus": [{"index": 0}, {"index": 1}]}
    for gpus, advised in ((two["gpus"], True), (two["gpus"][:1], False)):
        report = jaxgpu_tune.plan(f"{path}", machine=Machine.from_dict({**two, "gpus": gpus}))
        notes = [finding for finding in report.findings if finding.message == "Batch them."]
        assert [(note.code, note.severity) for note in notes] == [("advice", "note")] * advised


def test_a_users_file_may_say_where_it_was_measured(tmp_path: Path) -> None:
    """In the words of its conditions; a wrong word is told with its key."""
    path = tmp_path / "mine.toml"
    text = 'measured = {{ {} = "==9.0" }}\n[[set]]\nflag = "xla_gpu_autotune_level"\nvalue = 3\n'
    path.write_text(text.format("compute_capability"))
    assert load_preset_file(path).settings[0].measured == {"compute_capability": "==9.0"}
    path.write_text(text.format("capability"))
    with pytest.raises(BadSetting, match=r"measured\.capability: no such condition"):
        load_preset_file(path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("jax_enable_pglee", "jax_enable_pgle"),
        ("NCCL_PROTOO", "NCCL_PROTO"),
        ("CUDA_VISIBLE_DEVICE", "CUDA_VISIBLE_DEVICES"),
        ("fspd", "fsdp"),
        ("mem_fraction", "memory_fraction"),
        ("FSDP", "fsdp"),
        ("--xla_gpu_autotune_levl", "xla_gpu_autotune_level"),
        ("gpu_autotune_level", "xla_gpu_autotune_level"),
    ],
)
def test_a_near_miss_of_any_kind_names_what_was_meant(name: str, meant: str) -> None:
    """Flags, options, variables and presets."""
    with pytest.raises(UnknownFlag, match=f"Did you mean {meant}[?]"):
        jaxgpu_tune.explain(name)


@pytest.mark.parametrize("name", ["fsdp+", "+fsdp", "+", "fsdp++debug", " + "])
def test_a_name_that_is_missing_is_told(name: str) -> None:
    """And not taken for one of the empty name."""
    with pytest.raises(UnknownPreset, match=r"a name is missing beside a '[+]'"):
        jaxgpu_tune.plan(name, environ={})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("memory_fraction", "Share of each GPU's memory"),
        ("unmeasured", "another compute capability"),
        ("preset", "joined by +"),
        ("NCCL_DEBUG", "INFO"),
        ("jax_default_matmul_precision", "TF32"),
    ],
)
def test_arguments_and_the_fields_own_names_are_explained(name: str, told: str) -> None:
    """What is not a flag is worth reading too."""
    found = jaxgpu_tune.explain(name)
    assert told in f"{found.does} {found.traps}"


def test_a_word_that_stands_for_many_lists_them() -> None:
    """The shortest first, the others counted."""
    with pytest.raises(jaxgpu_tune.UnknownFlag, match=r"Names that hold it: --xla_gpu_autotune_level, .* more\."):
        jaxgpu_tune.explain("autotune")
    with pytest.raises(
        jaxgpu_tune.UnknownFlag, match=r"hold it: XLA_CLIENT_MEM_FRACTION, XLA_PYTHON_CLIENT_MEM_FRACTION"
    ):
        jaxgpu_tune.explain("mem_fraction")


@given(st.sampled_from(sorted(known.flags("0.11.2"))))
def test_a_flag_is_told_as_this_build_has_it(name: str) -> None:
    """Its type, default, members, and whether a single compilation takes it; the spans of releases that have it."""
    spec = known.flags("0.11.2")[name]
    found = explain(f"--{name}", target_of(Machine.from_dict({"jaxlib": "0.11.2"})), Facts("0.11.2"))
    assert found is not None and found.kind == "xla_flag" and found.name == name
    assert (found.type, found.default, found.values) == (spec.type, spec.default, spec.members)
    assert found.compile_option is spec.compile_option
    assert found.life == tuple(known.life(name)) and "jaxlib 0.11.2 has it" in found.here


@given(st.sampled_from(("jax_enable_x64", "jax_debug_nans", "NCCL_DEBUG", "XLA_CLIENT_MEM_FRACTION")))
def test_what_is_no_flag_has_no_facts_of_one(name: str) -> None:
    """Options and variables have no type of a flag and are no options of a compilation."""
    found = explain(name, target_of(Machine.from_dict({"jaxlib": "0.11.2", "jax": "0.11.2"})), Facts("0.11.2"))
    assert found is not None and found.compile_option is None and found.type == "" and found.default is None
    assert bool(found.life) is (found.kind == "jax_config")


def test_a_file_that_extends_a_preset_tells_what_is_known_of_that(tmp_path: Path) -> None:
    """Its memory and its evidence, as that of the preset alone; what it sets in another's place is told once."""
    path = tmp_path / "mine.toml"
    flag = "xla_gpu_all_reduce_combine_threshold_bytes"
    path.write_text(f'extends = "fsdp"\nevidence = ["Mine."]\n[[set]]\nflag = "{flag}"\nvalue = 3\n')
    target, facts = target_of(Machine.from_dict({"jaxlib": "0.11.2"})), Facts("0.11.2")
    mine, fsdp = explain(str(path), target, facts, files=preset_files(str(path))), explain("fsdp", target, facts)
    assert mine is not None and fsdp is not None
    assert mine.evidence == ("Mine.", *(f"fsdp alone: {line}" for line in fsdp.evidence))
    assert mine.memory == tuple(f"fsdp alone: {line}" for line in fsdp.memory) != ()
    assert [line for line in mine.sets if flag in line] == [f"--{flag}=3, anywhere; unmeasured"]
    assert set(fsdp.sets) - set(mine.sets) == {line for line in fsdp.sets if flag in line}


def test_what_tune_tries_is_explained_by_the_name_that_it_prints() -> None:
    target = target_of(Machine.from_dict({"jaxlib": "0.11.2"}))
    for one in candidates():
        found = explain(one.name, target, Facts("0.11.2", ("9.0",), 1, 1, True, 1, 1, "cuda"))
        assert found is not None and found.kind == "candidate" and one.why in found.does and one.kinds[0] in found.does
        assert all(any(setting.name in told for told in found.sets) for setting in one.settings)
        assert f"  sets: {found.sets[0]}" in str(found)
    with pytest.raises(UnknownFlag, match="Did you mean concurrent-graphs"):
        jaxgpu_tune.explain("concurent-graphs")
