"""What the reader of a variable makes of its value, and names that are close to one that is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.knowledge.variables import variable
from jaxgpu_tune.planning.settings.pool_variables import (
    ALLOCATOR,
    COLLECTIVE_POOL,
    NEW_FRACTION,
    OLD_FRACTION,
    PREALLOCATE,
    UNIFIED,
    Checked,
    has_unified_memory,
    meant_fraction,
)
from jaxgpu_tune.planning.settings.variable_checks import check_variable, name_finding

JAXLIB = "0.11.2"
SWITCH = "NCCL_NVLS_ENABLE"


def checked(name: str, value: str | None, unified: bool = False) -> Checked:
    """What comes of a variable."""
    return check_variable(name, value, JAXLIB, unified)


def fine(name: str, value: str, unified: bool = False) -> bool:
    """Whether it stays as it is, without a word."""
    return checked(name, value, unified) == Checked(value)


@given(st.floats(allow_nan=True), st.sampled_from([OLD_FRACTION, NEW_FRACTION]), st.booleans())
def test_a_fraction_is_above_none_and_at_most_one(number: float, name: str, unified: bool) -> None:
    """Above one only with unified memory."""
    sound = 0 < number < float("inf") and (number <= 1 or unified)
    assert fine(name, repr(number), unified) is sound
    assert bool(checked(name, repr(number), unified).problem) is not sound


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("75%", "0.75"),
        ("80", "0.8"),
        ("0.5x", ""),
        ("1.5", "0.75"),
        ("2", "0.75"),
        ("3.2", "0.75"),
        ("5%", "0.05"),
        ("0.5%", "0.005"),
        ("10", "0.1"),
        ("100", "0.75"),
        ("99", "0.99"),
        ("1", "1"),
    ],
)
def test_what_was_probably_meant(text: str, meant: str) -> None:
    assert (f"Did you mean {meant}?" in meant_fraction(text)) if meant else "Allowed: above 0" in meant_fraction(text)


def test_an_empty_fraction_is_none_to_jaxlib() -> None:
    assert fine(OLD_FRACTION, "") and checked(OLD_FRACTION, None) == Checked(None)


@pytest.mark.parametrize(
    ("value", "used"),
    [
        *((word, "false") for word in ("FALSE", "no", "off", "n", "f", " 0 ")),
        *((word, None) for word in ("false", "False", "0", "true", "1", "yes")),
    ],
)
def test_preallocation(value: str, used: str | None) -> None:
    """jaxlib knows three words for no."""
    found = checked(PREALLOCATE, value)
    assert found.value == (used or value) and bool(found.note) is (used is not None) and not found.problem


@pytest.mark.parametrize("value", ["", "0", "1", "true", "False", "TRUE"])
def test_unified_memory(value: str) -> None:
    assert fine(UNIFIED, value)
    assert has_unified_memory({UNIFIED: value}) is (value.lower() in ("1", "true"))
    assert not has_unified_memory({}) and not has_unified_memory({UNIFIED: None})


@pytest.mark.parametrize(("value", "meant"), [("yes", "true"), ("off", "false"), ("2", "true"), (" no ", "false")])
def test_other_words_for_unified_memory_are_false_to_xla(value: str, meant: str) -> None:
    assert checked(UNIFIED, value).hint == f"Did you mean {meant}?"


@pytest.mark.parametrize(
    ("value", "used", "near"),
    [
        ("bfc", "bfc", None),
        ("BFC", "BFC", None),
        ("cuda_malloc_async", "cuda_async", None),
        (" platform", "platform", None),
        ("plattform", "plattform", "platform"),
        ("vmm", "vmm", None),
        ("zzz", "zzz", ""),
    ],
)
def test_allocators(value: str, used: str, near: str | None) -> None:
    """In any case; the name that was advised once is the one that it means."""
    found = checked(ALLOCATOR, value)
    assert found.value == used and bool(found.problem) is (near is not None)
    assert bool(found.note) is (used != value)
    assert not near or f"Did you mean {near!r}?" in found.hint
    assert check_variable(ALLOCATOR, "vmm", "0.9.2", False).problem


@pytest.mark.parametrize(
    ("name", "value", "good"),
    [
        (COLLECTIVE_POOL, "", True),
        (COLLECTIVE_POOL, "512", True),
        (COLLECTIVE_POOL, "0", True),
        (COLLECTIVE_POOL, "8796093022207", True),
        (COLLECTIVE_POOL, "8796093022208", False),
        (COLLECTIVE_POOL, "-1", False),
        (COLLECTIVE_POOL, "1GB", False),
        ("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "", False),
        ("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "-1", True),
        ("XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "true", False),
    ],
)
def test_whole_numbers(name: str, value: str, good: bool) -> None:
    assert bool(checked(name, value).problem) is not good and checked(name, value).value == value


@pytest.mark.parametrize(("value", "used"), [("true", "1"), ("ON", "1"), (" yes ", "1"), ("false", "0"), ("n", "0")])
def test_words_where_nccl_reads_a_number(value: str, used: str) -> None:
    """It takes every word for 0."""
    found = checked(SWITCH, value)
    assert (found.value, found.problem) == (used, "") and f"{used} is used" in found.note


@pytest.mark.parametrize("value", ["1x", "one", "1.5", "--1", "0x"])
def test_what_is_no_number_to_nccl(value: str) -> None:
    assert "is not a whole number" in checked(SWITCH, value).problem


def test_a_number_within_its_bounds() -> None:
    name = "CUDA_DEVICE_MAX_CONNECTIONS"
    spec = variable(name)
    assert spec is not None and spec.lowest is not None and spec.highest is not None
    assert fine(name, str(spec.lowest)) and fine(name, str(spec.highest)) and fine(name, hex(spec.highest))
    for wrong in (spec.lowest - 1, spec.highest + 1):
        found = checked(name, str(wrong))
        assert "out of range" in found.problem and f"from {spec.lowest} to {spec.highest}" in found.hint


@pytest.mark.parametrize(
    ("value", "used", "wrong"),
    [
        ("Ring", "Ring", ""),
        ("ring,TREE", "ring,TREE", ""),
        ("^Ring", "^Ring", ""),
        ("Ring, Tree", "Ring,Tree", ""),
        ("allreduce:ring;broadcast:^tree", "allreduce:ring;broadcast:^tree", ""),
        ("Rng", "Rng", "'Rng'"),
        ("Ring,Rng,Tre", "Ring,Rng,Tre", "'Rng', 'Tre'"),
    ],
)
def test_lists_of_nccl(value: str, used: str, wrong: str) -> None:
    """A member that it does not know fails its first communicator."""
    found = checked("NCCL_ALGO", value)
    assert found.value == used and (wrong in found.problem if wrong else not found.problem)
    assert bool(found.note) is (used != value)


@pytest.mark.parametrize(
    ("value", "used", "good"), [("LAZY", "LAZY", True), ("lazy", "LAZY", True), ("LAZ", "LAZ", False)]
)
def test_words(value: str, used: str, good: bool) -> None:
    found = checked("CUDA_MODULE_LOADING", value)
    assert found.value == used and bool(found.problem) is not good and bool(found.note) is (good and used != value)


@pytest.mark.parametrize("name", [SWITCH, "NCCL_DEBUG", OLD_FRACTION])
def test_what_stands_around_a_value_comes_off(name: str) -> None:
    """Quotes of a .env file; of a variable that only a program reads they stay."""
    plain = {SWITCH: "1", "NCCL_DEBUG": "INFO", OLD_FRACTION: "0.5"}[name]
    found = checked(name, f"'{plain}'")
    assert (found.value, found.problem) == (plain, "") and "read with what stands around" in found.note
    assert fine("MY_OWN", "'x'") and checked("CUDA_VISIBLE_DEVICES", "'0'").value == "'0'"


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("NCCL_NVLS_ENABLED", "unknown-variable", "NCCL_NVLS_ENABLE"),
        ("CUDA_DEVICE_MAX_CONNECTION", "unknown-variable", "CUDA_DEVICE_MAX_CONNECTIONS"),
        ("JAX_COMPILATION_CACHE_DIRS", "unknown-variable", "JAX_COMPILATION_CACHE_DIR"),
        ("JAX_CUDA_VISIBLE_DEVICES", "variable-without-reader", "jax_cuda_visible_devices"),
        ("JAX_TRANSFER_GUARD_HOST_TO_DEVICE", "variable-without-reader", "JAX_TRANSFER_GUARD"),
        ("NCCL_DEBUG", None, ""),
        ("NCCL_VERSION", None, ""),
        ("JAX_PLATFORMS", None, ""),
        ("HOME", None, ""),
        ("NCCL_SOMETHING_ENTIRELY_NEW", None, ""),
    ],
)
def test_names(name: str, code: str | None, told: str) -> None:
    """Close to one that is read, or of an option that has no variable; all others are nobody's business."""
    found = name_finding(name, "0.11.2")
    if code is None:
        assert found is None
    else:
        assert found is not None and found.code == code and told in f"{found.message} {found.hint}"


@given(st.sampled_from(["JAXGPU_TUNE_PRESET", "JAXGPU_TUNE_MACHINE"]), st.integers(12, 17))
def test_a_slip_in_a_name_of_our_own_names_the_right_one(name: str, place: int) -> None:
    """A letter that is missing; what is near to none lists them all."""
    assert name_finding(name, JAXLIB) is None and name_finding("JAXGPU_TUNE", JAXLIB) is None
    found = name_finding(name[:place] + name[place + 1 :], JAXLIB)
    assert found is not None and found.code == "unknown-variable" and found.hint == f"Did you mean {name}?"
    other = name_finding("JAXGPU_TUNE_QQQQQQQQQQ", JAXLIB)
    assert other is not None and other.hint.startswith("Its variables are JAXGPU_TUNE, JAXGPU_TUNE_PRESET and")


@pytest.mark.parametrize(("words", "number"), [("true yes on y t", "1"), ("false no off n f", "0")])
def test_a_word_where_a_number_is_read_is_the_number_that_is_meant(words: str, number: str) -> None:
    """Its reader would take every word for 0, or for nothing."""
    for word in words.split():
        for text in (word, word.upper(), f" {word} "):
            found = checked(SWITCH, text)
            assert (found.value, found.problem) == (number, "") and f"{number} is used" in found.note
    for other in ("ff", "rue", "es", "maybe"):
        assert checked(SWITCH, other).problem
