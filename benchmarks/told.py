"""What a child of a benchmark tells: JSON on a line of its stdout; or why it failed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def told_by(words: Sequence[str], environ: Mapping[str, str], seconds: float | None = None) -> dict[str, Any]:
    """What this Python tells when it is given these words; "error" if it failed: its status, and the end of its stderr."""
    done = subprocess.run(
        [sys.executable, *words],
        env={**environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    told = told_in(done.stdout)
    if done.returncode or told is None:
        return {"error": f"status {done.returncode}: {without_root(done.stderr)[-1500:]}"}
    return dict(told)


def told_in(output: str) -> Any:
    """The JSON on the last line that begins with a byte of 1; None without one."""
    told = [line[1:] for line in output.splitlines() if line.startswith("\x01")]
    return json.loads(told[-1]) if told else None


def without_root(text: str) -> str:
    """What a failed run said, with paths from the repository's root: results name no path of a machine."""
    return text.replace(f"{ROOT}/", "")


def cause(run: Mapping[str, Any]) -> str:
    """Why a run failed: the exception that it ended with, else the last line of what it said."""
    lines = str(run["error"]).strip().splitlines()
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return (raised or lines)[-1][-300:]
