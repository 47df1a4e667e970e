"""Options that need each other, and those that would end or stall the program: kept where they are set already, else left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Observation, Setting
from jaxgpu_tune.planning.base.conditions import Facts
from jaxgpu_tune.planning.base.wish import Wish
from jaxgpu_tune.planning.findings.option_needs import CLIENT_OPTIONS, check_options, companions, refused_here
from jaxgpu_tune.planning.in_force import Settled
from tests.fleet import machine

PGLE, GUARD, CACHE = "jax_enable_pgle", "jax_transfer_guard_host_to_device", "jax_compilation_cache_dir"
NO_JIT, NO_NANS, NO_INFS = "jax_disable_jit", "jax_debug_nans", "jax_debug_infs"
ORIGINS = st.sampled_from(["argument", "existing", "preset", "request"])


def wish(name: str, value: Any, origin: Any = "argument", kind: Any = "jax_config") -> Wish:
    """One that got so far."""
    return Wish(kind, name, value, origin, "", "mine")


def refused(wishes: list[Wish], facts: Facts = Facts("0.11.2", processes=1), **seen: Any) -> tuple[list[Any], ...]:  # noqa: B008 - a frozen value
    """Wishes that are left, decisions, findings, problems."""
    found = refused_here(tuple(wishes), facts, Observation(machine(count=1), **seen), "existing")
    return tuple(map(list, (found.wishes, found.decisions, found.findings, found.problems)))


@given(
    ORIGINS,
    st.sampled_from([True, False]),
    st.sampled_from(["0.4.30", "0.4.31", "0.11.2"]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from(["", "NSYS_X", "CUDA_INJECTION64_PATH", "NSYX"]),
)
def test_pgle_is_for_one_process_that_no_tool_watches(
    origin: Any, value: bool, jaxlib: str, processes: Any, tool: str
) -> None:
    """And for a release that keeps the costs; what is set already stays, and is told."""
    why = "loses the costs" if jaxlib == "0.4.30" else f"{tool} tells of a tool" if tool in ("NSYS_X", "CUDA_INJECTION64_PATH") else ""  # fmt: skip
    why = why or {None: "an unknown number of processes", 1: "", 2: "this job has 2 processes"}[processes]
    mine = wish(PGLE, value, origin)
    environ = {tool: "1", "NSYS_EMPTY": ""} if tool else {"NSYS_EMPTY": ""}
    left, decisions, findings, _ = refused([mine], Facts(jaxlib, processes=processes), environ=environ)
    stays = origin == "existing" or not (value and why)
    assert left == [mine] * stays
    assert [one.status for one in decisions] == ["unmet"] * (not stays)
    assert [(one.code, one.severity) for one in findings] == [("pgle-refused", "warning")] * bool(value and why)
    assert all(why in one.message and ("set already" in one.message) is stays for one in findings)


@given(
    st.sampled_from(["disallow", "disallow_explicit", "log", "allow"]),
    st.dictionaries(st.sampled_from([NO_JIT, NO_NANS, NO_INFS]), st.tuples(st.booleans(), ORIGINS)),
    st.booleans(),
)
def test_a_strict_guard_beside_what_fetches_every_result(level: str, others: dict[str, Any], turned: bool) -> None:
    """An argument's word on an option counts before what is set already, whichever comes first."""
    wishes = [wish(name, value, origin) for name, (value, origin) in others.items()] + [wish(GUARD, level)]
    left, _, findings, _ = refused(wishes[::-1] if turned else wishes)
    bad = level.startswith("disallow") and any(value for value, _ in others.values())
    assert (wish(GUARD, level) in left) is not bad
    assert [one.code for one in findings] == ["guard-refused"] * bad
    named = [name for name in (NO_JIT, NO_NANS, NO_INFS) if others.get(name, (False,))[0]]
    assert all(f"with {named[0]} every" in one.message for one in findings)


@given(ORIGINS, st.sampled_from(["CUDA_MODULE_LOADING", "NCCL_DEBUG"]), st.booleans())
def test_cudas_variables_once_cuda_has_started(origin: Any, name: str, started: bool) -> None:
    mine = wish(name, "1", origin, "env")
    left, decisions, findings, _ = refused([mine], modules=frozenset({"torch.cuda"} if started else {"torch"}))
    missed = started and origin != "existing" and name.startswith("CUDA_")
    assert left == [mine] * (not missed) and [(one.status, one.value) for one in decisions] == [("late", "1")] * missed
    assert [one.code for one in findings] == ["cuda-started"] * missed


@pytest.mark.parametrize(("value", "wrong"), [(None, ""), ("a:1", ""), ("preallocate:0;a:1", "preallocate"), ({"node_id": "1", " num_nodes": "2"}, "node_id, num_nodes")])  # fmt: skip
@pytest.mark.parametrize("origin", ["existing", "argument"])
@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_options_of_the_client_are_texts(value: Any, wrong: str, origin: str, platform: str) -> None:
    """What it takes as a number it cannot be given so; on the CPU there is no such client."""
    facts = Facts("0.11.2", processes=1, platform=platform)
    left, decisions, findings, _ = refused([wish(CLIENT_OPTIONS, value, origin)], facts)
    bad = bool(wrong) and platform != "cpu"
    assert bool(left) is not bad
    assert [one.status for one in decisions] == ["dropped" if origin == "existing" else "unmet"] * bad
    assert [(one.code, one.severity) for one in findings] == [("client-options", "error")] * bad
    assert all(f"no text for {wrong} and" in one.message for one in findings)


@given(st.sampled_from(["0.4.30", "0.4.31", "0.5.0", "0.5.1", None]), st.booleans(), st.booleans())
def test_autopgle_turns_the_scheduler_on_where_nothing_else_reads_profiles(jax: Any, value: bool, named: bool) -> None:
    setting = Setting("jax_config", PGLE if named else NO_NANS, value, "", "argument pgle")
    found = list(companions([setting], jax))
    needed = named and value and jax in ("0.4.31", "0.5.0")
    assert [(one.kind, one.value) for one in found] == [("xla_flag", "true")] * needed
    assert all(one.name == "xla_gpu_enable_latency_hiding_scheduler" for one in found)


@given(st.sampled_from([None, "", "/cache", "gs://b/c"]), st.booleans())
def test_a_cache_keeps_short_compilations_and_at_an_address_no_files_of_xlas(folder: Any, argument: bool) -> None:
    name = "compilation_cache" if argument else "jax_config"
    asked_for = Setting("jax_config", CACHE, folder, "", "", argument=name)
    found = {one.name: one.value for one in companions([asked_for], "0.11.2")}
    asked = argument and bool(folder)
    expected = {"jax_persistent_cache_min_compile_time_secs": 0.0} if asked else {}
    expected |= {"jax_persistent_cache_enable_xla_caches": "none"} if asked and "://" in folder else {}
    assert found == expected


@given(
    st.sampled_from([None, "", "/c", "gs://c", "~/c", "~ann", "$HOME/c", "${X}", "/a$", "a~", "gs://$B"]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "none", "", "all"]),
)
def test_what_options_ask_of_each_other(folder: Any, expect: Any, caches: Any) -> None:
    """A profile run's cache has to be there; an address takes no files of XLA's; no path is a shell's."""
    given_as = {CACHE: folder, "jax_compilation_cache_expect_pgle": expect, "jax_persistent_cache_enable_xla_caches": caches}  # fmt: skip
    found = {one.code: one.severity for one in check_options(Settled.of(wish(*pair) for pair in given_as.items()))}
    expected = {"pgle-needs-cache": "error"} if expect and not folder else {}
    expected |= {"cache-address": "warning"} if "://" in (folder or "") and caches not in ("none", "") else {}
    expected |= {"unexpanded-path": "warning"} if folder in ("~/c", "~ann", "$HOME/c", "${X}") else {}
    assert found == expected


@pytest.mark.parametrize("folder", ["/cache", "gs://cache", "", None])
@pytest.mark.parametrize("folder_origin", ["argument", "existing"])
@pytest.mark.parametrize("on", [True, False, None])
@pytest.mark.parametrize("origin", ["argument", "existing"])
def test_a_cache_that_is_switched_off_already(folder: Any, folder_origin: str, on: Any, origin: str) -> None:
    """JAX_ENABLE_COMPILATION_CACHE=0 makes a directory useless in silence; compilation_cache=False asks for it, so nothing is told."""
    wishes = [wish(CACHE, folder, folder_origin), wish("jax_enable_compilation_cache", on, origin)]
    codes = [one.code for one in check_options(Settled.of(wishes))]
    assert ("cache-off" in codes) == (bool(folder) and on is False and origin == "existing")


@pytest.mark.parametrize(("value", "strange"), [("cuda,cpu", ""), ("gpx", "gpx"), ("cuda,foo", "foo"), ("", "")])
def test_platforms_that_jax_does_not_know(value: str, strange: str) -> None:
    found = list(check_options(Settled.of([wish("jax_platforms", value)])))
    assert [one.code for one in found] == ["unknown-platform"] * bool(strange)
    assert all(f"names {strange}, which" in one.message for one in found)
