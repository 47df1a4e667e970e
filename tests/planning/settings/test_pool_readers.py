"""What jaxlib's own reader makes of the memory variables that are left: it never raises, which would move the program to the CPU."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgpu_tune
from jaxgpu_tune.planning.settings.pool_variables import (
    ALLOCATOR,
    COLLECTIVE_POOL,
    NEW_FRACTION,
    OLD_FRACTION,
    PREALLOCATE,
    UNIFIED,
)
from tests.fleet import machine
from tests.pool_reader import Reader, installed_reader, reader_in
from tools.read_flags.wheels import Wheel, download

OTHERS = ("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT")
NAMES = (OLD_FRACTION, NEW_FRACTION, PREALLOCATE, ALLOCATOR, COLLECTIVE_POOL, UNIFIED, *OTHERS)
INT64 = 2**63
INSTALLED = str(jaxgpu_tune.detect().jaxlib)
SOUND = (
    "0.75",
    ".5",
    "1",
    "0",
    "true",
    "false",
    "False",
    "bfc",
    "default",
    "platform",
    "cuda_async",
    "vmm",
    "address",
    "512",
)
DAMAGED = (
    *("", " ", "nan", "inf", "-inf", "-0.5", "1e400", "1e-400", "1_0", "0x10", "1.5", "75%", "100", "0,75", "½", "٠.٥"),
    *(
        "FALSE",
        "no",
        "off",
        "None",
        "cuda_malloc_async",
        "CUDA_ASYNC",
        "BFC ",
        "plattform",
        "1GB",
        "-512",
        "9" * 5000,
        "1" * 20,
    ),
    *("0.5\n", "\t0.5", "'0.5'", '"bfc"', "\udc80", "0.5\u00a0", "\u2212.5", "K", "ſ"),
)
texts = st.one_of(
    st.sampled_from(SOUND + DAMAGED),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
)
environs = st.dictionaries(st.sampled_from(NAMES), texts, min_size=1)
RELEASES = ("0.4.30", "0.5.3", "0.8.1", "0.10.2", "0.11.2")
"""One for each text that the reader had; their wheels are those of ``tests/test_real_wheels.py``."""


def left(environ: Mapping[str, str], jaxlib: str, **more: object) -> tuple[dict[str, str], jaxgpu_tune.Report]:
    """The environment of a program under a plan, and the plan."""
    report = jaxgpu_tune.plan("auto", machine=machine(count=2, jaxlib=jaxlib), environ=environ, probe=False, **more)
    final: dict[str, str | None] = {**environ, **report.environ}
    return {name: value for name, value in final.items() if value is not None}, report


def check_read(read: Reader, final: Mapping[str, str]) -> None:
    """Nothing is raised, and what is read is what a GPU can give."""
    options = read(final)
    unified = final.get(UNIFIED, "").lower() in ("1", "true")
    assert 0 < options.get("memory_fraction", 0.75) < (float("inf") if unified else 1.0000001)
    assert 0 <= options.get("collective_memory_size", 0) < INT64


@settings(max_examples=150, deadline=None)
@given(environs)
def test_what_is_left_of_damaged_variables_is_read(environ: dict[str, str]) -> None:
    """Whatever was set before; and nothing is taken out without a word."""
    final, report = left(environ, INSTALLED)
    check_read(installed_reader(), final)
    told = " ".join(f.message for f in report.findings)
    assert all(name in told for name in environ if final.get(name) != environ[name])


@settings(max_examples=100, deadline=None)
@given(environs, st.dictionaries(st.sampled_from(NAMES), texts, min_size=1, max_size=2))
def test_an_argument_is_refused_or_read(environ: dict[str, str], asked: dict[str, str]) -> None:
    """Beside what is set already."""
    try:
        final, _ = left(environ, INSTALLED, env=asked)
    except jaxgpu_tune.BadSetting:
        return
    check_read(installed_reader(), final)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(SOUND), min_size=1, max_size=3))
def test_sound_values_stay_as_they_are(environ: dict[str, str]) -> None:
    """What the reader takes and a GPU can give is the user's."""
    try:
        check_read(installed_reader(), environ)
    except (ValueError, AssertionError):
        return
    final, _ = left(environ, INSTALLED)
    read = installed_reader()
    meant = {**read(environ), **({"preallocate": False} if read(final).get("preallocate") is False else {})}
    assert read(final) == meant


def test_the_reader_can_refuse() -> None:
    """Each class of damage is one that every jaxlib since 0.6 raises on."""
    for environ in (
        {ALLOCATOR: ""},
        {OLD_FRACTION: "75%"},
        {OLD_FRACTION: "0.5", NEW_FRACTION: "0.5"},
        {COLLECTIVE_POOL: "1GB"},
        {ALLOCATOR: "cuda_malloc_async"},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - jaxlib's own messages
            installed_reader()(environ)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_other_releases_read_what_is_left(release: str, tmp_path: Path) -> None:
    """Their own readers, from their wheels."""
    with zipfile.ZipFile(download(Wheel("jaxlib", release), tmp_path)) as archive:
        read = reader_in(archive.read("jaxlib/xla_client.py").decode())

    @settings(max_examples=75, deadline=None, database=None)
    @given(environs)
    def each(environ: dict[str, str]) -> None:
        check_read(read, left(environ, release)[0])

    each()
