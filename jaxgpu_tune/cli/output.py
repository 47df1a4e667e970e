"""What the commands print, and the exit code that follows from it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from ..errors import JaxGpuTuneError
from ..model import Finding
from ..values import jsonable

__all__ = ["OLDER", "exit_code", "finish", "library_version", "print_json", "say", "show", "tell"]

FOUND, WRONG_USE, INTERRUPTED = 1, 2, 130
OLDER = {"variable": "env"}
"""Options that are called otherwise now, and work still; no help lists them."""
STYLES = {
    r"^error\b.*?:": "bold red",
    r"^warning\b.*?:": "bold yellow",
    r"^note\b.*?:": "bold",
    r"^\+.*": "green",
    r"^-.*": "red",
}
"""How lines that begin so look on a terminal."""


def library_version() -> str:
    """This library's own, which it knows where it is not installed, too."""
    from importlib import import_module

    return str(import_module("..", __package__).__version__)


def finish(command: Callable[..., int], given: Mapping[str, Any]) -> int:
    """Call a command; its exit code, 2 where an argument is wrong, 1 for any other error of this library, 130 after Ctrl-C."""
    for old, new in OLDER.items():
        if given.get(old) or given.get(f"no_{old}"):
            say(f"note: --{old} and --no-{old} are called --{new} and --no-{new} now; they work still.", sys.stderr)
    try:
        status = command(**given)
        sys.stdout.flush()
    except JaxGpuTuneError as error:
        say(f"jaxgpu-tune: {error}", sys.stderr)
        return WRONG_USE if isinstance(error, ValueError) else FOUND
    except UnicodeEncodeError as error:
        missing = error.object[error.start : error.end]
        say(f"jaxgpu-tune: stdout is {error.encoding}, which has no {missing!a}; set PYTHONUTF8=1.", sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        say("jaxgpu-tune: interrupted.", sys.stderr)
        return INTERRUPTED
    except OSError as error:
        # Nothing more can be said on stdout; what is still buffered must not raise again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # who read this has gone, as `head` does
            return FOUND
        say(f"jaxgpu-tune: {error}", sys.stderr)
        return WRONG_USE
    return status


def say(text: str, stream: TextIO | None = None) -> None:
    """A line, or several, without colours; bytes of the environment that are no text pass as they are."""
    print(text.encode(errors="surrogateescape").decode(errors="replace"), file=stream or sys.stdout)


def show(text: str) -> None:
    """Lines for a person: with colours on a terminal that has them and where NO_COLOR does not forbid it."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        say(text)
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for pattern, style in STYLES.items():
        styled.highlight_regex(f"(?m){pattern}", style)
    Console(highlight=False).print(styled, soft_wrap=True)


def print_json(value: Any, stream: TextIO | None = None) -> None:
    """``value``; this library's values as objects."""
    import json

    say(json.dumps(jsonable(value), indent=2, ensure_ascii=False), stream)


def tell(findings: Iterable[Finding]) -> None:
    """Errors and warnings on stderr, where no shell evaluates them."""
    shown = [finding for finding in findings if finding.severity != "note"]
    if shown:
        from ..render.text import findings_text

        say(findings_text(shown), sys.stderr)


def exit_code(findings: Iterable[Finding]) -> int:
    """1 if one of them is an error."""
    return FOUND if any(finding.severity == "error" for finding in findings) else 0
