"""What earlier calls asked for: until the user changes it, or a later call says otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding, Observation, Setting
from jaxgpu_tune.planning.base.wish import Stated
from jaxgpu_tune.planning.layers import earlier, explicit, recalled, struck, variables_asked
from jaxgpu_tune.planning.release.target import target_of
from jaxgpu_tune.planning.request import Request, make_request
from jaxgpu_tune.state import Layer
from tests.fleet import machine

HERE = target_of(machine())
NEW, OLD = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
GUARDS = tuple(f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
SAME = (
    {("env", NEW), ("env", OLD)},
    {("env", "NCCL_DEBUG")},
    {("jax_config", "jax_enable_x64"), ("env", "JAX_ENABLE_X64")},
    {("xla_flag", "xla_gpu_graph_level")},
    {("xla_flag", "xla_gpu_autotune_level")},
    {("env", "XLA_GPU_AUTOTUNE_LEVEL")},
)
"""Names that say the same thing; what is in different ones does not."""
NAMES = [name for names in SAME for name in sorted(names)]


def edit_of(kind: str, name: str) -> str:
    """How an edit of the user's is noted: a flag with its dashes, an option as its variable."""
    return {"xla_flag": f"--{name}", "jax_config": name.upper()}.get(kind, name)


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(0, 3), st.integers(0, 3))
def test_what_the_user_changed_since_is_the_users(
    asked: tuple[Any, str], edited: tuple[Any, str], call: int, after: int
) -> None:
    """By whichever of its names, and only if it was changed after the call that asked for it."""
    setting = Setting(*asked, "1", "asked for", "a call", call=call)
    seen = Observation(machine(), edits={edit_of(*edited): after})
    left = struck([setting], seen, HERE)
    found = [*left.settings, *left.findings]
    same = any({asked, edited} <= names for names in SAME)
    if same and after >= call:
        assert [one.code for one in found if isinstance(one, Finding)] == ["request-edited"] and len(found) == 1
        assert f"{asked[1]}=1 (a call) was changed" in found[0].message
        assert found[0].message.startswith("--") is (asked[0] == "xla_flag")
    else:
        assert found == [setting]


@given(st.sampled_from(GUARDS), st.booleans())
def test_the_umbrella_of_the_guards_is_all_of_them(guard: str, umbrella_edited: bool) -> None:
    names = ("jax_transfer_guard", guard)
    asked, edited = names if not umbrella_edited else names[::-1]
    setting = Setting("jax_config", asked, "log", "asked for", "a call", call=1)
    seen = Observation(machine(), edits={edited.upper(): 1})
    assert [one.code for one in struck([setting], seen, HERE).findings] == ["request-edited"]


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "memory_fraction": st.sampled_from((0.5, "auto")),
        "layer_bytes": st.integers(1, 9),
        "devices": st.integers(1, 9),
        "unmeasured": st.just(True),
    },
)
CALLS = st.lists(st.tuples(st.sampled_from(("auto", "fsdp", "decode")), ARGUMENTS), max_size=3)


@given(CALLS, st.tuples(st.sampled_from(("auto", "fsdp", "decode")), ARGUMENTS))
def test_the_last_that_says_a_thing_holds(calls: list[tuple[str, dict[str, Any]]], last: tuple[str, Any]) -> None:
    """Argument by argument, under the name of who asked; a named preset takes the place of another, and ``auto`` of none."""
    layers = [Layer(number, "configure()", {"preset": preset, **given}) for number, (preset, given) in enumerate(calls)]
    found = recalled(make_request(*last), layers)
    earlier = {name: (value, number) for number, (_, given) in enumerate(calls) for name, value in given.items()}
    for name, (value, number) in earlier.items():
        own = last[1].get(name)
        assert getattr(found, name) == (value if own is None else own)
        assert (name in found.remembered) is (own is None)
        assert own is not None or found.remembered[name] == ("an earlier configure()", number)
    overruled = {name for name, (value, _) in earlier.items() if last[1].get(name, value) != value}
    assert [one.code for one in found.notes].count("overruled") == len(overruled)
    named = [preset for preset, _ in calls if preset != "auto"]
    assert found.preset == (named[-1] if named and last[0] == "auto" else last[0])
    displaced = bool(named) and last[0] not in ("auto", named[-1])
    assert ("preset-displaced" in {one.code for one in found.notes}) is displaced


@pytest.mark.parametrize(
    ("former", "now", "both"),
    [("fsdp", "decode", "fsdp+decode"), ("fsdp", "fsdp+reproducible", "fsdp+reproducible")],
)
def test_a_displaced_preset_is_told_how_to_have_both(former: str, now: str, both: str) -> None:
    """Each preset of the two is named once."""
    (note,) = recalled(make_request(now, {}), [Layer(1, "configure()", {"preset": former})]).notes
    assert note.hint.startswith(f"For both, write {both};")


@given(st.sampled_from((0.25, 0.5, "auto")), st.integers(1, 4), st.booleans())
def test_a_share_of_the_memory_is_said_in_one_of_two_ways(fraction: Any, processes: int, turned: bool) -> None:
    """The later way holds; with ``auto`` both do."""
    said: list[dict[str, Any]] = [{"memory_fraction": fraction}, {"processes_per_gpu": processes}]
    first, second = said[::-1] if turned else said
    found = recalled(make_request("auto", second), [Layer(1, "configure()", first)])
    (name,) = first
    assert getattr(found, name) == (first[name] if fraction == "auto" else None)
    assert (name in found.remembered) is (fraction == "auto")
    assert [one.code for one in found.notes] == ([] if fraction == "auto" else ["overruled"])


def test_variables_that_calls_ask_for() -> None:
    """Of flags XLA_FLAGS, of options their variables; of a share of the memory those that are set."""
    arguments = {"flags": {"xla_gpu_autotune_level": 1}, "jax_config": {"jax_enable_x64": True}, "env": {"NCCL_DEBUG": "INFO"}}  # fmt: skip
    layers = [Layer(1, "configure()", arguments), Layer(2, "jaxgpu-tune run", {"memory_fraction": 0.5})]
    plain = {"XLA_FLAGS", "JAX_ENABLE_X64", "NCCL_DEBUG"}
    assert variables_asked(layers, {NEW: ".5", "A": ""}) == plain | {NEW}
    assert variables_asked(layers[:1], {NEW: ".5"}) == plain


def test_what_can_no_longer_be_had_is_told() -> None:
    found = recalled(make_request(), [Layer(1, "configure()", {"preset": "/gone.toml"})])
    assert [one.code for one in found.notes] == ["earlier-call-lost"] and found.preset == "auto"


def layer(number: int, **arguments: Any) -> Layer:
    """What one call asked for."""
    return Layer(number, "configure()", arguments)


def told(request: Request) -> list[tuple[str, str]]:
    """The codes and severities of what is to be said of earlier calls."""
    return [(one.code, one.severity) for one in request.notes]


def test_what_can_no_longer_be_had_is_told_and_the_other_calls_hold() -> None:
    """A preset that is no more, an argument that is wrong here."""
    calls = [
        layer(1, preset="no-such"),
        layer(2, devices=-1),
        layer(3, preset="nothing+fsdp"),
        layer(4, flags={"xla_a": 1}),
    ]
    found = recalled(make_request(), calls)
    assert told(found) == [("earlier-call-lost", "warning")] * 3
    assert [(one.name, one.value, one.call) for one in found.earlier] == [("xla_a", "1", 4)]
    assert found.preset == "auto" and "devices" not in found.remembered
    assert found.earlier[0].reason == f"asked for by {earlier(calls[3])}"


def test_what_a_fraction_becomes_is_whose_argument_it_is() -> None:
    """Of the call that gave it, in the order of the calls."""
    fraction = Stated((Setting("env", NEW, "0.4", "asked for", "argument memory_fraction"),))
    seen = Observation(machine())
    mine = make_request("auto", {"env": {"NCCL_DEBUG": "INFO"}})
    earlier_ones, own = explicit(mine, fraction, seen, HERE)
    assert earlier_ones.settings == () and [one.name for one in own.settings] == ["NCCL_DEBUG", NEW]
    calls = [layer(1, memory_fraction=0.4), layer(2, env={"NCCL_ALGO": "Ring"})]
    earlier_ones, own = explicit(recalled(mine, calls), fraction, seen, HERE)
    assert [(one.name, one.call) for one in earlier_ones.settings] == [(NEW, 1), ("NCCL_ALGO", 2)]
    assert earlier_ones.settings[0].source == f"{earlier(calls[0])}, argument memory_fraction"
    assert [one.name for one in own.settings] == ["NCCL_DEBUG"]
