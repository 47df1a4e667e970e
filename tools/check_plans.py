"""Ask the real parser of each release about everything that this library would emit for it.

    python -m tools.check_plans 0.4.30 0.12.0.1        # or --all

Every preset on every kind of machine, and every flag that a translation is for (as inherited XLA_FLAGS, each of its
values), is planned for the release; the distinct texts are given to the parser in that release's own wheel, one fork each.
Prints a line a release; exit code 1 if one text was refused.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jaxgpu_tune
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.translations import all_rules
from tools.read_flags.binary import Binary
from tools.read_flags.wheels import Wheel, fetch

CARDS = {"H100": ("9.0", 80), "A100": ("8.0", 80), "B200": ("10.0", 180)}
MACHINES = (("H100", 1), ("H100", 8), ("A100", 8), ("B200", 8), ("H100", 0))
ANY_VALUE = ("true", "false", "0", "1", "2", "")


def main() -> int:
    """Check the releases that are named; with ``--library`` one shared object, in this process."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_plans", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("releases", nargs="*")
    parser.add_argument("--all", action="store_true", help="every known release")
    parser.add_argument("--library", type=Path, help="ask this shared object instead of fetching the wheel")
    words = parser.parse_args()
    releases = known.releases() if words.all else tuple(words.releases)
    if words.library:
        refused = asked(words.library, releases[0])
        print(json.dumps(refused))
        return 1 if refused["refused"] else 0
    return max([_apart(release) for release in releases], default=0)


def _apart(release: str) -> int:
    """In a process of its own, since a library once loaded stays."""
    with tempfile.TemporaryDirectory() as folder:
        library = fetch(Wheel("jaxlib", release), Path(folder))
        child = [sys.executable, "-m", "tools.check_plans", release, "--library", str(library)]
        done = subprocess.run(child, capture_output=True, text=True, check=False)
    print(f"{release}: {done.stdout.strip() or done.stderr[-500:]}", flush=True)
    return done.returncode


def asked(library: Path, release: str) -> dict[str, object]:
    """How many distinct texts are emitted for a release, and which of them its parser refuses, with its words."""
    texts = sorted({*planned(release), *translated(release)})
    binary = Binary(library)
    answers = {text: binary.ask(text) for text in texts}
    return {"texts": len(texts), "refused": {t: a.message[-300:] for t, a in answers.items() if a.options is None}}


def planned(release: str) -> Iterator[str]:
    """The texts of every preset on every kind of machine."""
    for preset in jaxgpu_tune.presets():
        for card, count in MACHINES:
            yield jaxgpu_tune.plan(preset.name, machine=machine(card, count, release), environ={}).xla_flags


def translated(release: str) -> Iterator[str]:
    """The texts that come of every flag that a translation is for, inherited with each of its values."""
    for rule in all_rules():
        for value in rule.values or tuple(rule.each or ANY_VALUE):
            given = {"XLA_FLAGS": f'--{rule.name}="{value}"'} if rule.kind == "xla_flag" else {}
            yield jaxgpu_tune.plan("single_gpu", machine=machine("H100", 1, release), environ=given).xla_flags


def machine(card: str, count: int, release: str) -> jaxgpu_tune.Machine:
    """GPUs of one kind, joined by NVLink, with one release of jax and jaxlib."""
    capability, gib = CARDS[card]
    gpu = {
        "name": card,
        "compute_capability": capability,
        "memory_bytes": gib * 2**30,
        "nvlink_peers": list(range(count)),
    }
    gpus = [{**gpu, "count": count}] if count else []
    return jaxgpu_tune.Machine.from_dict({"gpus": gpus, "jax": release, "jaxlib": release, "plugins": {}})


if __name__ == "__main__":
    sys.exit(main())
