"""The settings that the arguments of a call stand for, and what is wrong with an argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.arguments import Arguments
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.settings import from_arguments


def of(function: Any, *given_values: Any) -> tuple[list[tuple[str, str, Any]], list[Finding]]:
    """(kind, name, value) of each setting, and the problems."""
    problems: list[Finding] = []
    settings = list(function(*given_values, problems))
    return [(s.kind, s.name, s.value) for s in settings], problems


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("as it is", "as it is"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (0.25, "0.25"),
        (Path("/a/b"), "/a/b"),
        (["A", "B"], "A,B"),
        ((1, True), "1,true"),
        ([], ""),
    ],
)
def test_xlas_text_of_a_value(value: object, text: str | None) -> None:
    assert from_arguments.flag_text(value) == text


@pytest.mark.parametrize("value", [b"x", bytearray(b"x"), {"a": 1}, {1}, object(), [object()]])
def test_what_no_flag_takes(value: object) -> None:
    settings, (problem,) = of(from_arguments.flag_settings, {"xla_a": value})
    assert settings == [] and "flags['xla_a']" in problem.message and "None, not" in problem.message


def test_flags_by_name_with_or_without_dashes() -> None:
    settings, problems = of(from_arguments.flag_settings, {"--xla_a": 1, " xla_b ": None, "xla_c": "x"})
    assert settings == [("xla_flag", "xla_a", "1"), ("xla_flag", "xla_b", None), ("xla_flag", "xla_c", "x")]
    assert problems == []


@given(st.text())
def test_text_that_an_environment_can_hold(text: str) -> None:
    """Everything but NUL and halves of surrogate pairs."""
    held = "\0" not in text and not any("\ud800" <= c <= "\udc7f" or "\udd00" <= c <= "\udfff" for c in text)
    assert from_arguments.is_text(text) is held
    for function, name in ((from_arguments.flag_settings, "xla_a"), (from_arguments.env_settings, "A")):
        settings, problems = of(function, {name: text})
        assert (len(settings), len(problems)) == ((1, 0) if held else (0, 1))


def test_what_is_no_text_is_none() -> None:
    assert not from_arguments.is_text(3) and not from_arguments.is_text(None) and not from_arguments.is_text(b"x")
    with pytest.raises(BadSetting, match="a mapping of names to texts"):
        from_arguments.texts("environ", [("A", "b")])
    with pytest.raises(BadSetting, match="no NUL"):
        from_arguments.texts("environ", {"A": 3, "B": "x"})
    assert from_arguments.texts("environ", {"A": "b"}) == {"A": "b"}


def test_variables() -> None:
    settings, problems = of(from_arguments.env_settings, {"A": 1, "B": 0.5, "C": None, "D": Path("/x"), "E": ""})
    assert [value for _, _, value in settings] == ["1", "0.5", None, "/x", ""] and problems == []
    assert {kind for kind, _, _ in settings} == {"env"}


@pytest.mark.parametrize(
    "wrong", [{"A": True}, {"A": [1]}, {"": "x"}, {"A=B": "x"}, {"JAXGPU_TUNE": "off"}, {"A\0": "x"}]
)
def test_what_is_no_variable(wrong: dict[str, object]) -> None:
    settings, problems = of(from_arguments.env_settings, wrong)
    assert settings == [] and len(problems) == 1


def test_xla_flags_as_a_variable_are_its_flags() -> None:
    settings, problems = of(from_arguments.env_settings, {"XLA_FLAGS": "--xla_a --xla_b=2"})
    assert settings == [("xla_flag", "xla_a", "true"), ("xla_flag", "xla_b", "2")] and problems == []
    assert of(from_arguments.env_settings, {"XLA_FLAGS": None})[0] == [("env", "XLA_FLAGS", None)]
    for text in ("--xla_a stray", "flags.txt"):
        assert [
            p.message.startswith("env['XLA_FLAGS']") for p in of(from_arguments.env_settings, {"XLA_FLAGS": text})[1]
        ] == [True]


@pytest.mark.parametrize("name", ["flags", "env", "jax_config"])
@pytest.mark.parametrize("given_value", [3, "text", [("a", 1)], {3: 1}])
def test_each_mapping_is_one_of_names(name: str, given_value: object) -> None:
    function = {
        "flags": from_arguments.flag_settings,
        "env": from_arguments.env_settings,
        "jax_config": from_arguments.config_settings,
    }[name]
    settings, problems = of(function, given_value)
    assert settings == [] and problems and name in problems[0].message
    assert of(function, None) == ([], [])


def test_memory() -> None:
    both, problems = of(from_arguments.memory_settings, False, "platform")
    assert both == [
        ("env", "XLA_PYTHON_CLIENT_PREALLOCATE", "false"),
        ("env", "XLA_PYTHON_CLIENT_ALLOCATOR", "platform"),
    ]
    assert problems == [] and of(from_arguments.memory_settings, True, None)[0][0][2] == "true"
    assert of(from_arguments.memory_settings, None, None) == ([], [])
    nothing, wrong = of(from_arguments.memory_settings, "no", 3)
    assert nothing == [] and len(wrong) == 2


def test_guards_go_each_way() -> None:
    settings, problems = of(from_arguments.guard_settings, "log")
    assert [name.removeprefix("jax_transfer_guard_") for _, name, _ in settings] == [
        "host_to_device",
        "device_to_device",
        "device_to_host",
    ]
    assert {value for _, _, value in settings} == {"log"} and problems == []
    assert of(from_arguments.guard_settings, None) == ([], [])
    assert (
        of(from_arguments.guard_settings, "lag")[0] == []
        and "log" in of(from_arguments.guard_settings, "lag")[1][0].message
    )


def test_the_cache() -> None:
    assert of(from_arguments.cache_settings, None) == ([], [])
    assert of(from_arguments.cache_settings, False)[0] == [("jax_config", "jax_enable_compilation_cache", False)]
    for folder in ("/cache", Path("/cache")):
        assert of(from_arguments.cache_settings, folder) == (
            [("jax_config", "jax_compilation_cache_dir", "/cache")],
            [],
        )
    for wrong in (True, 3, "", "a\0b"):
        assert (
            of(from_arguments.cache_settings, wrong)[0] == [] and len(of(from_arguments.cache_settings, wrong)[1]) == 1
        )


def test_cuda_graphs() -> None:
    assert of(from_arguments.graph_settings, False)[0] == [("xla_flag", "xla_gpu_enable_command_buffer", "")]
    assert of(from_arguments.graph_settings, True)[0] == [
        ("xla_flag", "xla_gpu_enable_command_buffer", from_arguments.BUILD_DEFAULT)
    ]
    assert of(from_arguments.graph_settings, None) == ([], []) and len(of(from_arguments.graph_settings, "no")[1]) == 1


def test_profiles(tmp_path: Path) -> None:
    assert of(from_arguments.pgle_settings, None) == ([], [])
    assert of(from_arguments.pgle_settings, "auto")[0] == [("jax_config", "jax_enable_pgle", True)]
    assert of(from_arguments.pgle_settings, "expect")[0] == [
        ("jax_config", "jax_compilation_cache_expect_pgle", True),
        ("jax_config", "jax_enable_pgle", False),
    ]


@pytest.mark.parametrize(
    ("path", "found", "sound"),
    [
        *(("/p/a.pb", found, found != "absent") for found in ("file", "folder", "absent", None)),
        *(("/p/a.pbtxt", found, found != "absent") for found in ("file", "absent", None)),
        *(("/p/a.txt", found, found == "folder") for found in ("file", "folder", "absent", None)),
        *(("/p/a", found, found in ("folder", None)) for found in ("file", "folder", "absent", None)),
    ],
)
def test_profiles_by_what_is_there(path: str, found: str | None, sound: bool) -> None:
    """Of one on another machine (None) the name alone is judged: its ending, or none as a folder's."""
    profiles = {} if found is None else {path: found}
    settings, problems = of(lambda *given: from_arguments.pgle_settings(*given, profiles), Path(path))
    assert settings == ([("xla_flag", from_arguments.PROFILE_FLAG, path)] if sound else [])
    assert len(problems) == (not sound)
    assert len(of(from_arguments.pgle_settings, 3)[1]) == 1


def test_a_choice_names_the_nearest() -> None:
    (wrong,) = from_arguments.choice("prefer", "presett", ("existing", "preset"))
    assert "presett" in wrong.message and "existing" in wrong.message
    assert list(from_arguments.choice("prefer", "preset", ("existing", "preset"))) == []
    assert [len(list(from_arguments.booleans(a=value))) for value in (None, True, False, 1, "x")] == [0, 0, 0, 1, 1]


def test_every_setting_says_which_argument_stands_for_it() -> None:
    """By the argument's own name."""
    given_settings = {
        "flags": lambda problems: from_arguments.flag_settings({"xla_a": 1}, problems),
        "env": lambda problems: from_arguments.env_settings({"A": "1", "XLA_FLAGS": "--xla_a=1"}, problems),
        "jax_config": lambda problems: from_arguments.config_settings({"jax_enable_x64": True}, problems),
        "preallocate": lambda problems: from_arguments.memory_settings(True, None, problems),
        "allocator": lambda problems: from_arguments.memory_settings(None, "bfc", problems),
        "transfer_guard": lambda problems: from_arguments.guard_settings("log", problems),
        "compilation_cache": lambda problems: [
            *from_arguments.cache_settings("/tmp/x", problems),
            *from_arguments.cache_settings(False, problems),
        ],
        "cuda_graphs": lambda problems: from_arguments.graph_settings(True, problems),
        "pgle": lambda problems: [
            *(one for way in ("auto", "expect", "/p.pb") for one in from_arguments.pgle_settings(way, problems))
        ],
        "platform": lambda problems: from_arguments.platform_settings("cpu", problems),
    }
    for name, made in given_settings.items():
        problems: list[Finding] = []
        settings = list(made(problems))
        assert settings and problems == [] and name in Arguments.__annotations__
        assert {(one.argument, one.source) for one in settings} == {(name, f"argument {name}")}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("allocator", lambda problems: from_arguments.memory_settings(None, 3, problems)),
        ("preallocate", lambda problems: from_arguments.memory_settings("yes", None, problems)),
        ("transfer_guard", lambda problems: from_arguments.guard_settings("lock", problems)),
        ("compilation_cache", lambda problems: from_arguments.cache_settings(True, problems)),
        ("cuda_graphs", lambda problems: from_arguments.graph_settings("no", problems)),
        ("pgle", lambda problems: from_arguments.pgle_settings(3, problems)),
        ("platform", lambda problems: from_arguments.platform_settings("gpu", problems)),
        ("jax_config['a']", lambda problems: from_arguments.config_settings({"a": "x\0"}, problems)),
        ("flags['a']", lambda problems: from_arguments.flag_settings({"a": "x\0"}, problems)),
        ("env['A']", lambda problems: from_arguments.env_settings({"A": "x\0"}, problems)),
    ],
)
def test_what_is_wrong_is_told_by_the_arguments_name(name: str, wrong: Any) -> None:
    problems: list[Finding] = []
    list(wrong(problems))
    (finding,) = problems
    assert (finding.code, finding.severity) == ("bad-argument", "error")
    assert finding.message.startswith(f"{name}=")
