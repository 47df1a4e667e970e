"""``python -m tools.mutate``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from .copies import Copy
from .faults import Fault, faults_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "jaxgpu_tune"
PARTS = tomllib.loads(Path(__file__).with_name("parts.toml").read_text())


class Planted(NamedTuple):
    """One fault in one module, and the tests that should notice."""

    part: str
    path: Path
    fault: Fault
    tests: tuple[str, ...]

    @property
    def lasting(self) -> str:
        """What it is, whichever its line."""
        return f"{self.path.relative_to(PACKAGE)}: {self.fault.told(self.path.read_text()).partition(': ')[2]}"

    @property
    def told(self) -> str:
        """Where it is and what it does."""
        return f"{self.path.relative_to(PACKAGE)}:{self.fault.told(self.path.read_text())}"


def main() -> int:
    """Plant faults, run the tests, tell what nobody noticed; 1 if that is one of those known by name."""
    words = _arguments()
    chosen = list(_by_name() if words.planted else _sample(words))
    missed = [planted for planted, noticed in _tried(chosen, words.jobs, words.patience) if not noticed]
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
    parser.add_argument("--near", action="store_true", help="only the tests of the module's own file and folder")
    parser.add_argument("--only", default="", help="of modules whose path has this in it")
    parser.add_argument("--jobs", type=int, default=1, help="as many at once")
    parser.add_argument("--patience", type=float, default=900, metavar="SECONDS", help="tests that take longer noticed")
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
        found.append(Planted(one["file"].split("/")[0], path, fault, tuple(one["tests"])))
    return found


def _sample(words: argparse.Namespace) -> list[Planted]:
    """Drawn by chance from all faults of each part: the same ones each time, whatever changes elsewhere in the code."""
    found = []
    for part in words.parts:
        every = [
            Planted(part, path, fault, _nearest(part, path, words.near))
            for path in sorted((PACKAGE / part).rglob("*.py"))
            if words.only in str(path.relative_to(PACKAGE))
            for fault in faults_of(path.read_text())
        ]
        seen: Counter[str] = Counter()
        drawn = {one: _draw(words.seed, one.lasting, seen) for one in every}
        every.sort(key=drawn.__getitem__)
        sound = (one for one in every if one.fault.is_sound(one.path.read_text()) and not _changes_nothing(one))
        found += sorted(islice(sound, words.sample or None))
    return found


def _draw(seed: str, lasting: str, seen: Counter[str]) -> bytes:
    """Its place in the draw; the same again in one file has another."""
    seen[lasting] += 1
    return sha256(f"{seed} {seen[lasting]} {lasting}".encode()).digest()


def _nearest(part: str, path: Path, near: bool) -> tuple[str, ...]:
    """The test file of the module's own name, the tests of its folder, then (unless ``near``) those of the part."""
    place = path.relative_to(PACKAGE)
    own, folder = Path("tests", place.parent, f"test_{place.stem}.py"), Path("tests", place.parent)
    beside = " ".join(str(one.relative_to(ROOT)) for one in sorted((ROOT / folder).glob("test_*.py")))
    there = [one for one in (str(own) if (ROOT / own).exists() else "", beside if near else str(folder)) if one]
    return tuple(dict.fromkeys(there if near and there else [*there, *PARTS["part"][part]]))


def _changes_nothing(planted: Planted) -> bool:
    """Whether it is one of those that are known to be equivalent, with the reason."""
    source = planted.path.read_text()
    line = source.splitlines()[source.count("\n", 0, planted.fault.start)].strip()
    return any(
        one["file"] in str(planted.path)
        and one["line"] in line
        and planted.fault.text == one.get("new", planted.fault.text)
        for one in PARTS.get("equivalent", ())
    )


def _tried(chosen: list[Planted], jobs: int, patience: float) -> list[tuple[Planted, bool]]:
    copies: SimpleQueue[Copy] = SimpleQueue()
    made = [Copy(ROOT, patience) for _ in range(jobs)]
    for copy in made:
        copies.put(copy)

    def one(planted: Planted) -> tuple[Planted, bool]:
        copy = copies.get()
        try:
            noticed = copy.notices(planted.path.relative_to(ROOT), planted.fault, planted.tests)
        finally:
            copies.put(copy)
        print("noticed" if noticed else "MISSED ", planted.told, flush=True)
        return planted, noticed

    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, chosen))
    finally:
        for copy in made:
            copy.end()


if __name__ == "__main__":
    sys.exit(main())
