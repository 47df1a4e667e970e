"""How people write the name of a flag: every dash, blank and invisible character that an editor or a chat puts there."""

from __future__ import annotations

import sys
from unicodedata import lookup

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.planning.xla_flags.spelling import DASHES, INVISIBLE, ODD_BLANKS, Spelling, Vocabulary, spell
from tests.fleet import machine

DASH_NAMES = (
    *("HYPHEN", "NON-BREAKING HYPHEN", "FIGURE DASH", "EN DASH", "EM DASH", "HORIZONTAL BAR", "HYPHEN BULLET"),
    *("MINUS SIGN", "SMALL EM DASH", "SMALL HYPHEN-MINUS", "FULLWIDTH HYPHEN-MINUS"),
)
INVISIBLE_NAMES = (
    *("SOFT HYPHEN", "ZERO WIDTH SPACE", "ZERO WIDTH NON-JOINER", "ZERO WIDTH JOINER", "WORD JOINER"),
    "ZERO WIDTH NO-BREAK SPACE",
)
FLAGS = {"xla_gpu_autotune_level": False, "xla_gpu_enable_triton_gemm": True, "xla_no_true": True}
WORDS = Vocabulary(FLAGS.__contains__, lambda name: None, FLAGS.get)


def result(text: str) -> str:
    """What becomes of XLA_FLAGS on jaxlib 0.11.2."""
    return plan("single_gpu", machine=machine(count=1), environ={"XLA_FLAGS": text}).xla_flags


@pytest.mark.parametrize("name", DASH_NAMES)
def test_every_dash_is_meant_as_one(name: str) -> None:
    """Before a name, and within it for an underscore."""
    dash = lookup(name)
    assert result(f"{dash}{dash}xla_gpu_autotune_level=2") == "--xla_gpu_autotune_level=2"
    assert result(f"--xla_gpu{dash}autotune_level=2") == "--xla_gpu_autotune_level=2"


@pytest.mark.parametrize("name", INVISIBLE_NAMES)
def test_an_invisible_character_is_taken_out_of_a_name(name: str) -> None:
    assert result(f"--xla_gpu_auto{lookup(name)}tune_level=2") == "--xla_gpu_autotune_level=2"
    assert spell(f"xla_gpu_autotune_level{lookup(name)}", bare=False, words=WORDS).wrong.startswith("an invisible")


@pytest.mark.parametrize("blank", sorted(set(filter(str.isspace, map(chr, range(sys.maxunicode)))) - set(" \t\n\r")))
def test_every_blank_that_xla_does_not_know_separates(blank: str) -> None:
    """The eye sees two flags."""
    found = result(f"--xla_gpu_autotune_level=2{blank}--xla_gpu_enable_triton_gemm=false")
    assert found == "--xla_gpu_autotune_level=2 --xla_gpu_enable_triton_gemm=false"


def test_the_tables_hold_each_once_and_nothing_else() -> None:
    assert sorted(DASHES) == sorted(["-", *map(lookup, DASH_NAMES)])
    assert sorted(INVISIBLE) == sorted(map(lookup, INVISIBLE_NAMES))
    assert len(set(ODD_BLANKS)) == len(ODD_BLANKS) and all(map(str.isspace, ODD_BLANKS))


@given(st.sampled_from(sorted(FLAGS)), st.data())
def test_case_and_dashes_do_not_hide_a_name(name: str, data: st.DataObject) -> None:
    """However it is written, the flag is known, and what was wrong is said."""
    changed = [data.draw(st.sampled_from([c, c.upper(), *(DASHES if c == "_" else "")])) for c in name]
    found = spell("".join(changed), bare=False, words=WORDS)
    assert (found.name, found.known) == (name, True)
    assert bool(found.wrong) is ("".join(changed) != name)


@pytest.mark.parametrize(
    ("written", "bare", "expected"),
    [
        ("noxla_gpu_enable_triton_gemm", True, ("xla_gpu_enable_triton_gemm", True, "false")),
        ("no_xla_gpu_enable_triton_gemm", True, ("xla_gpu_enable_triton_gemm", True, "false")),
        ("noxla_gpu_enable_triton_gemm", False, ("noxla_gpu_enable_triton_gemm", False, None)),
        ("noxla_gpu_autotune_level", True, ("noxla_gpu_autotune_level", False, None)),
        ("xla_gpu_enable_triton_gemm_true", True, ("xla_gpu_enable_triton_gemm", True, "true")),
        ("xla_gpu_enable_triton_gemm:false", True, ("xla_gpu_enable_triton_gemm", True, "false")),
        ("xla_gpu_enable_triton_gemm-false", True, ("xla_gpu_enable_triton_gemm", True, "false")),
        ("xla_gpu_enable_triton_gemmfalse", True, ("xla_gpu_enable_triton_gemmfalse", False, None)),
        ("xla_gpu_autotune_level_true", True, ("xla_gpu_autotune_level_true", False, None)),
        ("xla_no_true", True, ("xla_no_true", True, None)),
    ],
)
def test_a_value_within_the_name_is_found_where_no_other_follows(
    written: str, bare: bool, expected: tuple[str, bool, str | None]
) -> None:
    """Of a bool alone; a flag that is called so is that flag."""
    found: Spelling = spell(written, bare=bare, words=WORDS)
    assert (found.name, found.known, found.value) == expected


def test_what_looks_like_xlas() -> None:
    assert WORDS.is_xla("xla_gpu_autotune_level") and WORDS.is_xla("XLA-new") and not WORDS.is_xla("tf_xla_flag")
