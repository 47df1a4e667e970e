"""The memory variables: nothing that would move the program to the CPU leaves, and the user learns what was meant."""

from __future__ import annotations

import pytest

from jaxgpu_tune import BadSetting, plan
from jaxgpu_tune.planning.settings.pool_variables import (
    ALLOCATOR,
    FRACTION_NAMES,
    NEW_FRACTION,
    OLD_FRACTION,
    PREALLOCATE,
    _check_preallocate,
    fraction_name,
)
from tests.fleet import codes, decision, machine


@pytest.mark.parametrize(
    ("given", "meant"),
    [("100", "0.75"), ("10", "0.1"), ("75%", "0.75"), ("nan", "0.75"), ("-1", "0.75"), ("0", "0.75"), ("inf", "0.75")],
)
def test_r31_r32_a_fraction_that_is_none_is_taken_out_and_the_meant_value_named(given: str, meant: str) -> None:
    report = plan("auto", machine=machine(), environ={OLD_FRACTION: given})
    (finding,) = [f for f in report.findings if f.code == "bad-variable"]
    assert report.environ[OLD_FRACTION] is None and meant in finding.hint and finding.severity == "error"


@pytest.mark.parametrize("given", [100, 10, 1.5, 0, -1, float("nan")])
def test_r31_as_an_argument_it_raises(given: float) -> None:
    with pytest.raises(BadSetting, match="memory_fraction="):
        plan("auto", machine=machine(), environ={}, memory_fraction=given)


def test_r32_both_spellings_of_a_tenth_are_one() -> None:
    assert plan("auto", machine=machine(), environ={}, memory_fraction=0.10).environ[NEW_FRACTION] == "0.1"
    assert plan("auto", machine=machine(), environ={OLD_FRACTION: ".10"}).findings == ()


def test_r36_above_one_needs_unified_memory() -> None:
    unified = {"TF_FORCE_UNIFIED_MEMORY": "1", OLD_FRACTION: "4.0"}
    assert plan("auto", machine=machine(), environ=unified).findings == ()
    asked = plan("auto", machine=machine(), environ={}, memory_fraction=3.2, env={"TF_FORCE_UNIFIED_MEMORY": "true"})
    assert asked.environ[NEW_FRACTION] == "3.2"


@pytest.mark.parametrize(("jaxlib", "stays"), [("0.11.2", NEW_FRACTION), ("0.4.30", OLD_FRACTION)])
def test_r35_exactly_one_fraction_stays_and_it_is_one_that_the_release_reads(jaxlib: str, stays: str) -> None:
    report = plan("auto", machine=machine(count=1, jaxlib=jaxlib), environ={OLD_FRACTION: "0.5", NEW_FRACTION: "0.6"})
    (gone,) = {OLD_FRACTION, NEW_FRACTION} - {stays}
    assert report.environ == {gone: None} and decision(report, stays).status == "kept"


def test_r35_the_new_name_on_a_release_that_does_not_read_it_moves_to_the_old() -> None:
    report = plan("auto", machine=machine(jaxlib="0.4.30"), environ={NEW_FRACTION: "0.6"})
    assert report.environ == {NEW_FRACTION: None, OLD_FRACTION: "0.6"} and "two-fractions" in codes(report)


def test_r35_the_users_own_name_is_kept() -> None:
    report = plan("auto", machine=machine(count=1), environ={OLD_FRACTION: "0.5"}, memory_fraction=0.8)
    assert report.environ == {OLD_FRACTION: "0.8"} and "overruled" in codes(report)


@pytest.mark.parametrize("given", ["FALSE", "no", "off", "f"])
def test_a_preallocate_that_jaxlib_takes_for_true_is_repaired(given: str) -> None:
    report = plan("auto", machine=machine(count=1), environ={PREALLOCATE: given})
    assert report.environ == {PREALLOCATE: "false"} and "variable-repaired" in codes(report)


def test_r40_allocators_are_those_of_the_release() -> None:
    assert plan("auto", machine=machine(), environ={}, allocator="cuda_malloc_async").environ[ALLOCATOR] == "cuda_async"
    with pytest.raises(BadSetting, match="cuda_async"):
        plan("auto", machine=machine(), environ={}, allocator="cuda_asinc")
    with pytest.raises(BadSetting, match="vmm"):
        plan("auto", machine=machine(jaxlib="0.9.2"), environ={}, allocator="vmm")


def test_r34_processes_share_the_total_memory() -> None:
    report = plan("auto", machine=machine(count=1), environ={}, processes_per_gpu=4)
    assert report.environ == {NEW_FRACTION: "0.22"}
    with pytest.raises(BadSetting, match="processes_per_gpu"):
        plan("auto", machine=machine(), environ={}, processes_per_gpu=4, memory_fraction=0.5)


def test_r43_auto_leaves_an_absolute_reserve_so_that_the_fraction_falls_with_the_card() -> None:
    small = {"gpus": [{"compute_capability": "7.5", "memory_bytes": 11 * 2**30, "count": 2}], "jaxlib": "0.11.2"}
    report = plan("auto", machine=small, environ={}, memory_fraction="auto")
    assert report.environ == {NEW_FRACTION: "0.81"} and "GiB" in decision(report, NEW_FRACTION).reason
    assert plan("auto", machine=machine(count=1), environ={}, memory_fraction="auto").environ == {NEW_FRACTION: "0.92"}


def test_r47_nothing_about_memory_changes_unasked() -> None:
    assert not [
        n
        for n in plan("auto", machine=machine(), environ={}).environ
        if "MEM" in n or "PREALLOC" in n or "ALLOCATOR" in n
    ]


@pytest.mark.parametrize(
    ("jaxlib", "warns"), [("0.4.21", False), ("0.4.22", True), ("0.4.23", True), ("0.4.24", False)]
)
def test_r33_a_release_that_ignores_the_memory_variables_is_named(jaxlib: str, warns: bool) -> None:
    inherited = plan("single_gpu", machine=machine(jaxlib=jaxlib), environ={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    asked = plan("single_gpu", machine=machine(jaxlib=jaxlib), environ={}, memory_fraction=0.5)
    neither = plan("single_gpu", machine=machine(jaxlib=jaxlib), environ={})
    assert ["memory-variables-ignored" in codes(r) for r in (inherited, asked, neither)] == [warns, warns, False]


@pytest.mark.parametrize(
    ("jaxlib", "there", "name"),
    [
        ("0.11.2", (), NEW_FRACTION),
        ("0.11.2", (OLD_FRACTION,), OLD_FRACTION),
        ("0.11.2", (NEW_FRACTION,), NEW_FRACTION),
        ("0.11.2", (OLD_FRACTION, NEW_FRACTION), NEW_FRACTION),
        ("0.4.30", (), OLD_FRACTION),
        ("0.4.30", (OLD_FRACTION, NEW_FRACTION), OLD_FRACTION),
        (None, (), NEW_FRACTION),
        (None, (OLD_FRACTION, NEW_FRACTION), NEW_FRACTION),
    ],
)
def test_r35_the_name_of_the_fraction_that_is_asked_for(jaxlib: str | None, there: tuple[str, ...], name: str) -> None:
    """The user's own where this release reads it; with both set the one that stays; of a build that is unknown the newest."""
    environ = dict.fromkeys(there, "0.5")
    assert fraction_name(environ, jaxlib) == name
    if jaxlib:
        report = plan("auto", machine=machine(count=1, jaxlib=jaxlib), environ=environ, memory_fraction=0.7)
        final = {**environ, **report.environ}
        assert {one: final.get(one) for one in FRACTION_NAMES if final.get(one)} == {name: "0.7"}


@pytest.mark.parametrize(
    ("text", "used", "hint"),
    [
        ("false", "false", ""),
        ("0", "0", ""),
        ("true", "true", ""),
        ("FALSE", "false", ""),
        (" off ", "false", ""),
        ("no", "false", ""),
        ("flase", "flase", "Did you mean false?"),
        ("ture", "ture", "Did you mean true?"),
        ("zzz", "zzz", "Write true or false."),
    ],
)
def test_a_word_for_preallocation_is_what_jaxlib_takes_it_for(text: str, used: str, hint: str) -> None:
    """What was meant is used where it is plain; else the nearest word is named."""
    found = _check_preallocate(text)
    assert (found.value, found.hint) == (used, hint)
    assert bool(found.note) is (text not in ("false", "0", "true"))
