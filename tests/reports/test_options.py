"""Public reports on jax.config (facts: reports C and H), each as a test by its number; what jax reads is asked of a real jax."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import jaxgpu_tune
from tests.child import told
from tests.fleet import codes, decision, machine

HOST, DEVICE, BACK = (f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
GUARDS = f"{{'{HOST}': 'log', '{BACK}': 'disallow'}}"
READ = f"[jax.config.{HOST}, jax.config.{DEVICE}, jax.config.{BACK}]"
ALONE = "jax_cuda_visible_devices"


@pytest.mark.parametrize("how", ["import jax", "import jax.numpy", "from jax._src import core; import jax"])
@pytest.mark.parametrize("first", [True, False])
def test_R82_a_guard_for_each_direction(how: str, first: bool) -> None:
    """jax overwrites their variables with the umbrella's, so they are set right after its import."""
    call = f"import jaxgpu_tune\nreport = jaxgpu_tune.configure('single_gpu', jax_config={GUARDS})\n"
    code = (
        (call + how if first else f"{how}\n{call}")
        + f"""
import sys
before = {READ}
jax.devices()
items = {{item.name: item.status for item in jaxgpu_tune.verify().items}}
report.restore()
ours = [finder for finder in sys.meta_path if type(finder).__module__.startswith("jaxgpu_tune")]
tell([before, {READ}, sorted(items.items()), len(ours)])
"""
    )
    effective = [[BACK, "effective"], [HOST, "effective"]]
    assert told(code) == [["log", None, "disallow"], [None, None, None], effective, 0]


def test_R27_an_option_without_a_variable_waits_for_jax() -> None:
    """A second call takes the first one's place, reload changes nothing, and jax's own loader stays."""
    code = f"""
import jaxgpu_tune, importlib, importlib.util, sys
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}})
report = jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "1"}})
finders = len(sys.meta_path)
assert importlib.util.find_spec("jax") is not None
import jax
held = jax.config.values["{ALONE}"]
jax.config.update("{ALONE}", "2")
importlib.reload(jax)
tell([held, jax.config.values["{ALONE}"], finders - len(sys.meta_path), list(vars(jax.__spec__.loader)), [f.code for f in report.findings]])
"""
    held, after, gone, loader, found = told(code)
    assert (held, after, gone, loader) == ("1", "2", 1, ["name", "path"])
    assert found == ["option-without-variable", "overruled"]


def test_R27_a_variable_that_is_set_after_the_import_is_told_and_is_in_nobodys_way() -> None:
    """jax does not hold it, so that it is not "kept"; an argument of configure() that says the same is carried out."""
    code = """
import os, jax, jaxgpu_tune
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_DEBUG_NANS"] = "true"
first = jaxgpu_tune.configure()
told = [[f.code for f in first.findings], dict(first.jax_config), jax.config.jax_platforms]
second = jaxgpu_tune.configure(platform="cpu")
told += [[f.message.split("=")[0] for f in second.findings], jax.config.jax_platforms]
second.restore()
tell([*told, jax.config.jax_platforms, os.environ["JAX_PLATFORMS"]])
"""
    after = "variable-after-import"
    assert told(code) == [[after, after], {}, None, ["JAX_DEBUG_NANS"], "cpu", None, "cpu"]


def test_R27_variables_that_were_there_at_the_import_are_in_force() -> None:
    """Of every option whose variable this jax reads."""
    code = """
import os, jaxgpu_tune
from importlib.metadata import version
from jaxgpu_tune.knowledge import options

other = {"bool": lambda s: not s.default, "int": lambda s: (s.default or 0) + 1, "float": lambda s: (s.default or 0) + 1.0,
         "enum": lambda s: next(value for value in s.values if value != s.default), "string": lambda s: "x"}
specs = [options.option(name, version("jax")) for name in options.names(version("jax"))]
meant = {s.name: str(other[s.type](s)).lower() if s.type == "bool" else str(other[s.type](s)) for s in specs if s.env and s.type in other}
os.environ.update({name.upper(): value for name, value in meant.items()}, JAX_PLATFORMS="cpu")
import jax
tell([len(meant) > 50, [f.message for f in jaxgpu_tune.plan().findings if f.code == "variable-after-import"]])
"""
    assert told(code) == [True, []]


def test_R27_what_was_taken_back_before_the_import_is_not_set() -> None:
    code = f"""
import jaxgpu_tune
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}}).restore()
import jax
tell(jax.config.values["{ALONE}"])
"""
    assert told(code) == "all"


def test_R27_an_import_that_fails_is_tried_again() -> None:
    code = f"""
import jaxgpu_tune, sys
jaxgpu_tune.configure("single_gpu", jax_config={{"{ALONE}": "0"}})
sys.modules["jaxlib"] = None
try:
    import jax
except ImportError:
    pass
else:
    raise SystemExit("jax was imported without jaxlib")
for name in [name for name in sys.modules if name.partition(".")[0] in ("jax", "jaxlib")]:
    del sys.modules[name]
import jax
tell(jax.config.values["{ALONE}"])
"""
    assert told(code, cold=True) == "0"


def test_R27_another_process_is_told_what_to_write() -> None:
    """No variable carries it there: the plan for a fresh process says so."""
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={}, jax_config={ALONE: "0", HOST: "log"})
    assert {decision(report, name).status for name in (ALONE, HOST)} == {"unmet"}
    hints = [f.hint for f in report.findings if f.code == "option-without-variable"]
    assert any(f"jax.config.update('{ALONE}', '0')" in hint for hint in hints) and len(hints) == 2


def test_R82_one_level_for_all_directions_has_a_variable() -> None:
    """The umbrella's; so that children have it too."""
    final = jaxgpu_tune.environ("auto", base={}, machine=machine(), transfer_guard="log")
    code = f"import jax; tell({READ})"
    assert told(code, **final) == ["log", "log", "log"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("JAX_CUDA_VISIBLE_DEVICES", "variable-without-reader"),
        ("JAX_TRANSFER_GUARD_HOST_TO_DEVICE", "variable-without-reader"),
        ("JAX_COMPILATION_CACHE_DIRS", "unknown-variable"),
        ("JAX_COORDINATOR_ADDRESS", None),
        ("JAX_PLATFORMS", None),
        ("JAX_MYLIB_OPTION", None),
    ],
)
def test_R28_variables_that_jax_does_not_read_are_told(name: str, code: str | None) -> None:
    report = jaxgpu_tune.plan("auto", machine=machine(), environ={name: "cuda"})
    assert codes(report) == ({code} if code else set())


CACHE, THRESHOLD = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"
XLA_CACHES = "jax_persistent_cache_enable_xla_caches"
COMPILE = "jax.jit(lambda x: x * 2 + 1)(jax.numpy.ones({}))\n"


def planned(environ: dict[str, str] | None = None, count: int = 1, **arguments: Any) -> jaxgpu_tune.Report:
    """A plan for one H100, or more."""
    return jaxgpu_tune.plan("single_gpu", machine=machine(count=count), environ=environ or {}, **arguments)


@pytest.mark.parametrize("imported", [True, False])
def test_R30_quick_programs_are_cached_too(imported: bool, tmp_path: Path) -> None:
    """Whether jax is imported already or not."""
    call = f"jaxgpu_tune.configure('single_gpu', compilation_cache={str(tmp_path / 'new' / 'cache')!r})\n"
    code = "import jaxgpu_tune\n" + ("import jax\n" + call if imported else call + "import jax\n") + COMPILE.format(3)
    assert told(f"{code}tell(0)") == 0
    assert [path for path in (tmp_path / "new" / "cache").iterdir() if path.name.startswith("jit_")]


def test_R30_the_users_own_threshold_stays() -> None:
    inherited = planned({THRESHOLD.upper(): "30"}, compilation_cache="/cache")
    assert decision(inherited, THRESHOLD).status == "kept" and THRESHOLD not in inherited.jax_config
    asked = planned(compilation_cache="/cache", jax_config={THRESHOLD: 5})
    assert asked.jax_config[THRESHOLD] == 5.0
    assert planned(compilation_cache="/cache").environ[THRESHOLD.upper()] == "0.0"
    assert THRESHOLD not in planned(jax_config={CACHE: "/cache"}).jax_config


def test_R81_a_cache_that_is_set_after_the_first_compile_is_used(tmp_path: Path) -> None:
    """Another one had been settled on by then; restore() gives that back."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    code = f"""
import os, jax, jaxgpu_tune
jax.config.update("{CACHE}", {first!r})
jax.config.update("{THRESHOLD}", 0.0)
{COMPILE.format(3)}
report = jaxgpu_tune.configure("single_gpu", compilation_cache={second!r}, late="warn")
{COMPILE.format(4)}
here = len(os.listdir({second!r}))
before = len(os.listdir({first!r}))
report.restore()
{COMPILE.format(5)}
tell([here > 0, len(os.listdir({first!r})) > before])
"""
    assert told(code) == [True, True]


def test_R80_equal_intent_gives_an_equal_key_of_the_cache(tmp_path: Path) -> None:
    """jax hashes the words of XLA_FLAGS: neither their order, nor the spelling, nor a default may tell them apart."""
    first = {"xla_cpu_enable_fast_math": True, "xla_backend_optimization_level": 2}
    second = {"--xla_backend_optimization_level": "2", "xla_gpu_autotune_level": 4, "xla_cpu_enable_fast_math": "true"}
    kept = []
    for flags in (first, second):
        code = f"""
import jaxgpu_tune
text = jaxgpu_tune.configure("single_gpu", compilation_cache={str(tmp_path)!r}, flags={flags!r}).xla_flags
import jax
{COMPILE.format(3)}
tell(text)
"""
        kept.append(
            (
                told(code),
                {path.name for path in tmp_path.glob("jit_*")} - {path.name for path in tmp_path.glob("*-atime")},
            )
        )
    assert kept[0] == kept[1] and kept[0][1]


def test_R52_the_cpu_is_asked_for_by_the_variable_that_starts_no_gpu() -> None:
    """JAX_PLATFORM_NAME would rank it first, and still take memory on each GPU."""
    report = jaxgpu_tune.plan("fsdp", machine=machine(), environ={}, platform="cpu")
    assert (report.xla_flags, report.environ) == ("", {"JAX_PLATFORMS": "cpu"})


def test_R81_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = f"""
import jaxgpu_tune
found = [jaxgpu_tune.configure("single_gpu", compilation_cache=folder).findings for folder in {[str(tmp_path / "file" / "c"), str(tmp_path / "c")]!r}]
tell([[f.code for f in one if f.code.startswith("cache")] for one in found])
"""
    assert told(code) == [["cache-unwritable"], []]


@pytest.mark.parametrize("asked", [True, False], ids=["asked for", "inherited"])
def test_R81_a_directory_that_is_none_is_told_wherever_it_comes_from(asked: bool, tmp_path: Path) -> None:
    """By configure(), plan() and check(); verify() does not call it effective."""
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "cache")
    how = f"compilation_cache={folder!r}" if asked else ""
    code = f"""
import jaxgpu_tune
plans = jaxgpu_tune.plan("single_gpu", {how}), jaxgpu_tune.configure("single_gpu", {how})
import jax
jax.devices()
proof = jaxgpu_tune.verify()
items = [(item.name, item.status) for item in proof.items]
found = [[f.code for f in report.findings] for report in plans] + [[f.code for f in jaxgpu_tune.check()]]
remedies = [[(f.message, f.hint) for f in proof.findings if "{CACHE}" in f.message], [f.hint for f in plans[1].findings if f.code == "cache-unwritable"]]
tell([["cache-unwritable" in codes for codes in found], dict(items).get("{CACHE}"), remedies])
"""
    environ = {} if asked else {CACHE.upper(): folder}
    found, status, ([(message, hint)], remedies) = told(code, **environ)
    assert [hint] == remedies and not message.endswith("..")
    assert found == [True, True, not asked]  # check() is about what is there without us
    assert status == "ignored"


def test_R81_home_is_replaced_in_what_is_asked_for_and_told_in_what_is_inherited() -> None:
    """The home of the environment that is planned for."""
    for arguments in (
        {"compilation_cache": "$HOME/c"},
        {"jax_config": {CACHE: "~/c"}},
        {"env": {CACHE.upper(): "~/c"}},
    ):
        assert planned({"HOME": "/home/me"}, **arguments).jax_config[CACHE] == "/home/me/c"  # type: ignore[arg-type]
    assert "unexpanded-path" in codes(planned({CACHE.upper(): "$HOME/c"}))


@pytest.mark.parametrize("address", ["gs://bucket/cache", "s3://bucket/cache"])
def test_an_address_for_the_cache_goes_without_xlas_own_files(address: str) -> None:
    """XLA's C++ file layer cannot write there; the address is left as it is."""
    report = planned(compilation_cache=address)
    assert (report.jax_config[CACHE], report.jax_config[XLA_CACHES]) == (address, "none")
    assert not codes(report)
    assert "cache-address" in codes(planned({CACHE.upper(): address}))
    old = jaxgpu_tune.plan(
        "single_gpu", machine=machine(count=1, jaxlib="0.4.30"), environ={}, compilation_cache=address
    )
    assert XLA_CACHES not in old.jax_config


@pytest.mark.parametrize(
    ("count", "layout", "environ", "refused"),
    [
        (8, {}, {}, False),
        (8, {"count": 2, "local_count": 2, "rank": 0, "local_rank": 0, "launcher": "slurm"}, {}, True),
        (8, {"launcher": "slurm"}, {}, True),
        (1, {}, {"NSYS_PROFILING_SESSION_ID": "7"}, True),
        (1, {}, {"CUDA_INJECTION64_PATH": "/opt/lib.so"}, True),
    ],
)
def test_R77_no_profiles_beside_other_processes_or_profilers(
    count: int, layout: dict[str, Any], environ: dict[str, str], refused: bool
) -> None:
    here = machine(count=count, processes=layout)
    report = jaxgpu_tune.plan("auto", machine=here, environ=environ, pgle="auto")
    assert ("pgle-refused" in codes(report)) is refused is ("jax_enable_pgle" not in report.jax_config)
    assert decision(report, "jax_enable_pgle").status == ("unmet" if refused else "set")
    inherited = jaxgpu_tune.plan("auto", machine=here, environ={**environ, "JAX_ENABLE_PGLE": "true"})
    assert ("pgle-refused" in codes(inherited)) is refused
    assert decision(inherited, "jax_enable_pgle").status == "kept"


def test_R78_expected_profiles_need_a_cache_and_are_not_made() -> None:
    report = planned({"JAX_ENABLE_PGLE": "true", "NSYS_X": "1"}, pgle="expect", compilation_cache="/cache")
    assert report.environ["JAX_ENABLE_PGLE"] == "false"
    assert report.environ["JAX_COMPILATION_CACHE_EXPECT_PGLE"] == "true"
    assert "pgle-needs-cache" not in codes(report)
    assert "pgle-needs-cache" in codes(planned(pgle="expect"))
    with pytest.raises(jaxgpu_tune.BadSetting, match="cache"):
        planned(pgle="expect", strict=True)
    old = jaxgpu_tune.plan("auto", machine=machine(jaxlib="0.5.0"), environ={}, pgle="expect", compilation_cache="/c")
    assert "option-absent" in codes(old)


def test_R79_a_profile_has_to_be_there(tmp_path: Path) -> None:
    """On the machine here."""
    here = partial(jaxgpu_tune.plan, environ={})
    for name in ("profile.pb", "profile.pbtxt", "profile.json"):
        with pytest.raises(jaxgpu_tune.BadSetting, match="ignores every other path"):
            here(pgle=tmp_path / name)
    (tmp_path / "profile.pb").write_bytes(b"")
    for report in (here(pgle=tmp_path / "profile.pb"), planned(pgle=tmp_path / "profile.pb")):
        assert report.xla_flags == f"--xla_gpu_pgle_profile_file_or_directory_path={tmp_path / 'profile.pb'}"


@pytest.mark.parametrize(
    ("path", "is_read"),
    [("/x/p.pb", True), ("/x/p.pbtxt", True), ("/x/profiles", True), ("/x/run.1", True), ("/x/p.txt", False), ("p.PB", False), ("/x/a.nsys-rep", False)],
)  # fmt: skip
def test_R79_a_profile_that_is_set_already_is_one_that_xla_reads(path: str, is_read: bool) -> None:
    """Any other is passed over in silence."""
    report = planned(environ={"XLA_FLAGS": f"--xla_gpu_pgle_profile_file_or_directory_path={path}"})
    assert ("pgle-profile-unread" not in {finding.code for finding in report.findings}) is is_read


def test_R79_a_profile_of_another_machine_need_not_be_here() -> None:
    """Its name still has to be one that XLA reads."""
    for name in ("/data/on/cluster.pb", "/data/on/cluster.pbtxt", "/data/profiles"):
        assert planned(pgle=name).xla_flags == f"--xla_gpu_pgle_profile_file_or_directory_path={name}"
    with pytest.raises(jaxgpu_tune.BadSetting, match="ignores every other path"):
        planned(pgle="/data/on/cluster.json")


@pytest.mark.parametrize("debug", ["jax_disable_jit", "jax_debug_nans"])
def test_R82_a_strict_guard_is_not_set_beside_options_that_transfer(debug: str) -> None:
    """DreamerV3's rule; "log" is set with them."""
    for environ, options in (({debug.upper(): "1"}, {}), ({}, {debug: True})):
        report = planned(environ, transfer_guard="disallow", jax_config=options)
        assert not set(report.jax_config) & {HOST, DEVICE, BACK} and "guard-refused" in codes(report)
        assert planned(environ, transfer_guard="log", jax_config=options).jax_config[BACK] == "log"
    assert (
        planned({debug.upper(): "1"}, transfer_guard="disallow", jax_config={debug: False}).jax_config[BACK]
        == "disallow"
    )


def test_R82_without_jit_the_guard_would_indeed_refuse_a_constant() -> None:
    code = """
import jax
x = jax.numpy.ones(3)
jax.config.update("jax_disable_jit", True)
try:
    with jax.transfer_guard("disallow"):
        jax.jit(lambda x: x * 2 + 1)(x)
except Exception as refused:
    tell("Disallowed" in str(refused))
"""
    assert told(code) is True


@pytest.mark.parametrize(("jaxlib", "option"), [("0.10.2", None), ("0.11.1", False), ("0.12.0.1", False)])
def test_rematerialization_off_keeps_the_users_list_of_passes(jaxlib: str, option: bool | None) -> None:
    """jax-ml/jax#37391: before 0.11.1 the option wipes what XLA_FLAGS says, so there it joins that list."""
    report = jaxgpu_tune.plan(
        "single_gpu",
        machine=machine(count=1, jaxlib=jaxlib),
        environ={"XLA_FLAGS": "--xla_disable_hlo_passes=mine"},
        jax_config={"jax_compiler_enable_remat_pass": False},
    )
    assert report.jax_config.get("jax_compiler_enable_remat_pass") is option
    assert report.xla_flags == f"--xla_disable_hlo_passes=mine{',rematerialization' if option is None else ''}"


@pytest.mark.parametrize("value", ["memory_fraction:0.5", "allocator:bfc;preallocate:false"])
def test_R31_client_options_that_end_the_cuda_client_do_not_leave(value: str) -> None:
    """As a text a number or a bool is refused there, and JAX goes on with the CPU."""
    name = "jax_pjrt_client_create_options"
    inherited = planned({name.upper(): value})
    assert inherited.environ[name.upper()] is None and "client-options" in codes(inherited)
    asked = planned(jax_config={name: value})
    assert not asked.jax_config and "client-options" in codes(asked)
    assert planned(jax_config={name: "allocator:bfc"}).jax_config == {name: "allocator:bfc"}
    assert planned(jax_config={name: value}, platform="cpu").jax_config[name] == value


@pytest.mark.parametrize(
    ("name", "value", "jaxlib", "taken"),
    [
        ("jax_default_matmul_precision", "tensorfloat32", "0.4.30", "tensorfloat32"),
        ("jax_default_matmul_precision", "BF16_BF16_F32", "0.12.0.1", "BF16_BF16_F32"),
        ("jax_default_matmul_precision", "BF16_BF16_F32", "0.4.30", jaxgpu_tune.BadSetting),
        ("jax_optimization_level", "O1", "0.10.2", "O1"),
        ("jax_optimization_level", "o1", "0.10.2", jaxgpu_tune.BadSetting),
        ("jax_optimization_level", "O1", "0.4.30", None),
        ("jax_debug_nans", "false", "0.12.0.1", False),
        ("jax_debug_nans", "off", "0.4.30", False),
        ("jax_pgle_profiling_runs", "3", "0.6.2", 3),
        ("jax_pgle_profiling_runs", "three", "0.6.2", jaxgpu_tune.BadSetting),
    ],
)
def test_R14_options_are_typed_and_of_their_release(name: str, value: str, jaxlib: str, taken: Any) -> None:
    """jax itself would take the text "false" for true."""
    arguments: dict[str, Any] = {"machine": machine(count=1, jaxlib=jaxlib), "environ": {}, "jax_config": {name: value}}
    if isinstance(taken, type):
        with pytest.raises(taken, match=name):
            jaxgpu_tune.plan("single_gpu", **arguments)
    else:
        assert jaxgpu_tune.plan("single_gpu", **arguments).jax_config.get(name) == taken


def test_R82_one_direction_may_differ_from_the_guard_for_all() -> None:
    """What names one direction says more than what names none."""
    code = f"""
import jaxgpu_tune
jaxgpu_tune.configure("single_gpu", transfer_guard="log", jax_config={{"{BACK}": "allow"}})
import jax
tell({READ})
"""
    assert told(code) == ["log", "log", "allow"]


@pytest.mark.parametrize("child", [False, True])
def test_R30_what_jax_read_from_our_variables_is_not_the_users(child: bool, tmp_path: Path) -> None:
    """A second call after `import jax` adds to the first, in this process as in a child of it."""
    first = f"jaxgpu_tune.configure('single_gpu', transfer_guard='log', compilation_cache={str(tmp_path)!r}, jax_config={{'jax_debug_nans': True}})"
    second = f"""
import jax, jaxgpu_tune
report = jaxgpu_tune.configure("single_gpu", jax_config={{"jax_enable_x64": True}})
c = jax.config
held = [c.jax_debug_nans, c.{BACK}, c.jax_compilation_cache_dir, c.{THRESHOLD}, c.jax_enable_x64]
found = [f.code for f in report.findings]
report.restore()
tell([held, found, c.jax_enable_x64, c.jax_numpy_dtype_promotion])
"""
    start = f"import jaxgpu_tune\n{first}\n"
    code = f"{start}import subprocess, sys\nsubprocess.run([sys.executable, '-c', {'import json' + chr(10) + 'def tell(value): print(chr(1) + json.dumps(value))' + second!r}], check=True)"
    answer = told(code if child else start + second, JAX_NUMPY_DTYPE_PROMOTION="strict")
    assert answer == [[True, "log", str(tmp_path), 0.0, True], ["debug-checks"], False, "strict"]


def test_R30_restore_gives_back_what_jax_read_from_our_variables() -> None:
    code = f"""
import jaxgpu_tune
report = jaxgpu_tune.configure("single_gpu", transfer_guard="log", jax_config={{"jax_debug_nans": True}})
import jax
before = [jax.config.jax_debug_nans, *{READ}]
report.restore()
tell([before, [jax.config.jax_debug_nans, *{READ}]])
"""
    assert told(code) == [[True, "log", "log", "log"], [False, None, None, None]]


@pytest.mark.parametrize(("level", "told_so"), [("O1", True), ("O0", False)])
def test_R66_flags_on_top_of_level_o1_are_told(level: str, told_so: bool) -> None:
    report = jaxgpu_tune.plan("fsdp", machine=machine(), environ={"JAX_OPTIMIZATION_LEVEL": level})
    assert (codes(report) >= {"o1-sets-the-same", "threshold-overrules-o1"}) is told_so
    assert ("o1-sets-the-same" in codes(report)) is told_so
