"""The command line: one short function a command, each in its own module, imported when it is called.

A command's module has PARAMETERS (what it takes), EXAMPLES (for its help) and ``command``, whose docstring is its help
and which returns the exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

IN_A_HURRY = ("env", "check")
"""Started by every shell and job, so they do without click where they can."""


def main(words: Sequence[str] | None = None, prog_name: str = "jaxgpu-tune") -> None:
    """Run one command line (default: this process's own) and exit."""
    words = sys.argv[1:] if words is None else words
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: >&-
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    status = _hurried(words)
    if status is None:
        from .group import group

        group.main(list(words), prog_name=prog_name)
    sys.exit(status)


def _hurried(words: Sequence[str]) -> int | None:
    """The exit code of a command that is in a hurry; None: click is needed."""
    if not words or words[0] not in IN_A_HURRY:
        return None
    from importlib import import_module

    from .output import finish
    from .plain import read_words

    module = import_module(f".{words[0]}", __name__)
    given = read_words(module.PARAMETERS, words[1:])
    return None if given is None else finish(module.command, given)
