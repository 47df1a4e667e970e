"""One shared object, read whole and written down as JSON: ``python -m tools.read_flags.read LIBRARY OUT [--brief]``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from .binary import Binary
from .questions import Questions, rules


def read(path: Path, brief: bool = False) -> dict[str, object]:
    """The registry, what every flag does, the fields of DebugOptions, and the general rules.

    ``brief``: only bool flags are tried. Enough for a plugin, whose parser is jaxlib's of the same release.
    """
    binary = Binary(path)
    asked = Questions(binary)
    flags = binary.registry()
    facts = {f["name"]: asked.about(f) for f in flags if not brief or f["type"] == "bool"}
    described = [flag | facts.get(flag["name"], {}) for flag in flags]
    options = {f.name: f.of or f.kind for f in asked.fields.values()}
    return {"flags": described, "options": options, "rules": rules(asked, flags)}


def main(library: str, target: str, *words: str) -> None:
    text = json.dumps(read(Path(library), brief="--brief" in words), indent=1, sort_keys=True)
    partial = Path(f"{target}.part")
    partial.write_text(text)
    os.replace(partial, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
