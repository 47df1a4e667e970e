"""The IPython extension: ``%load_ext jaxgpu_tune``, then ``%jaxgpu_tune fsdp --memory-fraction 0.9``."""

from __future__ import annotations

from typing import Any

from .model import Report

__all__ = ["configure_line", "load"]


def load(ipython: Any) -> None:
    """Register the magic ``%jaxgpu_tune`` with an InteractiveShell."""
    ipython.register_magic_function(configure_line, "line", "jaxgpu_tune")


def configure_line(line: str) -> Report | None:
    """``configure()`` with the options that ``jaxgpu-tune env`` takes; ``--help`` lists them and returns None.

    Raises click.UsageError for options that are wrong, and what ``configure()`` raises.
    """
    from shlex import split

    from .api import configure_as
    from .cli.group import magic

    given = magic.main(split(line), prog_name="%jaxgpu_tune", standalone_mode=False)
    return configure_as("%jaxgpu_tune", **given) if isinstance(given, dict) else None
