"""The command line in click: help, completion, and what is wrong with a command line. Built from the commands' data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from .call_options import PLAN, plan_arguments
from .output import OLDER, finish, library_version
from .parameters import COMMAND, Argument, Option
from .programs import Dashed
from .real_options import Told

__all__ = ["COMMANDS", "group", "magic"]

COMMANDS = (
    "plan",
    "run",
    "env",
    "doctor",
    "check",
    "explain",
    "presets",
    "profile",
    "compare",
    "tune",
    "bisect",
    "pgle",
    "flags",
    "diff",
    "migrate",
    "detect",
)
"""In the order of the help: set up, find what is wrong, measure, look up. Each is the module of its name."""
HELP = """Set up JAX on NVIDIA GPUs: XLA flags, environment variables and jax.config options, each with its reason.

\b
Begin with:
  jaxgpu-tune doctor                                what is wrong here, if anything
  jaxgpu-tune presets                               the named sets of settings
  jaxgpu-tune plan fsdp                             what one would do here
  jaxgpu-tune run fsdp -- python train.py           your program with it
  jaxgpu-tune compare none fsdp -- python train.py  whether it pays

Exit code: 0 fine, 1 an error was found, 2 wrong use, 130 Ctrl-C. Every command takes --help, with examples, and
--json. Output is plain where it is piped or NO_COLOR is set, and as wide as the terminal (or COLUMNS).
"""
COMPLETION = """\b
Completion of commands and options, for bash (zsh and fish alike):
  eval "$(_JAXGPU_TUNE_COMPLETE=bash_source jaxgpu-tune)"
  _JAXGPU_TUNE_COMPLETE=fish_source jaxgpu-tune | source"""
PATHS = {
    "FILE": click.Path(dir_okay=False, readable=False),
    "FOLDER": click.Path(file_okay=False, readable=False),
    **dict.fromkeys(("FILE|FOLDER", "SOURCE"), click.Path(readable=False)),
}
"""What a placeholder that names a path takes. Shells complete it; whether it can be read is told by who reads it."""
LATE = Option(
    "late", "--late", "text", "If the backend has started: raise (default), or apply what can be.", "raise|warn"
)


class LazyGroup(click.Group):
    """Imports a command's module when that command is asked for: one of ``names``, below ``package``."""

    def __init__(
        self, *given: Any, names: Sequence[str] = COMMANDS, package: str = __package__ or "", **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self.names, self.package = names, package

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names, in order."""
        return list(self.names)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None if there is none."""
        return _command(cmd_name, self.package) if cmd_name in self.names else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named. Raises UsageError with the nearest name and all that there are."""
        if args[0] not in self.names and not ctx.resilient_parsing and not args[0].startswith("-"):
            near = _meant(args[0], self.names)
            raise click.UsageError(
                f"No such command {args[0]!r}; allowed: {', '.join(self.names)}. {near}".strip(), ctx
            )
        return super().resolve_command(ctx, args)


def _meant(word: str, names: Iterable[str]) -> str:
    """What a word is that is no command here: a preset, a command of another group, a function, a setting; or the nearest command."""
    from ..knowledge.presets import preset_names
    from ..knowledge.real_names import real_name
    from ..wording import did_you_mean
    from .pgle import COMMANDS as OF_PGLE

    if word in preset_names():
        return f"It is a preset: jaxgpu-tune plan {word}, or jaxgpu-tune run {word} -- COMMAND..."
    group = next((prefix for prefix, has in ((" pgle", OF_PGLE), ("", COMMANDS)) if word in has), None)
    if group is not None:
        return f"Write jaxgpu-tune{group} {word}."
    if word in import_module(__name__.partition(".")[0]).__all__ and word.islower():
        return f"It is a function: call jaxgpu_tune.{word}() in the program."
    real = real_name(word)
    return f"It is {real.what}: jaxgpu-tune explain {word}" if real else did_you_mean(word, names)


class Words(click.Command):
    """``[TEXT]…``: words of any form, those that begin with dashes included, which the shell completes, too."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """This command's options, and the names that its words may be."""
        words = [one for one in self.params if isinstance(one, click.Argument)]
        return [
            *super().shell_complete(ctx, incomplete),
            *(i for one in words for i in one.shell_complete(ctx, incomplete)),
        ]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=HELP, epilog=COMPLETION)
@click.version_option(library_version())
def group() -> None:
    """The command ``jaxgpu-tune``."""


def _command(name: str, package: str) -> click.Command:
    module = import_module(f".{name}", package)
    if hasattr(module, "COMMANDS"):
        return LazyGroup(name, names=module.COMMANDS, package=module.__name__, **_told(module))

    @click.pass_context
    def call(context: click.Context, /, **given: Any) -> None:
        context.exit(finish(module.command, given))

    arguments = [p for p in module.PARAMETERS if isinstance(p, Argument)]
    dashed = arguments[-1:] == [COMMAND]
    takes_anything = not dashed and any(p.many and not p.required for p in arguments)
    kind: Any = partial(Dashed, own=arguments[:-1]) if dashed else Words if takes_anything else Told
    found: click.Command = kind(
        name,
        callback=call,
        params=[_parameter(one) for one in module.PARAMETERS if one != COMMAND],
        **_told(module.command),
        epilog=_examples(module.EXAMPLES),
        context_settings={"ignore_unknown_options": takes_anything},
    )
    return found


def _told(it: object) -> dict[str, Any]:
    """What ``--help`` says: its docstring, which ``python -OO`` leaves out."""
    text = it.__doc__ or ""
    return {"help": text, "short_help": text.partition("\n")[0]}


def _parameter(given: Option | Argument) -> click.Parameter:
    if isinstance(given, Argument):
        many = _of_argument(given)
        return click.Argument([given.name], metavar=given.metavar, required=given.required, **many, **_completed(given))
    spelled = f"{given.spelled}/--no-{given.spelled[2:]}" if given.kind == "on_off" else given.spelled
    more: dict[str, Any] = {"metavar": given.metavar} if given.metavar else {}
    if given.kind == "switch":
        more["is_flag"] = True
    elif given.kind == "number":
        more["type"] = int
    elif given.metavar in PATHS:
        more["type"] = PATHS[given.metavar]
    elif given.choices:
        more["type"] = click.Choice(given.choices)
    many_times = given.kind == "many"
    default = {} if many_times or given.kind == "switch" else {"default": given.default, "show_default": True}
    more["hidden"] = given.name.removeprefix("no_") in OLDER
    return click.Option(
        [given.name, spelled], help=given.help, multiple=many_times, **default, **more, **_completed(given)
    )


def _of_argument(given: Argument) -> dict[str, Any]:
    path = PATHS.get(given.metavar.strip("[]."))
    if given.many:
        return {"nargs": -1, "type": path or click.UNPROCESSED}
    default = {} if given.required else {"default": given.default}  # click takes None for a value that is there
    return {**default, **({"type": path} if path else {})}


def _completed(given: Option | Argument) -> dict[str, Any]:
    if not given.completes:
        return {}

    def complete(_ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from .completion import offers

        found = [CompletionItem(word) for word in offers(given.completes, begun)]
        return found or [CompletionItem(begun, type="file")]

    return {"shell_complete": complete}


def _examples(examples: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(
        ["\b", "Examples:", *(line for command, does in examples for line in (f"  # {does}", f"  {command}"))]
    )


def _magic(preset: str, **given: Any) -> dict[str, Any]:
    return {"preset": preset, **plan_arguments(given)}


magic = Told(
    "jaxgpu_tune",
    callback=_magic,
    params=[_parameter(parameter) for parameter in (*PLAN, LATE)],
    help="Set up JAX in this kernel, before the first use of a device.",
)
