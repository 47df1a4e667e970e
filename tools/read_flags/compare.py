"""Hold what the library says against the real parser, on random strings of flags: names of every release, any value.

    python -m tools.read_flags.compare 0.4.30 0.12.0.1 --count 4000 > benchmarks/results/flag-truth.json

Each string is called accepted, bad (a value is refused), or unknown (with the names); the parser is asked the same. A number
that a release silently wraps around counts as bad for us and is left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from jaxgpu_tune.knowledge import flags as known

from .binary import Binary
from .texts import random_text
from .wheels import Wheel, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

Flags = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.read_flags.compare", description=__doc__)
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--library", type=Path, help="read this shared object instead of fetching the wheel")
    words = parser.parse_args()
    if words.library:
        sys.stdout.write(json.dumps(compare(words.library, words.releases[0], words.count)))
        return
    results = {release: _apart(release, words.count) for release in words.releases}
    sys.stdout.write(json.dumps(results, indent=1) + "\n")


def _apart(release: str, count: int) -> dict[str, object]:
    """In a process of its own, since a library once loaded stays."""
    with tempfile.TemporaryDirectory() as folder:
        library = fetch(Wheel("jaxlib", release), Path(folder))
        command = [
            sys.executable,
            "-m",
            f"{__package__}.compare",
            release,
            "--count",
            str(count),
            "--library",
            str(library),
        ]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sys.stderr.write(f"{release}: {told}\n")
    return dict(json.loads(told))


def compare(library: Path, release: str, count: int) -> dict[str, object]:
    """How many strings were tried, how they were called, and those on which library and parser disagree."""
    binary = Binary(library)
    called: dict[str, int] = {"accepted": 0, "bad": 0, "unknown": 0}
    wrong = []
    for flags in _strings(release, count):
        text = " ".join(f'--{name}="{value}"' for name, value in flags)
        ours, real = _expected(flags, release), _asked(binary, text)
        called[real[0]] += 1
        if ours != real and not _spoiled(flags, release):
            wrong.append([text, ours, real])
    return {"strings": count, **called, "disagreements": wrong}


def _strings(release: str, count: int) -> Iterator[Flags]:
    chance = random.Random(release)  # noqa: S311  the same strings each time
    there = known.flags(release)
    rich = [name for name, spec in there.items() if spec.form not in {"bool", "int32", "int64", "text"}]
    gone = sorted(set(known.names()) - set(there) - _claimed(release))
    while count:
        names = [chance.choice(chance.choice([rich, rich, list(there)])) for _ in range(chance.choice([1, 1, 2, 3]))]
        flags = [(name, random_text(there[name], chance)) for name in names]
        if chance.random() < 0.3:
            flags.insert(chance.randrange(len(flags) + 1), (chance.choice(gone), "1"))
        if not any(_wraps(name, value, release) for name, value in flags):
            count -= 1
            yield flags


def _spoiled(flags: Flags, release: str) -> bool:
    """Whether one of the flags may crash this process though it goes well in jaxlib's; see ``FlagSpec.undefined``."""
    return any(spec is not None and spec.undefined for spec in (known.flag(name, release) for name, _ in flags))


def _claimed(release: str) -> set[str]:
    """Names that up to 0.4.19 a shorter bool flag takes for itself (and then finds a bad value)."""
    if release not in {"0.4.18", "0.4.19"}:
        return set()
    bools = tuple(name for name, spec in known.flags(release).items() if spec.type == "bool")
    return {name for name in known.names() if name.startswith(bools)}


def _wraps(name: str, value: str, release: str) -> bool:
    spec = known.flag(name, release)
    why = spec and known.check_value(spec, value, release)
    return known.parser_rules(release).int_wraps and "numbers from" in (why or "")


def _expected(flags: Flags, release: str) -> tuple[str, list[str]]:
    specs = [(known.flag(name, release), name, value) for name, value in flags]
    if any(spec and known.check_value(spec, value, release) for spec, _, value in specs):
        return "bad", []
    unknown = [name for spec, name, _ in specs if spec is None]
    return ("unknown", unknown) if unknown else ("accepted", [])


def _asked(binary: Binary, text: str) -> tuple[str, list[str]]:
    answer = binary.ask(text)
    told = answer.message.partition("in XLA_FLAGS: ")[2].partition("  ")[0]
    if told:
        return "unknown", re.findall(r"--([a-z0-9_]+)=", told)
    return ("accepted" if answer.options is not None or answer.crashed else "bad"), []


if __name__ == "__main__":
    main()
