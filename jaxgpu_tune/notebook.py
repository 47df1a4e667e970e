"""The IPython extension: ``%load_ext jaxgpu_tune``, then ``%jaxgpu_tune fsdp --memory-fraction 0.9``."""

from __future__ import annotations

import re
from typing import Any

from .errors import JaxGpuTuneError
from .model import Report

__all__ = ["configure_line", "load", "unload"]

NAME = "%jaxgpu_tune"
_shell: list[Any] = []
"""The InteractiveShell that the extension was loaded into."""
_untold: list[Report] = []
"""Reports of the cell that runs, whose warnings are told by showing them, or else at its end."""


def load(ipython: Any) -> None:
    """Register the magic ``%jaxgpu_tune`` with an InteractiveShell."""
    ipython.register_magic_function(configure_line, "line", "jaxgpu_tune")
    if ipython not in _shell:
        _shell[:] = [ipython]
        ipython.events.register("post_run_cell", _after_cell)


def unload(ipython: Any) -> None:
    """Take the magic out of a shell. What it has set stays, for it may be read already; that is said, with how to take it back."""
    ipython.magics_manager.magics["line"].pop("jaxgpu_tune", None)
    if ipython in _shell:
        _after_cell()
        ipython.events.unregister("post_run_cell", _after_cell)
        _shell.clear()
    if told := _what_stays():
        from .cli.output import say

        say(told)


def _what_stays() -> str:
    from .host.phase import phase
    from .session import asked_by

    if not asked_by(NAME):
        return ""
    if phase() == "started":
        return f"What {NAME} has set stays until the kernel is restarted: JAX has read it."
    return f"What {NAME} has set stays. The report's restore() takes it back: Out[n].restore() of its cell."


def configure_line(line: str) -> Report | None:
    """``configure()`` with the options that ``jaxgpu-tune env`` takes; ``--help`` lists them and returns None.

    Raises IPython's UsageError for what is wrong, which a notebook shows in a line; without IPython what ``configure()`` raises.
    """
    from click import ClickException

    try:
        return _configured(line)
    except ClickException as error:
        raise _usage_error(error, f"{error.format_message()}\n{NAME} --help lists the options.") from None
    except (JaxGpuTuneError, ValueError) as error:
        raise _usage_error(error, str(error)) from None


def _configured(line: str) -> Report | None:
    from shlex import split

    from .api import configure_as
    from .cli.group import magic

    given = magic.main(split(line), prog_name=NAME, standalone_mode=False)
    if not isinstance(given, dict):
        return None
    report = configure_as(NAME, announced=not _shell, **given)
    if _shell:
        _untold.append(report)
    return report


def _after_cell(result: Any = None) -> None:
    """Tell the warnings of each report that the cell did not show."""
    from .api import announce

    shown = getattr(result, "result", None)
    for report in _untold:
        if report is not shown:
            announce(report)
    _untold.clear()


def _usage_error(error: Exception, message: str) -> Exception:
    """IPython shows a UsageError without the lines of code that led to it."""
    if not _shell:
        return error
    from IPython.core.error import UsageError

    found: Exception = UsageError(f"{NAME}: {_spelled(message)}")
    return found


def _spelled(text: str) -> str:
    """Arguments as the magic spells them: ``late='warn'`` is ``--late warn``."""
    from .cli.call_options import PLAN
    from .cli.group import LATE
    from .cli.parameters import Option

    for option in (*PLAN, LATE):
        if isinstance(option, Option):
            spelled = option.spelled
            if option.kind in ("on_off", "switch"):
                text = re.sub(rf"\b{option.name}=True\b", spelled, text)
                text = re.sub(rf"\b{option.name}=False\b", f"--no-{spelled[2:]}", text)
            text = re.sub(rf"(?<![\w-]){option.name}=['\"]?([\w./+-]*\w)?['\"]?", rf"{spelled} \1", text)
    return text
