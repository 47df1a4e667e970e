"""What runs no program with JAX in it: commands of a shell, instructions of a Dockerfile, calls of a Python program."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from .tables import read_table

__all__ = ["is_call_without_jax", "words_without_jax"]


@cache
def words_without_jax(kind: Literal["reading_nothing", "without_jax"]) -> str:
    """A pattern for how the commands of a kind begin."""
    table = read_table("programs")["shell"][kind]
    beginnings = (
        word if command == "any" else f"{command} {word}" for command, words in table.items() for word in words
    )
    return rf"(?:{'|'.join(map(_pattern, beginnings))})(?![\w./-])"


def _pattern(words: str) -> str:
    return re.escape(words).replace(r"\*", r"[^\s;&|]*").replace(r"\ ", r"[ \t]+")


@cache
def is_call_without_jax(name: str) -> bool:
    """Whether a function of that full name, or a method of what it returns, starts none."""
    return any(fnmatchcase(name, call) for call in read_table("programs")["python"]["calls"])
