"""A shell beside each command, which ends it once this process is gone, be it by kill -9.

Else a command that is stopped would stay for ever, and one that runs would keep its GPU from the next start.
"""

from __future__ import annotations

import subprocess

__all__ = ["dismiss", "guard"]

SCRIPT = """
read -r told && exit
all() { kill -s "$1" -- "$0" $(grep -slzxF -- "$mark" /proc/[0-9]*/environ | cut -d / -f 3); }
mark=$1
all TERM; all CONT; sleep 2; all KILL
"""
"""It reads from a pipe that the system closes with this process. ``$0``: a process, or a group with a minus before it; ``$1``: NAME=VALUE in the environment of its processes."""


def guard(target: int, mark: str) -> subprocess.Popen[bytes]:
    """Watch over a process, or a group (below 0), as kill takes them; and over who else carries the mark (Linux)."""
    quiet = subprocess.DEVNULL
    words = ("/bin/sh", "-c", SCRIPT, str(target), mark)
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)


def dismiss(watching: subprocess.Popen[bytes]) -> None:
    """There is nothing left to watch over."""
    if watching.stdin is not None and not watching.stdin.closed:
        watching.communicate(b"done\n")
