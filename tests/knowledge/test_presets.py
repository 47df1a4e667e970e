"""Laws of the presets that come with the library, and the errors in users' files."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from packaging.specifiers import SpecifierSet

import jaxgpu_tune
from jaxgpu_tune import plan
from jaxgpu_tune.errors import BadSetting, UnknownPreset
from jaxgpu_tune.knowledge import flags, presets, tables
from jaxgpu_tune.knowledge.presets import all_presets, load_preset, load_preset_file, preset_names
from jaxgpu_tune.knowledge.translations import translate
from jaxgpu_tune.knowledge.vocabulary import when_problems
from jaxgpu_tune.model import Setting
from jaxgpu_tune.planning.base.conditions import Facts, all_met
from jaxgpu_tune.planning.findings.conditional import would_be
from tests.child import told
from tests.fleet import machine

if TYPE_CHECKING:
    from jaxgpu_tune.model import Preset

MAINTAINED = {
    "auto",
    "single_gpu",
    "data_parallel",
    "fsdp",
    "tensor_parallel",
    "pipeline_parallel",
    "decode",
    "simulation",
    "while_loop",
    "reproducible",
    "fast_compile",
    "debug",
}
PUBLISHED = {
    "jax-docs",
    "jax-toolbox",
    "jax-toolbox-o1",
    "jax-toolbox-permute",
    "jax-toolbox-collective-matmul",
    "jax-toolbox-user-buffers",
    "jax-nccl",
    "pgle-nsight-profile",
    "pgle-nsight",
    "dreamerv3",
}
ALL = all_presets()
RINGS_FAIL = {"xla_gpu_enable_pipelined_p2p", "xla_gpu_collective_permute_decomposer_threshold"}
EIGHT_H100 = Facts("0.11.2", ("9.0",) * 8, 8, 8, True, 1, 1, "cuda")
every_preset = pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.name)


def test_the_presets_that_were_agreed_on_are_there() -> None:
    """Names and kinds are a contract: none goes, and a new one is added by its file alone."""
    agreed = dict.fromkeys(MAINTAINED, "maintained") | dict.fromkeys(PUBLISHED, "published")
    assert agreed.items() <= {preset.name: preset.kind for preset in ALL}.items()


@every_preset
def test_a_preset_says_what_it_is_and_where_it_comes_from(preset: Preset) -> None:
    """Summary, a public source, evidence, and a reason for every setting."""
    assert preset.summary.endswith((".", ")"))
    assert preset.use_when.endswith(".") is (preset.kind == "maintained")
    assert preset.source.startswith("https://")
    assert preset.evidence
    assert all(setting.reason and setting.source == f"preset {preset.name}" for setting in preset.settings)


@every_preset
def test_a_preset_keeps_the_vocabulary(preset: Preset) -> None:
    """Our files pass the same checks as users' files, and no setting stands twice."""
    own = {
        key: value
        for key, value in tables.read_toml(f"{tables.DATA}/presets/{preset.name}.toml").items()
        if key != "kind"
    }
    assert not list(presets._problems(own))
    assert not [problem for setting in preset.settings for problem in when_problems(dict(setting.when))]
    names = [(setting.kind, setting.name) for setting in preset.settings]
    assert len(names) == len(set(names))


@every_preset
def test_published_settings_are_unconditional_and_maintained_ones_are_not(preset: Preset) -> None:
    """A published recipe is what its page says, for whom it says it, but where that does not compile or act; a maintained one is as measured."""
    if preset.kind == "published":
        conditional = {setting.name for setting in preset.settings if setting.when}
        assert conditional <= {
            *(
                "CUDA_DEVICE_MAX_CONNECTIONS",
                "NCCL_LL128_BUFFSIZE",
                "NCCL_LL_BUFFSIZE",
                "NCCL_PROTO",
                "NCCL_NVLS_ENABLE",
            ),
            *("xla_gpu_enable_command_buffer", "xla_gpu_enable_analytical_sol_latency_estimator"),
            *RINGS_FAIL,
        }
    elif preset.name != "debug":
        assert not [setting.name for setting in preset.settings if not setting.when]


@every_preset
def test_every_flag_is_accepted_or_translated_or_absent_in_every_release(preset: Preset) -> None:
    """No release for which it is meant refuses a preset's value of a flag that it has, unless a translation says what to do instead."""
    for setting, release in product(preset.settings, flags.releases()):
        if release not in SpecifierSet(setting.when.get("jaxlib", "")):
            continue
        spec = flags.flag(setting.name, release) if setting.kind == "xla_flag" else None
        if spec is not None and setting.value is not None and flags.check_value(spec, setting.value, release):
            assert translate(setting.name, setting.value, release), (setting.name, setting.value, release)


@every_preset
def test_flags_are_stated_in_the_newest_names_or_are_gone(preset: Preset) -> None:
    """Each flag exists in the newest release, or has a translation to it (nothing needed is one)."""
    newest = flags.releases()[-1]
    for setting in preset.settings:
        if setting.kind == "xla_flag" and flags.flag(setting.name, newest) is None:
            assert preset.kind == "published"
            assert translate(setting.name, str(setting.value), newest)


def met(name: str, facts: Facts) -> set[str]:
    """Names of the settings whose conditions hold."""
    return {setting.name for setting in load_preset(name).settings if all_met(setting.when, facts)}


@pytest.mark.parametrize("name", sorted(MAINTAINED - {"debug"}))
def test_maintained_presets_set_nothing_without_a_gpu(name: str) -> None:
    """No GPU: nothing; nothing known: nothing."""
    assert not met(name, Facts("0.11.2", (), 0, 0, None, 1, 1, "cpu"))
    assert not met(name, Facts())


@pytest.mark.parametrize("name", sorted(MAINTAINED - {"debug", "reproducible"}))
@pytest.mark.parametrize("capability", ["7.0", "8.0", "10.0", "12.0"])
def test_speed_is_claimed_only_for_the_gpus_that_were_measured(name: str, capability: str) -> None:
    """All measurements are from Hopper."""
    facts = Facts("0.11.2", (capability,) * 8, 8, 8, True, 1, 1, "cuda")
    assert not met(name, facts)


def test_fsdp_on_eight_h100() -> None:
    """The measured set, on the measured release, on older ones, and not double buffering on 0.11.1."""
    measured = met("fsdp", EIGHT_H100)
    assert len(measured) == 8
    assert "xla_gpu_enable_latency_hiding_scheduler" not in measured
    assert "xla_gpu_enable_latency_hiding_scheduler" in met("fsdp", Facts("0.6.2", ("9.0",) * 8, 8))
    assert "xla_gpu_enable_while_loop_double_buffering" not in met("fsdp", Facts("0.11.1", ("9.0",) * 8, 8))
    assert not met("fsdp", Facts("0.11.2", ("9.0",), 1))
    assert not met("fsdp", Facts("0.4.38", ("9.0",) * 8, 8))


@pytest.mark.parametrize(
    ("jaxlib", "there"), [("0.10.0", False), ("0.10.1", True), ("0.11.2", True), ("0.12.0.1", False)]
)
def test_decode_follows_the_kernel_s_life(jaxlib: str, there: bool) -> None:
    """XLA's all-reduce kernel is on from 0.10.1 and inside the CUDA graph from 0.12."""
    assert bool(met("decode", Facts(jaxlib, ("9.0",) * 2, 2, 2, True, 1))) is there


def test_auto_sets_nothing() -> None:
    """No setting helped, or changed nothing, in every workload; so nothing follows from the machine alone."""
    assert not met("auto", EIGHT_H100)
    assert not met("auto", Facts("0.11.2", ("9.0",), 1, 1, True, 1))


def test_simulation_is_for_one_process_whatever_it_sees() -> None:
    """Measured on one GPU, alone and with others visible; where it sees several, programs that use them are spoken of."""
    mode, several = "xla_gpu_command_buffer_scheduling_mode", "If it uses several, compare it first"
    assert met("simulation", EIGHT_H100._replace(devices=1, local_gpus=1)) == met("simulation", EIGHT_H100) == {mode}
    assert not met("simulation", EIGHT_H100._replace(processes=8))
    for count in (1, 2):
        made = plan("simulation", machine=machine("H200", count), environ={})
        assert f"--{mode}=CONCURRENT" in made.xla_flags
        assert any(several in finding.message for finding in made.findings) is (count > 1)


def test_pipeline_parallel_is_for_one_process_with_several_hopper_gpus() -> None:
    """As it was measured: from the release on whose mode it sets; not of several processes, not on one GPU."""
    mode = "xla_gpu_command_buffer_scheduling_mode"
    assert met("pipeline_parallel", EIGHT_H100) == {mode}
    assert not met("pipeline_parallel", EIGHT_H100._replace(processes=8))
    assert not met("pipeline_parallel", EIGHT_H100._replace(devices=1, local_gpus=1))
    assert not met("pipeline_parallel", EIGHT_H100._replace(jaxlib="0.10.1"))
    without = plan("pipeline_parallel", machine=machine("H200", 2), environ={}, cuda_graphs=False)
    assert "concurrent-without-graphs" in {finding.code for finding in without.findings}


@pytest.mark.parametrize("name", ["fsdp", "data_parallel"])
def test_one_hardware_queue_yields_to_what_is_there(name: str) -> None:
    """It is set on Hopper GPUs; a number that the environment names stays."""
    queue = "CUDA_DEVICE_MAX_CONNECTIONS"
    here = machine("H200", 2)
    assert plan(name, machine=here, environ={}).environ[queue] == "1"
    assert plan(name, machine=here, environ={queue: "8"}).environ.get(queue, "8") == "8"
    assert queue not in plan(name, machine=machine("H200", 1), environ={}).environ


@pytest.mark.parametrize("name", ["fsdp", "data_parallel", "jax-toolbox"])
def test_one_hardware_queue_is_not_set_on_blackwell(name: str) -> None:
    """NVIDIA advises against it there, so unmeasured=True does not set it either."""
    made = plan(name, machine=machine("B200", 8), environ={}, unmeasured=True)
    assert made.xla_flags and "CUDA_DEVICE_MAX_CONNECTIONS" not in made.environ


@every_preset
def test_where_a_setting_was_measured_names_the_release_and_the_gpus(preset: Preset) -> None:
    """What a setting states of itself replaces what the preset states."""
    for setting in preset.settings:
        assert not setting.measured or {"jaxlib", "compute_capability"} <= setting.measured.keys()


def test_runs_that_a_launcher_starts_side_by_side_say_that_each_is_alone() -> None:
    """Eight tasks count as one job of eight processes, unless devices=1 is said; the finding names that."""
    tasks = machine("H200", 1, processes={"rank": 3, "count": 8, "local_rank": 3, "local_count": 8})
    joined = plan("simulation", machine=tasks, environ={})
    assert not joined.xla_flags
    assert any(one.code == "preset-sets-nothing" and "devices=1" in one.hint for one in joined.findings)
    assert "CONCURRENT" in plan("simulation", machine=tasks, environ={}, devices=1).xla_flags


def test_while_loop_is_for_one_hopper_gpu_and_the_releases_it_was_measured_from() -> None:
    """It adds to the command types that are there; with `simulation` beside it the hazard of the pair is told."""
    one = Facts("0.11.2", ("9.0",), 1, 1, platform="cuda")
    assert met("while_loop", one) == {"xla_gpu_enable_command_buffer"}
    assert not met("while_loop", one._replace(jaxlib="0.11.1"))
    assert not met("while_loop", EIGHT_H100)
    both = plan("simulation+while_loop", machine=machine(count=1), environ={})
    assert "concurrent-loops-hang" in {finding.code for finding in both.findings}


def test_a_preset_of_ours_needs_no_toml_parser() -> None:
    """Start-up: a parser takes longer to import than a plan to make."""
    code = "import sys, jaxgpu_tune; jaxgpu_tune.plan('fsdp', environ={}); tell('tomllib' in sys.modules)"
    assert told(code) is False


@pytest.mark.parametrize(
    ("name", "near"),
    [("fdsp", "fsdp"), ("jax_toolbox", "jax-toolbox"), ("simulations", "simulation"), ("FSDP", "fsdp")],
)
def test_an_unknown_preset_names_the_closest(name: str, near: str) -> None:
    """What was given, what there is, and the near miss."""
    with pytest.raises(UnknownPreset) as caught:
        load_preset(name)
    assert repr(name) in str(caught.value)
    assert f"Did you mean {near!r}?" in str(caught.value)
    listed = [one for one in preset_names() if one in str(caught.value).split("`")[0].replace(repr(name), "")]
    assert near in listed and len(str(caught.value)) < 240 and f"lists all {len(preset_names())}" in str(caught.value)
    assert caught.value.findings[0].code == "unknown-preset"


@pytest.mark.parametrize("name", ["../presets/fsdp", "", "/etc/passwd", "a/b"])
def test_a_path_is_no_name(name: str) -> None:
    """A name never leaves the folder of presets."""
    with pytest.raises(UnknownPreset):
        load_preset(name)


def write(folder: Path, text: str) -> Path:
    """A user's file."""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_user_s_preset(tmp_path: Path) -> None:
    """The shortest useful file."""
    preset = load_preset_file(write(tmp_path, '[[set]]\nflag = "xla_gpu_autotune_level"\nvalue = 2\n'))
    (setting,) = preset.settings
    assert (preset.name, preset.kind) == ("mine", "user")
    assert (setting.kind, setting.name, setting.value) == ("xla_flag", "xla_gpu_autotune_level", "2")
    assert setting.source == f"preset {tmp_path / 'mine.toml'}"


def test_a_user_s_preset_extends_ours(tmp_path: Path) -> None:
    """The settings of the extended preset come first, with their own source and conditions."""
    text = 'extends = "fsdp"\nmemory_fraction = 0.9\n[[set]]\nconfig = "jax_debug_nans"\nvalue = true\nwhen = { devices = ">=2" }\n'
    preset = load_preset_file(write(tmp_path, text))
    base = load_preset("fsdp")
    assert preset.settings[:-1] == base.settings
    assert preset.settings[-1].value is True
    assert preset.memory_fraction == 0.9
    assert preset.settings[-1].when == {"devices": ">=2"}


def test_every_key_of_a_file_reaches_the_preset(tmp_path: Path) -> None:
    """What a file says is what the preset says; it is the user's whatever it extends."""
    text = """
summary = "For my model."
use_when = "Always."
kind = "user"
source = "https://example.org"
revision = "7"
call = "go()"
evidence = ["It was faster."]
measured = { devices = "==1" }
memory_fraction = "auto"
extends = ["decode"]
[[set]]
env = "MINE"
value = [1, true]
reason = "I like it."
source = "my notes"
when = { devices = ">=1" }
measured = { devices = "==2" }
[[set]]
config = "jax_debug_nans"
value = true
[[advice]]
text = "Do it."
when = { devices = ">=2" }
[[advice]]
text = "Do that."
"""
    path, base = write(tmp_path, text), load_preset("decode")
    preset = load_preset_file(path)
    assert {name: getattr(preset, name) for name in ("summary", "use_when", "kind", "source", "revision", "call")} == {
        "summary": "For my model.",
        "use_when": "Always.",
        "kind": "user",
        "source": "https://example.org",
        "revision": "7",
        "call": "go()",
    }
    assert (preset.evidence, preset.memory_fraction) == (("It was faster.",), "auto")
    assert preset.advice == (*base.advice, ("Do it.", {"devices": ">=2"}), ("Do that.", {}))
    assert preset.settings == (
        *base.settings,
        Setting(
            kind="env",
            name="MINE",
            value="1,true",
            reason="I like it.",
            source="preset mine (my notes)",
            when={"devices": ">=1"},
            measured={"devices": "==2"},
        ),
        Setting(
            kind="jax_config",
            name="jax_debug_nans",
            value=True,
            reason="asked for by the preset",
            source=f"preset {path}",
            measured={"devices": "==1"},
        ),
    )


def test_values_become_text(tmp_path: Path) -> None:
    """Booleans, numbers and lists as XLA and the environment take them; options keep their type."""
    values = {"true": "true", "3": "3", "0.5": "0.5", '["A", "B"]': "A,B", '""': ""}
    for given, text in values.items():
        (setting,) = load_preset_file(write(tmp_path, f'[[set]]\nflag = "xla_x"\nvalue = {given}\n')).settings
        assert setting.value == text


def test_every_problem_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    """File, table and key, what is allowed, and the closest name."""
    text = """
sumary = "x"
memory_fraction = "all"
kind = "maintained"
extends = ["fdsp"]
[[set]]
flag = "--xla_x"
env = "A"
[[set]]
env = "A"
value = 2026-01-01
when = { jaxlab = ">=1", devices = 2 }
[[set]]
flag = "--xla_x"
valeu = 1
reason = 3
"""
    path = write(tmp_path, text)
    with pytest.raises(BadSetting) as caught:
        load_preset_file(path)
    messages = [finding.message for finding in caught.value.findings]
    assert all(message.startswith(f"{path}: ") for message in messages)
    expected = [
        "sumary: no such key",
        "Did you mean 'summary'?",
        "memory_fraction = 'all'",
        "kind = 'maintained'",
        "Did you mean 'fsdp'?",
        "[[set]] 1: exactly one of flag, env, config",
        "[[set]] 1: value is missing",
        "[[set]] 2: value = datetime.date",
        "[[set]] 2: when.jaxlab",
        "[[set]] 2: when.devices = 2",
        "[[set]] 3: '--xla_x' is not a name",
        "Did you mean 'value'?",
        "[[set]] 3: reason = 3",
    ]
    assert [part for part in expected if part not in "\n".join(messages)] == []
    assert {finding.code for finding in caught.value.findings} == {"bad-preset-file"}


@pytest.mark.parametrize(
    "text",
    [
        "set = 3",
        "set = [1]",
        "extends = 3",
        "extends = [1]",
        "evidence = [1]",
        "advice = [1]",
        '[[set]]\nenv = "A"\nvalue = "\\u0000"',
        '[[set]]\nflag = "xla_dump_to"\nvalue = ["a", "\\u0000"]',
        '[[set]]\nenv = "A\\u0000"\nvalue = 1',
        '[[set]]\nenv = "A=B"\nvalue = 1',
        "[[advice]]\ntext = 1",
        '[[advice]]\ntext = "x"\nhow = 1',
        '[[advice]]\ntext = "x"\nwhen = { jaxlob = "1" }',
        "memory_fraction = true",
        "memory_fraction = -1",
        "summary = 1",
        '[[set]]\nenv = "XLA_FLAGS"\nvalue = "--xla_gpu_autotune_level=2"',
        '[[set]]\nenv = "JAXGPU_TUNE"\nvalue = "off"',
        '[[set]]\nenv = "JAXGPU_TUNE_STATE"\nvalue = "{}"',
        '[[set]]\nenv = "A"\nvalue = "x\\u0000y"',
        '[[set]]\nflag = "xla_dump_to"\nvalue = ["x", "\\u0000"]',
        'extends = "fsdp+reproducible"',
    ],
)
def test_wrong_types_are_told_not_raised_as_they_come(tmp_path: Path, text: str) -> None:
    """No shape of a file makes anything but a BadSetting."""
    with pytest.raises(BadSetting, match=r"mine\.toml"):
        load_preset_file(write(tmp_path, text))


@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_another_editor_is_read(tmp_path: Path, begin: str, end: str) -> None:
    """With a byte order mark, and lines that end as on Windows."""
    path = tmp_path / "mine.toml"
    path.write_bytes((begin + end.join(["[[set]]", 'env = "A"', "value = 2", ""])).encode())
    assert [setting.value for setting in load_preset_file(path).settings] == ["2"]


@pytest.mark.parametrize(
    ("setting", "code", "near"),
    [
        ('flag = "xla_gpu_autotune_levl"\nvalue = 2', "unknown-flag", "--xla_gpu_autotune_level"),
        ('flag = "xla_gpu_autotune_level"\nvalue = true', "bad-flag-value", ""),
        ('flag = "xla_gpu_enable_command_buffer"\nvalue = ["FUSION", "WHILEE"]', "bad-flag-value", ""),
        ('config = "jax_enabl_x64"\nvalue = true', "unknown-option", "jax_enable_x64"),
        ('env = "XLA_PYTHON_CLIENT_MEM_FRACTION"\nvalue = "much"', "bad-variable", "above 0 and at most 1"),
    ],
)
@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("when", ["", 'when = { hosts = ">=64" }\n'])
def test_a_mistake_in_a_file_is_told_with_the_file(
    tmp_path: Path, setting: str, code: str, near: str, when: str, count: int
) -> None:
    """A name that no release has, a value that none takes, on any machine; strict=True raises."""
    path = write(tmp_path, f"[[set]]\n{setting}\n{when}")
    report = plan(str(path), machine=machine(count=count), environ={})
    (finding,) = [finding for finding in report.findings if finding.code == code]
    assert (finding.severity, near in finding.hint) == ("warning", True)
    assert str(path) in finding.message + finding.hint and report.xla_flags == "" and not report.jax_config
    with pytest.raises(ValueError, match=re.escape(would_be(finding.message))):
        plan(str(path), machine=machine(count=count), environ={}, strict=True)


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    """Of flags, of variables and of options."""
    wrong = ('flag = "xla_gpu_autotune_levl"', 'env = "NCCL_PROTO"', 'config = "jax_enabl_x64"')
    path = write(tmp_path, "\n".join(f'[[set]]\n{one}\nvalue = "FOO"\n' for one in wrong))
    told = [finding.code for finding in plan(str(path), machine=machine(), environ={}).findings]
    assert sorted(told) == ["bad-variable", "unknown-flag", "unknown-option"]


def test_a_flag_of_other_releases_is_gated_without_a_word(tmp_path: Path) -> None:
    """A preset is written for many releases."""
    path = write(tmp_path, '[[set]]\nflag = "xla_gpu_enable_pdl"\nvalue = true\n')
    report = plan(str(path), machine=machine(jaxlib="0.5.0"), environ={})
    assert (report.findings, report.xla_flags) == ((), "")


def test_a_value_of_other_releases_is_gated_without_a_word(tmp_path: Path) -> None:
    """As a flag of theirs is."""
    path = write(tmp_path, '[[set]]\nflag = "xla_detect_unstable_reductions"\nvalue = "dump"\n')
    report = plan(str(path), machine=machine(jaxlib="0.7.1"), environ={}, strict=True)
    assert (report.findings, report.xla_flags) == ((), "")


def test_a_value_that_jax_refuses_is_told_with_the_file(tmp_path: Path) -> None:
    """And not in the words for a variable, which is not where it stands."""
    path = write(tmp_path, '[[set]]\nconfig = "jax_enable_x64"\nvalue = "maybe"\n')
    (finding,) = plan(str(path), machine=machine(), environ={}).findings
    assert finding.code == "bad-option-value" and finding.message.endswith(f"correct it in preset {path}.")


def test_a_file_that_is_missing_or_no_toml(tmp_path: Path) -> None:
    """The file is named; for TOML also where it is wrong."""
    with pytest.raises(BadSetting, match="cannot be read"):
        load_preset_file(tmp_path / "none.toml")
    with pytest.raises(BadSetting, match=r"is not TOML: .*line 1"):
        load_preset_file(write(tmp_path, "flag = ="))


@every_preset
def test_where_it_was_measured_its_settings_hold(preset: Preset) -> None:
    """A range of measurement lies where the setting is set: its release, cards and numbers of GPUs meet the conditions."""
    for setting in preset.settings:
        if setting.measured:
            alone = "==1" in (setting.measured.get("devices"), setting.when.get("devices"))
            measured = Facts("0.11.2", ("9.0",), 1 if alone else 2, 2, True, 1, 1, "cuda")
            assert all_met(setting.measured, measured), setting.name
            assert all_met(setting.when, measured), setting.name


def test_what_is_set_for_speed_says_where_it_was_measured() -> None:
    """But for the scheduler in releases before it was the default, which were not measured."""
    for_speed = MAINTAINED - {"debug", "reproducible"}
    unmeasured = {
        (preset.name, setting.name)
        for preset in ALL
        if preset.name in for_speed
        for setting in preset.settings
        if not setting.measured
    }
    scheduler = "xla_gpu_enable_latency_hiding_scheduler"
    assert unmeasured == {("fsdp", scheduler), ("data_parallel", scheduler)}


def test_a_preset_that_was_not_measured_says_so_both_ways() -> None:
    """In its evidence and in its settings."""
    for preset in ALL:
        if any(line.startswith("Not measured") for line in preset.evidence):
            assert not any(setting.measured for setting in preset.settings), preset.name


@every_preset
def test_a_published_preset_says_which_revision_of_its_page_it_is(preset: Preset) -> None:
    """The commit, and when it was read; explain and the page show it."""
    if preset.kind == "published":
        assert re.fullmatch(r"[0-9a-f]{40}.*, read on \d{4}-\d{2}-\d{2}", preset.revision)
        assert preset.revision in jaxgpu_tune.explain(preset.name).source
    else:
        assert not preset.revision


def test_dreamerv3s_call_does_what_its_program_does() -> None:
    """The call of its page runs, and sets all that setup() of the program sets by default."""
    asked: list[tuple[str, dict[str, Any]]] = []
    fake = SimpleNamespace(configure=lambda preset, **arguments: asked.append((preset, arguments)))
    exec(load_preset("dreamerv3").call.replace("import jaxgpu_tune", ""), {"jaxgpu_tune": fake})
    ((preset, arguments),) = asked
    report = jaxgpu_tune.plan(preset, machine=machine(jaxlib="0.6.2"), environ={}, probe=False, **arguments)
    flags_set = set(report.xla_flags.split())
    assert {"--xla_gpu_autotune_level=1", "--xla_gpu_deterministic_ops=true"} <= flags_set
    assert "--xla_disable_hlo_passes=rematerialization" in flags_set
    assert report.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert report.environ["JAX_TRANSFER_GUARD"] == "disallow"
    assert not {option for option in ("jax_disable_jit", "jax_debug_nans") if report.jax_config.get(option)}


def test_the_newest_page_comes_with_what_is_known_against_it() -> None:
    report = jaxgpu_tune.plan("jax-toolbox-o1", machine=machine(), environ={}, probe=False)
    found = {f.code for f in report.findings}
    assert {"threshold-overrules-o1", "huge-combine-threshold"} <= found
    assert any("xla_gpu_use_memcpy_local_p2p" in f.message for f in report.findings if f.code == "advice")
    (left_out,) = [d for d in report.decisions if d.name == "xla_gpu_use_memcpy_local_p2p"]
    assert left_out.status == "unmet" and "wrong numbers" in left_out.reason
    blackwell = jaxgpu_tune.plan("jax-toolbox-o1", machine=machine("B200", jaxlib="0.11.2"), environ={}, probe=False)
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in blackwell.environ
    assert "--xla_gpu_enable_command_buffer=FUSION,CUSTOM_CALL" in blackwell.xla_flags


@pytest.mark.parametrize(("jaxlib", "needed"), [("0.6.2", False), ("0.7.2", True), ("0.10.2", True), ("0.11.2", False)])
def test_the_profile_run_switches_the_scheduler_off_on_hopper(jaxlib: str, needed: bool) -> None:
    report = jaxgpu_tune.plan("pgle-nsight-profile", machine=machine(jaxlib=jaxlib), environ={}, probe=False)
    assert ("--xla_gpu_enable_analytical_sol_latency_estimator=false" in report.xla_flags) is needed
    old = jaxgpu_tune.plan("pgle-nsight-profile", machine=machine("A100", jaxlib=jaxlib), environ={}, probe=False)
    assert "analytical" not in old.xla_flags


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV"),
        *("DYLD_INSERT_LIBRARIES", "NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "CUDA_INJECTION64_PATH", "TPU_LIBRARY_PATH"),
        *("HTTPS_PROXY", "GIT_SSH_COMMAND", "GLIBC_TUNABLES", "PJRT_NAMES_AND_LIBRARY_PATHS", "CUDA_HOME"),
    ],
)
def test_a_preset_from_anywhere_cannot_decide_which_code_runs(tmp_path: Path, name: str) -> None:
    """What is data is not trusted with it, whoever wrote it; the message names the file."""
    path = tmp_path / "theirs.toml"
    path.write_text(f'[[set]]\nenv = "{name}"\nvalue = "x"\n[[set]]\nflag = "xla_gpu_cuda_data_dir"\nvalue = "x"\n')
    with pytest.raises(BadSetting, match="decides which code runs") as raised:
        load_preset_file(path)
    assert len(raised.value.findings) == 2
    assert str(path) in str(raised.value)


def test_settings_and_variables_of_the_program_stay_allowed(tmp_path: Path) -> None:
    names = [
        *(
            "NCCL_MAX_CTAS",
            "NCCL_ALGO",
            "CUDA_DEVICE_MAX_CONNECTIONS",
            "XLA_PYTHON_CLIENT_ALLOCATOR",
            "JAX_TRACEBACK_FILTERING",
        ),
        *("OMP_NUM_THREADS", "TF_GPU_ALLOCATOR", "MY_PROGRAM_FAST", "CUDA_VISIBLE_DEVICES"),
    ]
    path = tmp_path / "mine.toml"
    path.write_text("".join(f'[[set]]\nenv = "{name}"\nvalue = "1"\n' for name in names))
    assert [one.name for one in load_preset_file(path).settings] == names


@pytest.mark.parametrize("count", ["memory_fraction = 0", "memory_fraction = inf", "memory_fraction = nan"])
def test_a_fraction_that_is_none(tmp_path: Path, count: str) -> None:
    with pytest.raises(BadSetting, match="a fraction above 0"):
        load_preset_file(write(tmp_path, count))


@pytest.mark.parametrize(
    "place", ["measured = { jaxlob = '1' }", "[[set]]\nenv='A'\nvalue=1\nmeasured = { jaxlob = '1' }"]
)
def test_where_something_was_measured_is_said_in_the_words_of_conditions(tmp_path: Path, place: str) -> None:
    """Of the file, and of one setting."""
    with pytest.raises(BadSetting, match=r"measured\.jaxlob.*Did you mean 'jaxlib'\?"):
        load_preset_file(write(tmp_path, place))


def test_what_a_file_says_for_all_its_settings_one_may_say_otherwise(tmp_path: Path) -> None:
    text = 'measured = { jaxlib = "==0.11.2" }\n[[set]]\nenv = "A"\nvalue = 1\n[[set]]\nenv = "B"\nvalue = 1\nmeasured = {}\n'
    one, other = load_preset_file(write(tmp_path, text)).settings
    assert (one.measured, other.measured) == ({"jaxlib": "==0.11.2"}, {})


def test_a_file_that_extends_presets_holds_theirs_first(tmp_path: Path) -> None:
    """Their settings, their fraction and their advice; the evidence and the source are its own."""
    base, more = load_preset("fsdp"), load_preset("reproducible")
    text = 'extends = ["fsdp", "reproducible"]\nsource = "here"\nevidence = ["mine"]\n[[set]]\nenv = "A"\nvalue = true\nreason = "why"\nsource = "there"\n'
    found = load_preset_file(write(tmp_path, text))
    assert found.settings[:-1] == (*base.settings, *more.settings)
    assert found.advice[: len(base.advice)] == base.advice
    (own,) = found.settings[-1:]
    assert (own.name, own.value, own.reason, own.source) == ("A", "true", "why", "preset mine (there)")
    assert (found.name, found.kind, found.source, found.evidence) == ("mine", "user", "here", ("mine",))
    alone = load_preset_file(write(tmp_path, '[[set]]\nenv = "A"\nvalue = 1\n'))
    assert (
        alone.settings[0].source == f"preset {tmp_path / 'mine.toml'}"
        and alone.settings[0].reason == "asked for by the preset"
    )
    assert alone.summary == f"Preset of {tmp_path / 'mine.toml'}." and alone.memory_fraction is None


def test_advice_of_a_file_is_given_where_its_condition_holds(tmp_path: Path) -> None:
    path = write(
        tmp_path, '[[advice]]\ntext = "Do this."\nwhen = { devices = ">=2" }\n[[advice]]\ntext = "And that."\n'
    )
    said = [
        [f.message for f in plan(str(path), machine=machine(count=n), environ={}).findings if f.code == "advice"]
        for n in (1, 2)
    ]
    assert said == [["And that."], ["Do this.", "And that."]]


@pytest.mark.parametrize("text", ["summary = 3", "set = 'x'", "evidence = 'x'", "measured = 1", "extends = true"])
def test_a_key_of_another_type_says_which_it_takes(tmp_path: Path, text: str) -> None:
    words = {
        "summary": "text",
        "set": "a list",
        "evidence": "a list",
        "measured": "a table",
        "extends": "text or a list",
    }
    with pytest.raises(BadSetting, match=f"allowed: {words[text.split(' ', maxsplit=1)[0]]}"):
        load_preset_file(write(tmp_path, text))


def test_settings_in_one_table_are_told_how_to_begin_each(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('summary = "mine"\n[set]\nxla_gpu_autotune_level = 2\n')
    with pytest.raises(BadSetting, match=r"allowed: a list\. Begin each entry with \[\[set\]\]\."):
        jaxgpu_tune.plan(str(path))


@pytest.mark.parametrize(
    ("table", "meant"),
    [
        ("[flags]\nxla_gpu_autotune_level = 2", 'flag = "xla_gpu_autotune_level"'),
        ('[env]\nNCCL_DEBUG = "INFO"', 'env = "NCCL_DEBUG"'),
        ("[jax_config]\njax_enable_x64 = true", 'config = "jax_enable_x64"'),
        ('flag = "xla_x"\nvalue = 1', 'flag = "xla_x"'),
        ("[[settings]]\nvalue = 1", 'flag = "NAME"'),
        ("[flags]", 'flag = "NAME"'),
    ],
)
def test_settings_under_the_words_of_a_call_are_told_how_they_are_written_here(
    tmp_path: Path, table: str, meant: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        load_preset_file(write(tmp_path, table))
    assert f"Begin each setting with [[set]]; below it write {meant} and value = …." in caught.value.findings[0].message
