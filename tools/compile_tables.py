"""Write the authored tables (TOML, for people) as JSON (for reading at start-up): knowledge/data/authored/*.

Presets stand one a line: its name, a tab, and its JSON, so that one can be read without the others.

    python -m tools.compile_tables [--check]

One home for each fact stays the TOML file; ``--check`` exits 1 if a file here is not what its TOML says.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jaxgpu_tune.knowledge.tables import DATA, read_toml

FOLDER = Path(DATA)
TABLES = (
    "advice",
    "compile_options",
    "hazards",
    "installs",
    "memory",
    "names",
    "notes",
    "options",
    "processes",
    "programs",
    "search",
    "translations",
    "variables",
)
FOR_TESTS = ("example", "incident", "spared")
"""Keys of a hazard or of an advice that only its test reads."""


def compiled() -> dict[Path, str]:
    """Each file and its text."""
    paths = sorted((FOLDER / "presets").glob("*.toml"))
    presets = "".join(f"{path.stem}\t{_text(read_toml(path))}" for path in paths)
    tables = {name: read_toml(FOLDER / f"{name}.toml") for name in TABLES}
    for table in (*tables["hazards"]["hazard"], *tables["advice"]["rule"]):
        for key in FOR_TESTS:
            table.pop(key, None)
    texts = {"presets.tsv": presets, **{f"{name}.json": _text(table) for name, table in tables.items()}}
    return {FOLDER / "authored" / name: text for name, text in texts.items()}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def main() -> int:
    """Write what changed, or with ``--check`` only tell."""
    parser = argparse.ArgumentParser(prog="python -m tools.compile_tables", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    stale = {path: text for path, text in compiled().items() if not path.exists() or path.read_text() != text}
    for path in stale:
        print(f"differs from its TOML: {path.name}")
    if parser.parse_args().check:
        return 1 if stale else 0
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
