"""What XLA makes of XLA_FLAGS as it stands, and where it ends."""

from __future__ import annotations

import pytest

from jaxgpu_tune.model import Observation
from jaxgpu_tune.planning.release.reading import reading
from jaxgpu_tune.planning.release.target import target_of
from tests.fleet import machine

HERE = target_of(machine())
A, B, BAD = "--xla_gpu_autotune_level=2", "--xla_dump_to=a", "--xla_gpu_autotune_level=many"


def read(text: str, flag_file: str | None = None) -> tuple[str, str, list[str]]:
    """What it does, what ends it, and the faults as they stand in the text."""
    found = reading(Observation(machine(), {"XLA_FLAGS": text}, flag_file=flag_file), HERE, "instead")
    assert found.text == text and found.instead == "instead"
    return found.does, found.ends, [text[start:end] for start, end in found.faults]


@pytest.mark.parametrize(
    ("text", "does", "ends", "faults"),
    [
        ("", "reads 0 flags.", "", []),
        (A, "reads 1 flag.", "", []),
        (f" {A}  {B} ", "reads 2 flags.", "", []),
        (f"{A} {BAD} {B}", f"reads 3 flags; ends the process on {BAD}.", f"{BAD} is refused.", [BAD]),
        (f"--xla_no_such=1 {A}", "reads 2 flags; ends the process on --xla_no_such=1.", "--xla_no_such=1 is refused.", ["--xla_no_such=1"]),
    ],
)  # fmt: skip
def test_each_flag_is_read_or_ends_the_process(text: str, does: str, ends: str, faults: list[str]) -> None:
    assert read(text) == (does, ends, faults)


@pytest.mark.parametrize(("flags", "lost"), [(1, f"# {B}"), (1, f"foo {B}"), (2, "c --xla_dump_to=d")])
def test_what_follows_a_word_that_is_no_flag_is_lost(flags: int, lost: str) -> None:
    """In silence; also behind a quote that closes within a word."""
    text = f"{A} {lost}" if flags == 1 else f'{A} --xla_dump_to="a b"{lost}'
    stops = "then stops without a word: what follows has no effect."
    assert read(text) == (f"reads {flags} flag{'s' * (flags > 1)}, {stops}", "", [lost])


def test_a_text_that_names_a_file_is_the_files() -> None:
    """One that cannot be read ends the process; so does a flag in it, whose place is not in the text."""
    does, ends, faults = read("/gone")
    assert ends == "it is taken for the name of a file, '/gone', that cannot be read."
    assert does == f"ends the process: {ends}" and faults == ["/gone"]
    assert read("/a", f"{A}\n{B}\n") == ("reads 2 flags.", "", [])
    does, ends, faults = read("/a", f"{A}\n{BAD}\n")
    assert (ends, faults) == (f"{BAD} is refused.", []) and does.endswith(f"ends the process on {BAD}.")
