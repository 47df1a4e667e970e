"""The files that a command line names, as text of a kind that is known."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..wording import bad_argument
from .output import say
from .parameters import Option

__all__ = ["AS", "kind_of", "read_as", "read_file", "text_of", "unwarned"]

Result = TypeVar("Result")

KINDS_OF = {
    "sh": "shell",
    "docker": "dockerfile",
    "make": "makefile",
    "yaml": "yaml",
    "python": "python",
    "notebook": "notebook",
    "dotenv": "dotenv",
    "json": "json",
    "toml": "toml",
    "lua": "lua",
    "text": "text",
}
"""The words of ``--as``, and what the reader of files calls them."""
AS = Option("kind", "--as", "text", "What the files are, where their names do not tell.", choices=tuple(KINDS_OF))


def read_file(name: str) -> str:
    """The file's text as it stands. Raises BadSetting where it cannot be read."""
    if os.path.exists(name) and not os.path.isfile(name):
        raise bad_argument(f"--file {name!r} cannot be read: it is no regular file.")
    try:
        with open(name, encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError as error:
        hint = "If it is text of another encoding: iconv -f latin1 (or utf-16) -t utf-8 writes it as UTF-8."
        raise bad_argument(
            f"--file {name!r} cannot be read: byte {error.start + 1} is no UTF-8 text. {hint}"
        ) from error
    except (OSError, ValueError) as error:
        raise bad_argument(f"--file {name!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def kind_of(name: str, text: str, said: str | None) -> str:
    """The kind that is said, or that the name tells. Raises BadSetting where neither does."""
    from ..planning.files.file_kinds import file_kind

    kind = KINDS_OF[said] if said else file_kind(name, text)
    if kind is None:
        raise bad_argument(
            f"--file {name!r}: its name does not tell what kind of file this is.", f"Say it: --as {'|'.join(KINDS_OF)}."
        )
    return kind


def read_as(name: str, text: str, kind: str, reader: Callable[[str, str], Result]) -> Result:
    """What ``reader`` makes of the text as that kind. Raises BadSetting where it cannot."""
    try:
        with unwarned():
            return reader(text, kind)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise bad_argument(f"--file {name!r} cannot be read as {kind}: {error}.") from error


@contextmanager
def unwarned() -> Iterator[None]:
    """What Python warns of in a program (an escape that is none) is told to whoever runs it, not to whoever has it read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def text_of(words: tuple[str, ...], files: tuple[str, ...], command: str) -> str | None:
    """TEXT, where it is given; one that is the name of a file is told. Raises BadSetting where files are given as well."""
    if words and files:
        raise bad_argument("Give either TEXT or --file, not both.")
    if words and all(map(os.path.isfile, words)):
        hint = f"jaxgpu-tune {command} --file {' --file '.join(words)}"
        say(f"{words[0]} is a file. To look at what it sets: {hint}", sys.stderr)
    return " ".join(words) if words else None
