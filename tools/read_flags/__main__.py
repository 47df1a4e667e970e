"""``python -m tools.read_flags [RELEASE ...|--all]``: see the package's docstring."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jaxgpu_tune.render.waiting import waiting

from . import merge
from .wheels import DISTRIBUTIONS, Wheel, all_wheels, fetch

_CACHE = Path(tempfile.gettempdir()) / "jaxgpu_tune_flags"


def main() -> int:
    words = _arguments()
    words.cache.mkdir(parents=True, exist_ok=True)
    wanted = [w for w in _wanted(words) if w.distribution in words.only]
    failed = [w.name for at, w in enumerate(wanted, 1) if not _have(w, words.cache, f"[{at}/{len(wanted)}]")]
    if failed:
        print("not read:", ", ".join(failed), file=sys.stderr)
    merge.write(words.cache, ask=not words.yes)
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.read_flags", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--all", action="store_true", help="every release there is")
    parser.add_argument("--only", nargs="+", choices=DISTRIBUTIONS, default=DISTRIBUTIONS)
    parser.add_argument("--cache", type=Path, default=_CACHE, help="what was read is kept here: a second run goes on")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    return parser.parse_args()


def _wanted(words: argparse.Namespace) -> list[Wheel]:
    wheels = all_wheels()
    return wheels if words.all else [w for w in wheels if w.release in words.releases]


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
