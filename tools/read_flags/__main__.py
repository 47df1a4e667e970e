"""``python -m tools.read_flags [RELEASE ...|--all]``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jaxgpu_tune.errors import JaxGpuTuneError
from jaxgpu_tune.knowledge import tables as library
from jaxgpu_tune.render.waiting import waiting
from tools.writing import put

from . import committed, merge
from .wheels import DISTRIBUTIONS, UnknownReleaseError, Wheel, asked_of, chosen, fetch, releases_of

DATA = Path(library.DATA)
FILES = (committed.BUILDS, committed.FLAGS, committed.HELP)

_CACHE = Path(tempfile.gettempdir()) / "jaxgpu_tune_flags"


def main() -> int:
    """Exit status: 0 all is read, 1 something could not be read, 2 wrong use, nothing written."""
    words = _arguments()
    try:
        wanted = _wanted(words)
        read, failed = _read_all(wanted, words.cache)
        tables = merge.merged(committed.tables_of({name: (DATA / name).read_text() for name in FILES}), read)
        put({DATA / name: text for name, text in committed.texts(tables).items()}, ask=not words.yes)
    except (merge.UnfitError, UnknownReleaseError, JaxGpuTuneError) as error:
        print(f"{error}\nNothing is written.", file=sys.stderr)
        return 2
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.read_flags", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=DISTRIBUTIONS, default=DISTRIBUTIONS)
    return asked_of(parser, _CACHE)


def _wanted(words: argparse.Namespace) -> list[Wheel]:
    """Raises UnknownReleaseError for a release that none of these distributions has."""
    wheels = [Wheel(name, release) for name in words.only for release in releases_of(name)]
    wanted = chosen(words.releases, {wheel.release for wheel in wheels}, " or ".join(words.only))
    return [wheel for wheel in wheels if words.all or wheel.release in wanted]


def _read_all(wanted: list[Wheel], cache: Path) -> tuple[merge.Read, list[str]]:
    """What the wheels hold, and the names of those that could not be read."""
    cache.mkdir(parents=True, exist_ok=True)
    failed = [w.name for at, w in enumerate(wanted, 1) if not _have(w, cache, f"[{at}/{len(wanted)}]")]
    if failed:
        print("not read:", ", ".join(failed), file=sys.stderr)
    read: merge.Read = {name: {} for name in DISTRIBUTIONS}
    for wheel in wanted:
        if wheel.name not in failed:
            read[wheel.distribution][wheel.release] = json.loads((cache / f"{wheel.name}.json").read_text())
    return read, failed


def _have(wheel: Wheel, cache: Path, progress: str) -> bool:
    """Whether the cache holds this wheel's registry, having read it now if need be."""
    target = cache / f"{wheel.name}.json"
    if target.exists():
        return True
    start = time.monotonic()
    with waiting(f"{progress} {wheel.name}: fetching it and reading its flags"):
        problem = _read(wheel, target)
    result = problem or f"{len(json.loads(target.read_text())['flags'])} flags"
    print(f"{progress} {wheel.name} {result}, {time.monotonic() - start:.0f} s", flush=True)
    return not problem


def _read(wheel: Wheel, target: Path) -> str:
    """Fetch and read one wheel in a process of its own, since a library once loaded stays. -> what went wrong."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        try:
            library = fetch(wheel, Path(folder))
        except (subprocess.SubprocessError, StopIteration) as error:
            return f"not fetched: {getattr(error, 'stderr', '') or error}"
        command = [sys.executable, "-m", f"{__package__}.read", str(library), str(target)]
        if wheel.distribution != "jaxlib":
            command.append("--brief")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    sys.exit(main())
