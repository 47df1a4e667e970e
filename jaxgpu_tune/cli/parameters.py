"""What a command takes, as data: read by click for help, completion and mistakes, and by ``plain`` where all is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..values import Value

__all__ = ["COMMAND", "JSON", "Argument", "Option"]

Kind = Literal["text", "number", "switch", "on_off", "many"]


class Option(Value):
    """``--spelled``, handed to the command as ``name``.

    ``kind``: "text" and "number" (a whole one) take a value, one of ``choices`` if there are any; "many" may be
    repeated; a "switch" is True where it is given; "on_off" has a ``--no-`` form too and is None where neither is given.
    ``completes``: what the shell offers for its value, as ``completion.offers`` calls it.
    """

    name: str
    spelled: str
    kind: Kind
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    completes: str = ""

    @property
    def absent(self) -> Any:
        """The value where the option is not given."""
        return {"many": (), "switch": False}.get(self.kind, self.default)


class Argument(Value):
    """A word without dashes; ``many``: all of them, those that begin with dashes and are no option included.

    ``takes``: whether a word is meant so, where a program may follow without dashes; None: the first word is.
    """

    name: str
    metavar: str
    many: bool = False
    required: bool = False
    default: Any = None
    completes: str = ""
    takes: Callable[[str], bool] | None = None

    @property
    def absent(self) -> Any:
        """The value where no word is given."""
        return () if self.many else self.default


JSON = Option("as_json", "--json", "switch", "Print JSON.")
COMMAND = Argument("program", "-- COMMAND...", many=True)
"""The program to run: it comes last, behind two dashes."""
