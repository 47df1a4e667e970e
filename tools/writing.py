"""Writing generated files: how they would change is shown first, and a yes is asked for."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from jaxgpu_tune.knowledge.tables import complete

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def put(texts: Mapping[Path, str], *, ask: bool) -> None:
    """Show how the files would change, and change them (``ask``: after a yes), all or none. Raises JaxGpuTuneError for an incomplete one."""
    for path, text in texts.items():
        complete(path.name, _table(path, text))
    new = {path: text for path, text in texts.items() if _old(path) != text}
    for path in texts:
        print(*(_difference(path, texts[path]) if path in new else [f"{path.name}: unchanged"]), sep="\n")
    if not new:
        return
    if ask and not _yes(f"write {', '.join(path.name for path in new)}? [y/N] "):
        print("not written")
        return
    for path, text in new.items():
        path.write_text(text)


def compact(value: Any) -> str:
    """JSON without blanks, its keys sorted: the same text for the same value."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _table(path: Path, text: str) -> dict[str, Any]:
    """What the library will read there."""
    if path.suffix == ".json":
        return dict(json.loads(text))
    return dict(line.split("\t") for line in text.splitlines())


def _difference(path: Path, text: str) -> Iterator[str]:
    lines = difflib.unified_diff(_old(path).splitlines(), text.splitlines(), path.name, "new", n=0, lineterm="")
    return (line[:200] for line in lines)


def _old(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _yes(question: str) -> bool:
    """No answer, as where nobody is there to give one, is no."""
    try:
        return input(question).strip().lower() == "y"
    except EOFError:
        print()
        return False
