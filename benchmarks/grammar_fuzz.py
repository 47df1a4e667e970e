"""Ask real jaxlibs whether our grammar of XLA_FLAGS is theirs: thousands of generated texts, each in a fork.

    python -m benchmarks.grammar_fuzz --python v311/bin/python --python v312/bin/python --texts 5000 --seed 1 --out grammar.json

Writes one JSON object: for each jaxlib the number of texts in which both agree (by outcome), and every disagreement.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests import grammar
from tests.flag_texts import build_of, text
from tests.oracle import Oracle

BATCH = 250


def main() -> int:
    """Ask each interpreter; exit code 1 if anything disagrees."""
    args = _arguments()
    out = {"texts": args.texts, "seed": args.seed, "jaxlib": {}}
    for python in args.python or [sys.executable]:
        version, result = _ask(python, args.texts, args.seed)
        out["jaxlib"][version] = result
        print(version, json.dumps({k: v for k, v in result.items() if k != "disagreements"}))
        for wrong in result["disagreements"][:5]:
            print("   ", wrong)
    if args.out:
        Path(args.out).write_text(json.dumps(out, indent=2, ensure_ascii=True) + "\n")
    return int(any(result["disagreements"] for result in out["jaxlib"].values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="an interpreter with a jaxlib; may be given several times")
    parser.add_argument("--texts", type=int, default=2000, help="how many texts for each of the three questions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="the JSON file to write")
    return parser.parse_args()


def _ask(python: str, texts: int, seed: int) -> tuple[str, dict[str, Any]]:
    random = Random(seed)  # noqa: S311  # texts, not secrets
    outcomes: Counter[str] = Counter()
    disagreements: list[str] = []
    with tempfile.TemporaryDirectory() as folder, Oracle(python, cwd=folder) as oracle:
        build = build_of(oracle)
        for start in range(0, texts, BATCH):
            batch = [text(random) for _ in range(min(BATCH, texts - start))]
            for check in (grammar.scans, grammar.scans_files, grammar.repairs):
                _count(check(oracle, build, batch, Path(folder)), check.__name__, outcomes, disagreements)
        version = oracle.version
    return version, {"agreements": dict(sorted(outcomes.items())), "disagreements": disagreements}


def _count(verdicts: list[grammar.Verdict], question: str, outcomes: Counter[str], disagreements: list[str]) -> None:
    for verdict in verdicts:
        if verdict.problem:
            disagreements.append(f"{question}: {verdict.problem}: {verdict.text!r}")
        else:
            outcomes[f"{question}: {verdict.outcome}"] += 1


if __name__ == "__main__":
    sys.exit(main())
