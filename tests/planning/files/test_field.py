"""Files as people have them, with settings of another time: each goes through check and migrate, and nothing fatal is left unnamed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from jaxgpu_tune import Migration
from jaxgpu_tune.api import checked, migrator
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.planning.files.file_kinds import file_kind
from jaxgpu_tune.planning.files.rewrite import Rewritten, rewrite
from jaxgpu_tune.planning.release.target import Target

SAMPLES = Path(__file__).parent / "field"
NAMES = sorted(path.name.removesuffix(".txt") for path in SAMPLES.iterdir())
RELEASES = ("0.4.35", "0.11.2", "0.12.0.1")
FLAG = re.compile(r"--(xla_\w+)(?:=([^\s\"'\\,;)\]}]*))?")
KNOWN_LATER = re.compile(r"[$({]")
"""A value that holds one of these is put together at run time."""


@cache
def restating(release: str) -> Callable[[str], Migration]:
    """``migrate`` for one release."""
    return migrator(release)


def migrated(name: str, release: str) -> tuple[str, Rewritten]:
    """A file, and what became of it."""
    text = (SAMPLES / f"{name}.txt").read_text()
    kind = file_kind(name, text)
    assert kind, f"{name} is of no kind that is read"
    return text, rewrite(text, kind, restating(release))


def fatal(text: str, release: str) -> dict[int, set[str]]:
    """Line -> the flags in it that end the process of a release, by its table."""
    target = Target((release,), jaxlib=release)
    found: dict[int, set[str]] = {}
    for flag in FLAG.finditer(text):
        held = flag[2] is not None and KNOWN_LATER.search(flag[2])
        value = None if held else flag[2]
        ends = known.flag(flag[1], release) is None if held else target.ends_process(flag[1], value)
        if ends:
            found.setdefault(text.count("\n", 0, flag.start()) + 1, set()).add(flag[1])
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_fatal_is_left_unnamed_and_migrated_again_it_stays(name: str, release: str) -> None:
    """What the new text still holds that the release lacks or refuses is told, with its flag."""
    text, found = migrated(name, release)
    told = " ".join(change.before for change in found.left)
    left = {flag for flags in fatal(found.text, release).values() for flag in flags}
    assert {flag for flag in left if flag not in told} == set()
    again = rewrite(found.text, file_kind(name, text) or "", restating(release))
    assert (again.text, again.changes) == (found.text, ())


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", NAMES)
def test_check_names_what_ends_the_process(name: str, release: str) -> None:
    """Of the flags as they stand in the file, those without a value that is known only at run time."""
    flags = [f[0] for f in FLAG.finditer((SAMPLES / f"{name}.txt").read_text()) if not KNOWN_LATER.search(f[2] or "")]
    report, read = checked(" ".join(flags), release)
    ends = {flag for found in fatal(" ".join(flags), release).values() for flag in found}
    assert bool(ends) == any(f.severity == "error" for f in report.findings) == bool(read.ends)
    told = " ".join(f.message for f in report.findings)
    assert all(flag in told for flag in ends)
    assert not fatal(report.xla_flags, release)


def test_the_samples_are_of_their_time() -> None:
    """Most hold something that ends a process of today, else this shows nothing."""
    texts = [(SAMPLES / f"{name}.txt").read_text() for name in NAMES]
    assert sum(bool(fatal(text, "0.12.0.1")) for text in texts) > 15
    assert len(NAMES) == 23


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os\nos.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + '--xla_dump_to=/d'\n", True),
        ("import os\nos.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_dump_to=/d'\n", False),
    ],
)
def test_a_flag_that_is_glued_to_what_comes_before_is_told(code: str, told: bool) -> None:
    found = rewrite(code, "python", restating("0.12.0.1"))
    assert [change.before for change in found.left] == ["--xla_dump_to=/d"] * told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('"$XLA_FLAGS--xla_dump_to=/d"', True),
        ('"$XLA_FLAGS --xla_dump_to=/d"', False),
        ('"${XLA_FLAGS:+$XLA_FLAGS }--xla_dump_to=/d"', False),
    ],
)
def test_so_it_is_in_a_shell_script(line: str, told: bool) -> None:
    found = rewrite(f"export XLA_FLAGS={line}\n", "shell", restating("0.12.0.1"))
    assert [change.before for change in found.left] == ["--xla_dump_to=/d"] * told
