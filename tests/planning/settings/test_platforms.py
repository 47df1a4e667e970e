"""The names in JAX_PLATFORMS, and what stands around a value that its reader takes as it stands."""

from __future__ import annotations

from typing import Any

import pytest

import jaxgpu_tune
from tests.child import told
from tests.fleet import codes, decision, machine

DAMAGED = [
    '"cpu"',
    "'cpu'",
    "cpu\r",
    "CPU",
    " cpu",
    "cpu, cpu",
    "cpu;cpu",
    "cpu,",
    ",cpu",
    '"cpu"\r\n',
    "\u201ccpu\u201d",
]


def planned(environ: dict[str, str] | None = None, **arguments: Any) -> jaxgpu_tune.Report:
    """A plan for eight H100."""
    return jaxgpu_tune.plan("auto", machine=machine(), environ=environ or {}, **arguments)


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_list_of_platforms_is_mended(text: str) -> None:
    """Inherited or asked for, and whichever platform."""
    for name in ("cpu", "cuda"):
        given = text.replace("cpu", name).replace("CPU", name.upper())
        meant = ",".join([name] * given.lower().count(name))
        for report in (planned({"JAX_PLATFORMS": given}), planned(jax_config={"jax_platforms": given})):
            assert (report.environ["JAX_PLATFORMS"], codes(report) - {"platform-is-cpu"}) == (
                meant,
                {"platform-repaired"},
            )
    assert not codes(planned({"JAX_PLATFORMS": "cuda,cpu"})) | codes(planned({"JAX_PLATFORM_NAME": "CUDA"}))
    assert decision(planned({"JAX_PLATFORM_NAME": "CUDA"}), "jax_platform_name").value == "cuda"  # as jax.config has it


@pytest.mark.parametrize(("text", "imported"), [('"cpu"', True), ("cpu, cpu", True), ("cppu", True), ("cppu", False)])
def test_jax_ends_on_a_damaged_list_and_starts_on_the_mended_one(text: str, imported: bool) -> None:
    """Whether jax has read the variable already or not."""
    fails = """
import jax
try:
    tell(len(jax.devices()))
except RuntimeError as wrong:
    tell(str(wrong)[:28])
"""
    assert told(fails, JAX_PLATFORMS=text) == "Unable to initialize backend"
    call = "import jaxgpu_tune\nreport = jaxgpu_tune.configure('single_gpu')\n"
    code = ("import jax\n" + call) if imported else (call + "import jax\n")
    platform, ok = told(code + "tell([jax.devices()[0].platform, jaxgpu_tune.verify().ok])", JAX_PLATFORMS=text)
    assert (platform, ok) == ("cpu", True)


@pytest.mark.parametrize("option", ["jax_platforms", "jax_platform_name"])
def test_a_misspelt_platform_is_an_error_and_a_strange_one_a_warning(option: str) -> None:
    """Plugins register names of their own, METAL among them."""
    report = planned({option.upper(): "cudaa"})
    assert (report.environ, decision(report, option).status) == ({option.upper(): None}, "dropped")
    (finding,) = report.findings
    assert finding.severity == "error" and "did you mean 'cuda'" in finding.message and "rocm" in finding.message
    with pytest.raises(jaxgpu_tune.BadSetting, match="did you mean 'cuda'"):
        planned(jax_config={option: "cudaa"})
    strange = planned({option.upper(): "METAL"})
    assert (codes(strange), strange.environ) == ({"unknown-platform"}, {})


def test_the_cpu_alone_is_the_same_whoever_asks_for_it() -> None:
    """No flag for GPUs, as with platform="cpu"; the last word counts."""
    here: dict[str, Any] = {"machine": machine()}
    asked: list[dict[str, Any]] = [
        {"environ": {}, "platform": "cpu"},
        {"environ": {"JAX_PLATFORMS": "cpu"}},
        {"environ": {"JAX_PLATFORMS": '"cpu"'}},
        {"environ": {}, "env": {"JAX_PLATFORMS": "cpu"}},
        {"environ": {}, "jax_config": {"jax_platforms": "cpu"}},
    ]
    assert [jaxgpu_tune.plan("fsdp", **here, **arguments).xla_flags for arguments in asked] == [""] * len(asked)
    overruled = jaxgpu_tune.plan("fsdp", **here, environ={"JAX_PLATFORMS": "cpu"}, platform="cuda")
    assert overruled.xla_flags == jaxgpu_tune.plan("fsdp", **here, environ={}).xla_flags != ""


def test_r52_the_cpu_that_is_inherited_is_told_where_gpus_are() -> None:
    """By both names; asked for in the call it is no news, nor is it where there is no GPU."""
    for environ in ({"JAX_PLATFORMS": "cpu"}, {"JAX_PLATFORM_NAME": "CPU"}):
        (finding,) = planned(environ).findings
        assert (finding.code, finding.severity) == ("platform-is-cpu", "note") and next(
            iter(environ)
        ) in finding.message
        assert "platform-is-cpu" not in codes(jaxgpu_tune.plan("auto", machine=machine(count=0), environ=environ))
    assert not codes(planned(platform="cpu"))


@pytest.mark.parametrize("around", ['"{}"', "'{}'", "{}\r", '"{}"\r\n', "\u201c{}\u201d"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_COMPILATION_CACHE_DIR", "/tmp/c"),
        ("JAX_ENABLE_X64", "true"),
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5"),
    ],
)
def test_what_stands_around_a_value_goes(name: str, value: str, around: str) -> None:
    """A .env file's quotes, a file of Windows."""
    report = planned({name: around.format(value)})
    assert report.environ == {name: value}
    assert codes(report) == {"option-repaired" if name.startswith("JAX_") else "variable-repaired"}
    if not name.startswith("XLA_"):
        assert planned(env={name: around.format(value)}).environ == {name: value}


def test_what_is_the_users_own_stays() -> None:
    """Quotes within, blanks of a path, and variables that none of the libraries read."""
    for name, text in (
        ("NCCL_DEBUG_FILE", "/a b/c"),
        ("NCCL_IB_HCA", '"a" "b"'),
        ("JAX_COMPILATION_CACHE_DIR", "/a b"),
    ):
        assert planned({name: text}).environ == {}
    assert planned(env={"MY_JSON": '"text"'}).environ == {"MY_JSON": '"text"'}


@pytest.mark.parametrize("path", ["~/d", "$HOME/d", "${HOME}/d", "~me/d", "/scratch/$USER"])
def test_no_path_is_taken_for_what_a_shell_would_make_of_it(path: str) -> None:
    """XLA makes a folder of the name $HOME."""
    for report in (
        planned({"XLA_FLAGS": f"--xla_dump_to={path}"}),
        planned(flags={"xla_dump_to": path}),
        planned({"NCCL_DEBUG_FILE": path}),
        planned({"JAX_DUMP_IR_TO": path}),
    ):
        assert codes(report) == {"unexpanded-path"}
    assert not codes(planned(flags={"xla_dump_to": "/d", "xla_dump_hlo_pass_re": "^a.*b$"}))


@pytest.mark.parametrize(("prefer", "checked"), [("existing", "1"), ("preset", "0")])
def test_a_guard_minds_the_side_that_wins(prefer: str, checked: str, tmp_path: Any) -> None:
    """jax_debug_nans is on in what will be in force, and it would fetch every result."""
    preset = tmp_path / "mine.toml"
    value = "false" if prefer == "existing" else "true"
    preset.write_text(f'summary = "mine"\n[[set]]\nconfig = "jax_debug_nans"\nvalue = {value}\n')
    arguments: dict[str, Any] = {"machine": machine(), "transfer_guard": "disallow"}
    report = jaxgpu_tune.plan(str(preset), **arguments, environ={"JAX_DEBUG_NANS": checked}, prefer=prefer)
    assert decision(report, "jax_debug_nans").value == "true" and "guard-refused" in codes(report)


def test_a_preset_whose_fraction_cannot_be_computed_says_so(tmp_path: Any) -> None:
    """As the argument does."""
    preset = tmp_path / "mine.toml"
    preset.write_text('summary = "mine"\nmemory_fraction = "auto"\n')
    unknown = {"gpus": [{"name": "x", "compute_capability": "9.0"}], "jaxlib": "0.11.2"}
    report = jaxgpu_tune.plan(str(preset), machine=unknown, environ={})
    assert decision(report, "XLA_CLIENT_MEM_FRACTION").status == "unmet"
