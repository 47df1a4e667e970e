"""``python -m tools.mutate``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .copies import Copy
from .faults import Fault, faults_of
from .forks import fails, import_others, in_fork
from .reach import Place, able, tests_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reach import Seen

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "jaxgpu_tune"
PARTS = tomllib.loads(Path(__file__).with_name("parts.toml").read_text())
UNNOTICED = (0, 4, 5)
"""pytest's status where all tests pass, or none of those asked for is there."""


class Planted(NamedTuple):
    """One fault in one module, and the files of tests that must notice (none: whoever can)."""

    part: str
    path: Path
    source: str
    fault: Fault
    tests: tuple[str, ...] = ()

    @property
    def lasting(self) -> str:
        """What it is, whichever its line."""
        return f"{self.path.relative_to(PACKAGE)}: {self.fault.told(self.source).partition(': ')[2]}"

    @property
    def told(self) -> str:
        """Where it is and what it does."""
        return f"{self.path.relative_to(PACKAGE)}:{self.fault.told(self.source)}"

    @property
    def place(self) -> Place:
        """Where it is, for the tests."""
        path = self.path.relative_to(ROOT)
        own = Path("tests", *path.parts[1:-1], f"test_{path.stem}.py")
        return Place(str(path), own, self.fault.lines(self.source), self.fault.at_import(self.source))


def main() -> int:
    """Plant faults, run the tests, tell what nobody noticed; 1 if that is one of those known by name."""
    words = _arguments()
    chosen = list(_by_name() if words.planted else _sample(words))
    missed = [planted for planted, noticed in _tried(chosen, words) if not noticed]
    for part in dict.fromkeys(planted.part for planted in chosen):
        total, left = (sum(planted.part == part for planted in some) for some in (chosen, missed))
        print(f"{part}: {total - left} of {total} noticed, {(total - left) / total:.0%}")
    if words.json:
        words.json.write_text(
            json.dumps({"missed": [planted.told for planted in missed], "tried": len(chosen)}, indent=1)
        )
    return 1 if missed and words.planted else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description="Plant faults, see which tests notice.")
    parser.add_argument("parts", nargs="*", default=list(PARTS["part"]), help="folders of the package")
    parser.add_argument("--planted", action="store_true", help="those known by name instead of a sample")
    parser.add_argument("--sample", type=int, default=40, metavar="N", help="so many of each part (0: all)")
    parser.add_argument("--seed", default="0", help="another sample")
    parser.add_argument("--only", default="", help="of modules whose path has this in it")
    parser.add_argument("--seconds", type=float, default=10, help="of processor time: as many tests as take so long")
    parser.add_argument("--cache", type=Path, default=ROOT / ".pytest_cache" / "mutate", help="keeps what runs what")
    parser.add_argument("--json", type=Path, help="write what was missed there, too")
    return parser.parse_args()


def _by_name() -> list[Planted]:
    """The faults of ``parts.toml``: ``old`` stands in the file once."""
    found = []
    for one in PARTS["planted"]:
        path = PACKAGE / one["file"]
        source = path.read_text()
        assert source.count(one["old"]) == 1, (
            f"parts.toml: {one['file']} has {one['old']!r} {source.count(one['old'])} times; say how the line reads now"
        )
        start = source.index(one["old"])
        fault = Fault(start, start + len(one["old"]), one["new"])
        found.append(Planted(one["file"].split("/")[0], path, source, fault, tuple(one["tests"])))
    return found


def _sample(words: argparse.Namespace) -> list[Planted]:
    """Drawn by chance from all faults of each part: the same ones each time, whatever changes elsewhere in the code."""
    found = []
    for part in words.parts:
        every = [
            Planted(part, path, source, fault)
            for path in sorted((PACKAGE / part).rglob("*.py"))
            if words.only in str(path.relative_to(PACKAGE))
            for source in [path.read_text()]
            for fault in faults_of(source)
        ]
        seen: Counter[str] = Counter()
        drawn = {one: _draw(words.seed, one.lasting, seen) for one in every}
        every.sort(key=drawn.__getitem__)
        sound = (one for one in every if one.fault.is_sound(one.source) and not _changes_nothing(one))
        found += sorted(islice(sound, words.sample or None))
    return found


def _draw(seed: str, lasting: str, seen: Counter[str]) -> bytes:
    """Its place in the draw; the same again in one file has another."""
    seen[lasting] += 1
    return sha256(f"{seed} {seen[lasting]} {lasting}".encode()).digest()


def _changes_nothing(planted: Planted) -> bool:
    """Whether it is one of those that are known to be equivalent, with the reason."""
    line = planted.source.splitlines()[planted.source.count("\n", 0, planted.fault.start)].strip()
    return any(
        one["file"] in str(planted.path)
        and one["line"] in line
        and planted.fault.text == one.get("new", planted.fault.text)
        for one in PARTS.get("equivalent", ())
    )


def _tried(chosen: list[Planted], words: argparse.Namespace) -> Iterator[tuple[Planted, bool]]:
    """Each fault, and whether a test failed while it was there, or took far longer than without it."""
    import_others()
    copy = Copy(ROOT)
    tests: dict[str, list[Seen]] = {}
    try:
        for planted in chosen:
            if not planted.tests and planted.part not in tests:
                tests[planted.part] = tests_of(copy.root, PARTS["part"][planted.part], words.cache)
            began = time.monotonic()
            noticed, shown = _shown(planted, copy, tests.get(planted.part, []), words.seconds)
            seconds = time.monotonic() - began
            print("noticed" if noticed else "MISSED ", f"{planted.told} ({shown}, {seconds:.1f} s)", flush=True)
            yield planted, noticed
    finally:
        copy.end()


def _shown(planted: Planted, copy: Copy, tests: list[Seen], seconds: float) -> tuple[bool, str]:
    """Whether the tests to which the fault is shown notice it, and how many they are."""
    chosen = [] if planted.tests else able(tests, planted.place, seconds)
    files = planted.tests or tuple(dict.fromkeys(str(test.file) for test in chosen))
    if not files:
        return False, "no test runs it"
    wanted = {test.name: number for number, test in enumerate(chosen)}
    patience = 60 + 20 * sum(test.seconds for test in chosen)
    with copy.planted(planted.path.relative_to(ROOT), planted.fault):
        status = in_fork(copy.root, fails, files, wanted, patience=patience)
    return status not in UNNOTICED, f"{len(wanted) or 'all'} tests"


if __name__ == "__main__":
    sys.exit(main())
