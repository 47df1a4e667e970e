"""verify() in real processes with the real jax: each status reached by a program that brings it about."""

from __future__ import annotations

import json
from typing import Any

import pytest

import jaxgpu_tune
from jaxgpu_tune import Verification
from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.settings.pool_variables import FRACTION_NAMES
from jaxgpu_tune.proof.verification import Verified
from tests.child import run_warm, told, told_warm

FLAG = "xla_cpu_enable_fast_math"
CONFIGURE = f"""
import os, jaxgpu_tune
report = jaxgpu_tune.configure(flags={{"{FLAG}": True}}, jax_config={{"jax_debug_nans": True}})
"""
START = "import jax; jax.devices()\n"
VERIFY = """
found = jaxgpu_tune.verify()
tell({**found.to_dict(), "text": str(found)})
"""


def verified(code: str, *, cold: bool = False, **options: Any) -> dict[str, Any]:
    """What verify() answers at the end of ``code``; items by name."""
    found = (told if cold else told_warm)(code + VERIFY, **options)
    return {**found, "by_name": {item["name"]: item for item in found["items"]}}


def statuses(found: dict[str, Any]) -> dict[str, str]:
    return {name: item["status"] for name, item in found["by_name"].items()}


def test_what_took_effect_is_effective() -> None:
    found = verified(CONFIGURE + START, cold=True)
    assert statuses(found) == {FLAG: "effective", "jax_debug_nans": "effective"}
    assert found["ok"] and found["findings"] == [] and found["platform"] == "cpu" and found["devices"] == 1
    assert found["by_name"][FLAG]["found"] == "true"


def test_xla_flags_overwritten_before_the_start_is_caught_and_the_change_named_as_what_counts() -> None:
    overwrite = f"os.environ['XLA_FLAGS'] = '--{FLAG}=false'\n"
    found = verified(CONFIGURE + overwrite + START)
    item = found["by_name"][FLAG]
    assert item["status"] == "overwritten" and item["found"] == "false"
    assert "the change is what took effect" in item["why"]
    assert not found["ok"] and [f["code"] for f in found["findings"]] == ["setting-overwritten"]


def test_xla_flags_overwritten_after_the_start_is_caught_and_ours_named_as_what_counts() -> None:
    found = verified(CONFIGURE + START + "os.environ['XLA_FLAGS'] = '--xla_dump_to=there'\n")
    item = found["by_name"][FLAG]
    assert item["status"] == "overwritten" and item["found"] == "true"
    assert "so that it is gone; what was applied holds" in item["why"]


def test_a_program_that_adds_a_flag_overwrites_nothing() -> None:
    found = verified(CONFIGURE + "os.environ['XLA_FLAGS'] += ' --xla_dump_hlo_pass_re=x'\n" + START)
    assert statuses(found)[FLAG] == "effective" and found["ok"]


def test_jax_config_updated_afterwards_is_overwritten() -> None:
    found = verified(CONFIGURE + START + "jax.config.update('jax_debug_nans', False)\n")
    item = found["by_name"]["jax_debug_nans"]
    assert item["status"] == "overwritten" and item["found"] == "false" and not found["ok"]


def test_a_context_manager_overrides_in_its_thread() -> None:
    found = told_warm(CONFIGURE + START + "with jax.debug_nans(False):\n    tell(jaxgpu_tune.verify().to_dict())\n")
    assert {i["name"]: i["status"] for i in found["items"]}["jax_debug_nans"] == "overridden"


def test_set_too_late_is_ignored() -> None:
    late = f"import jaxgpu_tune; jaxgpu_tune.configure(flags={{'{FLAG}': True}}, memory_fraction=0.5, late='warn')\n"
    found = verified(START + late)
    assert set(statuses(found)) - {*FRACTION_NAMES} == {FLAG} and len(found["items"]) == 2
    assert set(statuses(found).values()) == {"ignored"}
    assert found["by_name"][FLAG]["found"] == "false"
    assert found["by_name"][FLAG]["why"] == "JAX's backend has already started; it is read only before"


def test_xla_flags_read_before_configure_by_another_library_leave_ours_ignored() -> None:
    parsed_early = "from jaxlib import xla_client; xla_client.CompileOptions()\n"
    found = verified(parsed_early + CONFIGURE + START)
    assert statuses(found)[FLAG] == "ignored"
    assert "XLA had read XLA_FLAGS before" in found["by_name"][FLAG]["why"]


ALIASES = {"xla_gpu_pipeline_all_gather": "off", "xla_gpu_enable_command_buffer": "CUBLAS"}
RIVALS = {
    "xla_gpu_pipeline_all_gather": "xla_gpu_enable_pipelined_all_gather",
    "xla_gpu_enable_command_buffer": "xla_gpu_graph_level",
}


def readings(text: str) -> dict[str, list[str]]:
    """Status and why of each flag of a text, from what jaxlib parses of it."""
    code = f"""
import os, jaxgpu_tune
from jaxgpu_tune.proof import flags_read_back
from jaxgpu_tune.proof.wanted import Wanted, flag_values
from jaxgpu_tune.planning.release.target import target_of
from jaxgpu_tune.proof.xla_options import parsed_options
os.environ["XLA_FLAGS"] = {text!r}
options, now = parsed_options(), flag_values(os.environ["XLA_FLAGS"])
reading = flags_read_back.OptionsReadBack(target_of(jaxgpu_tune.detect()), "gpu", options, options, lambda: options, now)
items = [flags_read_back.verified_flag(Wanted("xla_flag", name, now[name]), reading) for name in now]
tell({{item.name: [item.status, item.why] for item in items}})
"""
    return told_warm(code)  # type: ignore[no-any-return]


def test_an_alias_later_in_the_text_overrides() -> None:
    name = next((n for n, rival in RIVALS.items() if all(jaxgpu_tune.explain(x).type for x in (n, rival))), None)
    if name is None:
        pytest.skip("this jaxlib has neither alias")
    found = readings(f"--{name}={ALIASES[name]} --{RIVALS[name]}=1")
    assert found[name] == ["overridden", f"--{RIVALS[name]}=1 decides the same thing"]


KERNELS, ONE_SHOT = "xla_gpu_experimental_use_collective_kernels", "xla_gpu_unsupported_use_all_reduce_one_shot_kernel"


@pytest.mark.skipif(not jaxgpu_tune.explain(KERNELS).type, reason="this jaxlib has no such list")
def test_a_list_that_flags_of_two_names_change_is_not_said_to_be_wrong() -> None:
    found = readings(f"--{KERNELS}=ALL_GATHER --{ONE_SHOT}=true --{KERNELS}=+ALL_TO_ALL")
    assert {status for status, _ in found.values()} == {"unreadable"}
    assert found[KERNELS][1].startswith(f"--{ONE_SHOT} writes the same list")
    alone = readings(f"--{KERNELS}=ALL_GATHER --{KERNELS}=+ALL_TO_ALL")
    assert alone[KERNELS][0] == "effective"


def test_gpu_flags_memory_and_nccl_variables_on_the_cpu_are_ignored() -> None:
    code = """
import jaxgpu_tune
jaxgpu_tune.configure(flags={"xla_gpu_autotune_level": 2}, memory_fraction=0.5, env={"NCCL_DEBUG": "WARN"})
"""
    found = verified(code + START, JAX_PLATFORMS="cpu")
    gpu_only = {name: status for name, status in statuses(found).items() if name != "jax_platforms"}
    assert set(gpu_only.values()) == {"ignored"} and len(gpu_only) == 3
    assert statuses(found)["jax_platforms"] == "effective"
    assert [(f["code"], f["severity"]) for f in found["findings"]] == [("setting-ignored", "note")] and found["ok"]


def test_r31_silently_on_the_cpu_is_an_error(tmp_path: Any) -> None:
    jaxlib = jaxgpu_tune.detect().jaxlib
    machine = {
        "gpus": [
            {"name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "memory_bytes": 80 * 2**30, "count": 2}
        ],
        "jaxlib": jaxlib,
        "jax": jaxlib,
    }
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    found = verified(CONFIGURE + START, JAXGPU_TUNE_MACHINE=str(tmp_path / "machine.json"))
    error = next(f for f in found["findings"] if f["code"] == "runs-on-cpu")
    assert error["severity"] == "error" and "2 GPUs are here" in error["message"] and not found["ok"]


def test_a_child_process_verifies_what_its_parent_set() -> None:
    code = f"""
import os, subprocess, sys, jaxgpu_tune
environ = jaxgpu_tune.environ(flags={{"{FLAG}": True}}, jax_config={{"jax_debug_nans": True}}, env={{"SOME_VARIABLE": "1"}})
child = "import jax, jaxgpu_tune, json; jax.devices(); print(json.dumps(jaxgpu_tune.verify().to_dict()))"
tell(json.loads(subprocess.run([sys.executable, "-c", child], env=environ, capture_output=True, text=True).stdout))
"""
    found = told(code)
    by_name = {item["name"]: item["status"] for item in found["items"]}
    assert by_name == {FLAG: "effective", "SOME_VARIABLE": "unreadable", "jax_debug_nans": "effective"} and found["ok"]


def test_before_the_backend_starts_it_raises_and_starts_none() -> None:
    code = """
import jax
try:
    jaxgpu_tune.verify()
except jaxgpu_tune.TooEarly as error:
    from jax._src import xla_bridge
    tell([isinstance(error, RuntimeError), [f.code for f in error.findings], bool(xla_bridge._backends)])
"""
    assert told_warm(CONFIGURE + code) == [True, ["not-started"], False]


def test_without_configure_the_answer_is_not_ok_and_says_so() -> None:
    ended = run_warm(START + VERIFY.replace("found", "import jaxgpu_tune\nfound", 1))
    assert ended.value["items"] == [] and not ended.value["ok"]
    assert [f["code"] for f in ended.value["findings"]] == ["nothing-applied"]
    assert "Neither configure() in this process" in ended.stderr


def test_after_restore_there_is_nothing_to_verify() -> None:
    found = verified(CONFIGURE + "report.restore()\n" + START)
    assert [f["code"] for f in found["findings"]] == ["nothing-applied"]


def test_switched_off_is_ok() -> None:
    found = verified(CONFIGURE + START, JAXGPU_TUNE="off")
    assert found["ok"] and [(f["code"], f["severity"]) for f in found["findings"]] == [("switched-off", "note")]


def test_strict_makes_verify_an_assertion() -> None:
    code = f"""
import os, jaxgpu_tune
jaxgpu_tune.configure(flags={{"{FLAG}": True}}, jax_config={{"jax_debug_nans": True}}, strict=True)
import jax; jax.devices()
fine = jaxgpu_tune.verify().ok
os.environ["XLA_FLAGS"] = ""
jax.config.update("jax_debug_nans", False)
try:
    jaxgpu_tune.verify()
except jaxgpu_tune.BadSetting as error:
    tell([fine, str(error)])
"""
    fine, message = told_warm(code)
    assert fine and message.startswith("2 problems:") and FLAG in message and "jax_debug_nans" in message


@pytest.mark.skipif(not jaxgpu_tune.explain("jax_compiler_enable_remat_pass").here.count("has it"), reason="too old")
def test_jaxs_own_option_overrides_a_flag_before_it_added_up() -> None:
    code = """
import jaxgpu_tune
jaxgpu_tune.configure(flags={"xla_disable_hlo_passes": "some-pass"})
import jax; jax.config.update("jax_compiler_enable_remat_pass", False); jax.devices()
"""
    replaces = tuple(map(int, jaxgpu_tune.detect().jaxlib.split(".")[:3])) < (0, 11, 1)  # type: ignore[union-attr]
    item = verified(code)["by_name"]["xla_disable_hlo_passes"]
    assert item["status"] == ("overridden" if replaces else "effective")
    assert "jax_compiler_enable_remat_pass" in item["why"] or not replaces


def test_text_and_html_show_every_item_worst_first() -> None:
    items = (
        Verified("xla_flag", "good", "1", "effective", "it holds"),
        Verified("env", "BAD", "<2>", "ignored", "no one read it", "3"),
    )
    found = Verification(items, (Finding("setting-ignored", "warning", "BAD is ignored."),), "gpu", 2)
    lines = str(found).splitlines()
    assert lines[0] == "jaxgpu_tune verify: not ok on 2 x gpu; 1 effective, 1 ignored"
    assert lines.index("  BAD = <2> (ignored)") < lines.index("  --good = 1 (effective)")
    assert "      no one read it [read back: 3]" in lines
    html = found._repr_html_()
    assert "&lt;2&gt;" in html and "<2>" not in html and "setting-ignored" in html
