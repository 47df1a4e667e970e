"""Asking the installed jaxlib itself which flags it refuses: a child process that parses XLA_FLAGS and nothing else.

An unknown flag ends the child, which names every unknown one on one line (0.6 to 1.0 s, no backend, no GPU).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from ..errors import ProbeFailed
from ..model import Finding

__all__ = ["refused_flags"]

CHILD = "from jaxlib import xla_client; xla_client.CompileOptions()"
UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS:(.*)")
NAME = re.compile(r"--([^\s=]+)")
SECONDS = 60


def refused_flags(text: str) -> frozenset[str]:
    """The names in a text of XLA flags that the installed jaxlib does not know. Raises ProbeFailed without an answer."""
    if not text:
        return frozenset()
    child = _ask(text)
    if child.returncode == 0:
        return frozenset()
    found = UNKNOWN.search(child.stderr)
    if not found:
        raise _failed(f"the child ended with status {child.returncode}: {child.stderr.strip()[-300:]}")
    # Up to 0.5.0 known flags follow after two blanks.
    return frozenset(NAME.findall(found[1].strip().split("  ")[0]))


def _ask(text: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "XLA_FLAGS": text, "JAX_PLATFORMS": "cpu"}
    try:
        return subprocess.run(
            [sys.executable, "-c", CHILD], env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(str(error)) from error


def _failed(why: str) -> ProbeFailed:
    message = f"The installed jaxlib could not be asked which flags it accepts ({why})."
    return ProbeFailed.of(
        [Finding("probe-failed", "warning", message, "The nearest releases in the table are used instead.")]
    )
