"""The table of jax.config options: its laws, the installed jax agrees with it, and values survive the way through a real import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge import flags, options
from tests import child

NEWEST = options.releases()[-1]
DATA: dict[str, Any] = json.loads((Path(options.__file__).parent / "data" / "jax_options.json").read_text())
EVER = [(name, release) for name in DATA["options"] for release, change in DATA["options"][name] if change]

LIVE = """
import jax
plain = lambda v: v.name.lower() if type(v).__module__ == "jax._src.config" else v
kinds = {bool: "bool", int: "int", float: "float", str: "string", "enum": "enum", "enum_class": "enum"}
tell({
    "version": jax.__version__,
    "values": {name: plain(value) for name, value in jax.config.values.items()},
    "types": {name: kinds[meta[0]] for name, meta in jax.config.meta.items()},
    "choices": {name: list(meta[2]["enum_values"]) for name, meta in jax.config.meta.items() if "enum_values" in meta[2]},
})
"""

SAMPLES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [7],
    "float": [0.25],
    "string": ["cpu"],
    "object": ["cpu"],
}
FORMED: dict[str, Any] = {
    "jax_cuda_visible_devices": "0,1",
    "jax_rocm_visible_devices": "0,1",
    "jax_oneapi_visible_devices": "0,1",
    "jax_mock_gpu_topology": "1x2x8",
    "jax_pjrt_client_create_options": "a:1;b:x",
}
"""Texts of a form of their own."""

LATER = ("experimental_xmap_", "jax_mosaic_", "jax_pallas_", "mosaic_")
"""In older releases ``import jax`` does not load the modules that define these; using them does."""

UNTRIED = {"jax_default_device", "jax_num_cpu_devices"}
"""Their values mean devices of this machine."""


@pytest.fixture(scope="module")
def live() -> dict[str, Any]:
    """The options of the installed jax, in a process that sets nothing."""
    found: dict[str, Any] = child.told(LIVE)
    return found


def spec(name: str, version: str = NEWEST) -> options.OptionSpec:
    found = options.option(name, version)
    assert found is not None
    return found


def test_every_release_of_jaxlib_has_its_jax() -> None:
    assert set(flags.releases()) <= set(options.releases())


def test_the_file_is_canonical() -> None:
    assert list(DATA["options"]) == sorted(DATA["options"])
    index = {release: at for at, release in enumerate(DATA["releases"])}
    for name, history in DATA["options"].items():
        places = [index[release] for release, _ in history]
        assert places == sorted(set(places)), name
        assert history[0][1] is not None and history[0][1].keys() >= {"type", "default", "env"}, name
        assert all(change != {} for _, change in history), name


def test_a_default_is_a_value_that_the_option_takes() -> None:
    for name, release in EVER:
        found = spec(name, release)
        assert options.parse(found, found.default) == found.default, (name, release)
        assert bool(found.values) == (found.type == "enum"), (name, release)
        assert found.optional or found.default is not None, (name, release)
    assert len(EVER) > 200


def test_the_installed_jax_has_these_options(live: dict[str, Any]) -> None:
    there = set(options.names(live["version"]))
    assert set(live["values"]) <= there
    assert [name for name in there - set(live["values"]) if not name.startswith(LATER)] == []


def test_the_installed_jax_has_these_defaults_types_and_choices(live: dict[str, Any]) -> None:
    for name, value in live["values"].items():
        found = spec(name, live["version"])
        assert found.default == (value or None if name == "jax_platforms" else value), name
        assert found.type in ({live["types"][name]} | ({"object"} if live["types"][name] == "string" else set())), name
        assert list(found.values) == live["choices"].get(name, list(found.values)), name


def other(found: options.OptionSpec) -> list[Any]:
    """Values that the option takes, besides its default."""
    samples = [FORMED[found.name]] if found.name in FORMED else found.values or SAMPLES[found.type]
    return [value for value in samples if value != found.default]


def test_variables_reach_a_real_jax(live: dict[str, Any]) -> None:
    """Each variable the table says is read is read, with the meaning of our text; no other variable is."""
    every = {name: spec(name, live["version"]) for name in live["values"] if name not in UNTRIED}
    wished = {name: other(found)[0] for name, found in every.items()}
    environ = {name.upper(): options.env_text(every[name], value) for name, value in wished.items()}
    seen = child.told(LIVE, **environ)["values"]
    for name in (name for name in wished if not name.startswith("jax_transfer_guard")):
        assert seen[name] == (wished[name] if every[name].env else live["values"][name]), name


def test_only_the_umbrella_of_the_transfer_guards_has_a_variable_that_counts(live: dict[str, Any]) -> None:
    """It is defined last and sets the other three, also to None."""
    three = [name for name in live["values"] if name.startswith("jax_transfer_guard_")]
    assert [spec(name, live["version"]).env for name in ("jax_transfer_guard", *three)] == [True, False, False, False]
    alone = child.told(LIVE, **dict.fromkeys(map(str.upper, three), "log"))["values"]
    umbrella = child.told(LIVE, JAX_TRANSFER_GUARD="log")["values"]
    assert {alone[name] for name in three} == {None}
    assert {umbrella[name] for name in three} == {"log"}


@pytest.mark.slow
def test_what_jax_refuses_we_refuse() -> None:
    """The same texts, given to a real jax by variable: it raises at import exactly where ``parse`` does."""
    tried = [
        *(("jax_debug_nans", text) for text in ("yes", "Off", "2", "")),
        *(("jax_tracer_error_num_traceback_frames", text) for text in ("4", "3.5")),
        *(("jax_numpy_rank_promotion", text) for text in ("warn", "Warn")),
    ]
    for name, text in tried:
        variable: dict[str, Any] = {name.upper(): text}
        # not a fork of a process that has imported jax: the import itself is what may raise
        ended = child.run(f"tell(__import__('jax').config.values[{name!r}])", **variable)
        try:
            expected = options.parse(spec(name), text)
        except ValueError:
            assert ended.status != 0 and "ValueError" in ended.stderr, (name, text)
        else:
            assert ended.value == expected, (name, text)


@pytest.mark.parametrize(
    "name", ["jax_enable_pgle", "jax_pgle_profiling_runs", "jax_optimization_level", "jax_platforms"]
)
@given(data=st.data())
def test_a_parsed_value_and_its_text_mean_the_same(name: str, data: st.DataObject) -> None:
    found = spec(name)
    value = data.draw(st.sampled_from(found.values) if found.values else st.booleans() | st.integers() | st.text())
    try:
        parsed = options.parse(found, value)
    except ValueError as refused:
        said = str(refused)
    else:
        said = f"{name}."
        assert options.parse(found, options.env_text(found, parsed)) == parsed
    assert name in said and said[-1] in ".?"


@given(value=st.floats(allow_nan=False))
def test_a_number_survives_as_text(value: float) -> None:
    found = spec("jax_persistent_cache_min_compile_time_secs")
    assert options.parse(found, options.env_text(found, options.parse(found, value))) == value


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("jax_enable_pgle", "ture", "takes true or false .*, not 'ture'. Did you mean 'true'?"),
        ("jax_enable_pgle", 2, "not 2."),
        ("jax_enable_pgle", None, "cannot be None"),
        ("jax_pgle_profiling_runs", "many", "a whole number, not 'many'."),
        ("jax_pgle_profiling_runs", True, "a whole number, not True."),
        ("jax_pgle_profiling_runs", 3.0, "a whole number, not 3.0."),
        ("jax_optimization_level", "o1", "one of UNKNOWN, O0, O1, O2, O3, not 'o1'. Did you mean 'O1'?"),
        ("jax_transfer_guard", "disalow", "or None, not 'disalow'. Did you mean 'disallow'?"),
        ("jax_platforms", 3, "a text, or None, not 3."),
        ("jax_pjrt_client_create_options", {"memory_fraction": 0.5}, "mapping of texts to texts"),
        ("jax_pjrt_client_create_options", {"a": "1;2"}, "mapping of texts to texts"),
        ("jax_pjrt_client_create_options", "memory_fraction=0.5", "name:value pairs .*, not 'memory_fraction=0.5'."),
        ("jax_default_device", {"gpu": "0"}, "a text, or None, not"),
        ("jax_cuda_visible_devices", "0,zzz", "numbers of GPUs joined by commas, not '0,zzz'."),
        ("jax_mock_gpu_topology", "2x4", "a text like 1x2x8 .*, not '2x4'."),
        ("jax_compilation_cache_dir", b"/cache", "a text, or None, not b'/cache'."),
        ("jax_persistent_cache_min_compile_time_secs", "soon", "a number, not 'soon'."),
    ],
)
def test_a_refusal_says_what_was_given_and_what_is_allowed(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        options.parse(spec(name), value)


def test_a_falsy_text_is_false() -> None:
    """Where ``jax.config.update`` would take it for true."""
    assert options.parse(spec("jax_enable_pgle"), "false") is False
    assert options.parse(spec("jax_enable_pgle"), 0) is False


@pytest.mark.parametrize("value", [True, False])
def test_every_word_for_a_boolean(value: bool) -> None:
    """Those of jax's own reader of variables (jax/_src/config.py: bool_env), in any case."""
    words = ("y", "yes", "t", "true", "on", "1") if value else ("n", "no", "f", "false", "off", "0")
    for word in words:
        assert (
            options.parse(spec("jax_enable_pgle"), word)
            is options.parse(spec("jax_enable_pgle"), word.upper())
            is value
        )
    for other in ("", "2", "ye", "ff", "es", "o"):
        with pytest.raises(ValueError, match="true or false"):
            options.parse(spec("jax_enable_pgle"), other)


BACKEND = """
import jax
from jax._src import xla_bridge
for name, value in TRIED:
    jax.config.update(name, value)
try:
    xla_bridge._options_from_jax_configs("cuda")
except (RuntimeError, ValueError) as refused:
    tell(True)
else:
    tell(False)
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_cuda_visible_devices", "all"),
        ("jax_cuda_visible_devices", "0, 1"),
        ("jax_cuda_visible_devices", "0,zzz"),
        ("jax_cuda_visible_devices", ""),
        ("jax_mock_gpu_topology", "1x2x8"),
        ("jax_mock_gpu_topology", "2x4"),
        ("jax_pjrt_client_create_options", ""),
        ("jax_pjrt_client_create_options", "a:1;b:x"),
        ("jax_pjrt_client_create_options", "a:1;"),
        ("jax_pjrt_client_create_options", "a=1"),
        ("jax_pjrt_client_create_options", "a:b:c"),
        ("jax_pjrt_client_create_options", {"a": "1"}),
    ],
)
def test_what_a_starting_backend_refuses_we_refuse(name: str, value: Any) -> None:
    """jax takes these as they come, and reads them when it makes the client of the CUDA plugin."""
    refused = child.told_warm(f"TRIED = {[(name, value)]!r}\n{BACKEND}")
    try:
        options.parse(spec(name), value)
    except ValueError:
        assert refused
    else:
        assert not refused


@pytest.mark.parametrize("kind", ["bool", "int", "float", "enum", "string", "object"])
def test_what_is_of_no_type_that_a_text_could_say_is_refused(kind: str) -> None:
    """Whatever else Python would make of it."""
    found = options.OptionSpec("jax_some", kind, ("a",))  # type: ignore[arg-type]
    for value in ([1], {"a"}, b"1", object(), 1j, *([True] if kind != "bool" else [])):
        with pytest.raises(ValueError, match=r"^jax_some takes "):
            options.parse(found, value)


def test_none_has_no_text() -> None:
    with pytest.raises(ValueError, match="has to be unset"):
        options.env_text(spec("jax_platforms"), None)


def test_texts_of_a_mapping() -> None:
    found = spec("jax_pjrt_client_create_options")
    assert options.env_text(found, options.parse(found, {"a": "1", "b": "x"})) == "a:1;b:x"


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("jax_enable_pgle", (("0.4.29", None),)),
        ("jax_spmd_mode", (("0.4.18", "0.6.0"),)),
        ("jax_exec_time_optimization_effort", (("0.4.36", "0.11.0"),)),
        ("jax_use_shardy", ()),
    ],
)
def test_life(name: str, spans: tuple[tuple[str, str | None], ...]) -> None:
    assert options.life(name) == spans
    assert options.known(name) == bool(spans)


def test_any_version_text_stands_for_a_release() -> None:
    assert options.option("jax_spmd_mode", "0.6.0.dev20250401") is not None
    assert options.option("jax_spmd_mode", "99.0") is None
    assert spec("jax_memory_fitting_level", "0.6.0+local").default == "UNKNOWN"
    assert options.option("jax_enable_pgle", None) == spec("jax_enable_pgle")


def test_closest() -> None:
    for near in ("enable_pgle", "--enable-pgle", "JAX_ENABLE_PGLE", "_enable_pgle", "jax-enable-pgle"):
        assert options.closest_option(near, NEWEST) == "jax_enable_pgle"
    for name in ("jax_enable_x64", "jax_platforms"):
        assert options.closest_option("__" + name, NEWEST) == name == options.closest_option(name[4:], NEWEST)
    assert options.closest_option("jax_enable_pgel", NEWEST) == "jax_enable_pgle"
    assert options.closest_option("jax_enable_pgel", "0.4.20") != "jax_enable_pgle"
    assert options.closest_option("something else entirely", NEWEST) is None


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("jax_platforms", "backend"),
        ("jax_cuda_visible_devices", "backend"),
        ("mock_num_gpu_processes", "backend"),
        ("jax_pjrt_client_create_options", "backend"),
        ("jax_enable_recoverability", "distributed"),
        ("jax_mtls_ca_file", "distributed"),
        ("jax_use_simplified_jaxpr_constants", "import"),
        ("jax_enable_pgle", "any"),
    ],
)
def test_moments(name: str, moment: str) -> None:
    assert spec(name).moment == moment


def test_only_options_of_some_release_have_a_moment_or_a_form() -> None:
    assert {*options._moments(), *options._forms()} <= set(DATA["options"])
