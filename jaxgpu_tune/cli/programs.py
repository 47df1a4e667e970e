"""Commands that run a program: where it begins on the command line."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from typing import Any

import click

from .parameters import COMMAND, Argument
from .real_options import Told

__all__ = ["Dashed"]

HELP = frozenset(("-h", "--help"))
DASHES = "--"


class Dashed(Told):
    """``[WORDS]… -- COMMAND…``: the words before the dashes are this command's own, those behind them the program to run.

    Without dashes the program begins at the first word that is none of ``own``, if there is such a command and no later
    word is an option of this one, too.
    """

    def __init__(self, *given: Any, own: Sequence[Argument] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        self.own = tuple(own)
        for one in self.params:  # that one is missing is told by the command, which knows the program, too
            if isinstance(one, click.Argument):
                one.required = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError where there is no program, or where it cannot be told whose an option is."""
        plain = DASHES not in args
        at = self._begins(args) if plain else args.index(DASHES)
        program = args[at:] if plain else args[at + 1 :]
        if plain and HELP.intersection(program):
            program, args = [], [*args[:at], "--help"]
        rest = super().parse_args(ctx, args[:at] if program else [one for one in args if one != DASHES])
        if not ctx.resilient_parsing:
            self._check(ctx, args[:at], program, plain=plain)
        ctx.params[COMMAND.name] = tuple(program)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """With the dashes and what follows."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]

    def _begins(self, args: Sequence[str]) -> int:
        """The place of the first word that is no option of this command, no value of one, and none of its own words."""
        options, own, at = self._options(), list(self.own), 0
        while at < len(args):
            name, equals, _ = args[at].partition("=")
            if name.startswith("-"):
                at += 1 if equals or not options.get(name) else 2
                continue
            while own and own[0].takes and not own[0].takes(args[at]):
                own.pop(0)
            if not own:
                return at
            if not own[0].many:
                own.pop(0)
            at += 1
        return len(args)

    def _options(self) -> dict[str, bool]:
        """Each spelling of an option, and whether a value follows."""
        options = (one for one in self.params if isinstance(one, click.Option))
        return {spelled: not one.is_flag for one in options for spelled in (*one.opts, *one.secondary_opts)}

    def _check(self, ctx: click.Context, before: list[str], program: list[str], *, plain: bool) -> None:
        if not program or (plain and shutil.which(program[0]) is None):
            raise click.UsageError("Write the command to run after two dashes: -- COMMAND...", ctx)
        if not program[0]:
            raise click.UsageError("The name of the command is empty.", ctx)
        both = [word for word in program if plain and word.partition("=")[0] in self._options()]
        if both:
            line = shlex.join([*ctx.command_path.split(), *before, DASHES, *program])
            whose = f"{both[0]} is an option of {ctx.command_path}, too"
            raise click.UsageError(f"{whose}: write two dashes before the command to run, such as: {line}", ctx)
