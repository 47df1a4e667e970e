"""The only writer: puts a plan into this process's environment and into a live jax.config, and takes it back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from stat import S_ISFIFO
from typing import Any

from ..errors import TooLate
from ..model import Finding, Processes, Report
from ..planning.merging.assemble import by_variable, options_behind
from ..planning.release.target import option_of
from ..planning.settings.setting_names import GUARD_OPTIONS, GUARD_UMBRELLA
from ..state import State, Texts
from ..wording import told_once
from .marker import read_state, touched
from .phase import MISSING, live_options, process_value

__all__ = [
    "announce",
    "changed_behind_import",
    "changed_options",
    "finish_writing",
    "former_options",
    "give_back",
    "in_notebook",
    "last_applied",
    "put",
    "reexecute",
    "why_not_again",
]

REEXECUTED = "JAXGPU_TUNE_REEXECUTED"
PROCESS = os.getpid()
"""Another one later on: this process was forked off."""
try:
    FOLDER = os.getcwd()
except OSError:
    FOLDER = os.curdir
"""Where this library was imported: the nearest to where the program began, which it may have left since."""
_former_options: dict[str, Any] = {}
_has_read: list[str] = []
"""The jax whose import has read variables of ours, once it was seen; what is written later it does not read."""
_beneath: dict[str, Any] = {}
"""What the three transfer guards were before the option was set that sets them all."""
_announced: set[Finding] = set()
_last: list[Report] = []
_pending: list[Mapping[str, str | None]] = []


def put(report: Report, changes: Mapping[str, str | None]) -> None:
    """Carry out a plan: ``changes`` of the environment, the marker's included, and its options."""
    former_options()
    _write_environ(changes)
    _write_options(report.jax_config, report.machine.jax or report.machine.jaxlib)
    _watch()
    _last[:] = [report]


def give_back(changes: Mapping[str, str | None]) -> None:
    """Change the environment back, and the options that still hold what this library set."""
    former_options()
    _last.clear()
    _stop_waiting()
    _write_environ({**changes, REEXECUTED: None})
    config = live_options()
    for name in list(_former_options):
        _give_back(config, name)


def last_applied() -> Report | None:
    """The report that was carried out last in this process, unless it was taken back."""
    return _last[0] if _last else None


def in_notebook() -> bool:
    """Whether an IPython kernel or shell runs this code."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def reexecute(finding: Finding, final: Mapping[str, str]) -> None:
    """Start this very program again with the environment ``final``: same argv, the folder at the start, once.

    What tells of it is the process's number, which stays: child processes, which inherit it, have another.
    ``finding``: what is too late here. Raises TooLate where starting again would do harm.
    """
    reason = why_not_again()
    if reason:
        raise TooLate.of(
            [finding._replace(message=f"{finding.message} Starting the program again is refused: {reason}.")]
        )
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(_folder_at_start())
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**final, REEXECUTED: str(os.getpid())})


def why_not_again() -> str:
    """Why starting the program again would do harm or fail; empty where it would not."""
    reasons = {
        "it was done once already and the backend still starts before configure()": (
            os.environ.get(REEXECUTED) == str(os.getpid())
        ),
        "a notebook's kernel would lose its cells": in_notebook(),
        "pytest runs this process": "pytest" in sys.modules,
        "this is a worker of the program, which would run a second time beside itself": _is_worker(),
        "its text came through a pipe or the keyboard and cannot be read again": _is_read_once(),
        "the folder in which it began is gone": not os.path.isdir(_folder_at_start()),
        "the interpreter's path is unknown": not sys.executable,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _is_worker() -> bool:
    """Whether this process was forked off, or started by multiprocessing: its command line is not its own."""
    started_by = sys.modules.get("multiprocessing.process")
    return os.getpid() != PROCESS or (started_by is not None and started_by.parent_process() is not None)


def _is_read_once() -> bool:
    """Whether Python read the program from something that gives it only once: stdin, a pipe, a terminal."""
    file = _program_file()
    if file in ("", "<stdin>"):
        return sys.argv[:1] != ["-c"]
    return os.path.exists(file) and S_ISFIFO(os.stat(file).st_mode)


def _folder_at_start() -> str:
    """The folder that a script's path was relative to; for everything else the one in which this library was imported."""
    file = _program_file() if getattr(sys.modules["__main__"], "__spec__", None) is None else ""
    words = [word for word in sys.orig_argv[1:] if word and (word == file or file.endswith(f"{os.sep}{word}"))]
    return FOLDER if not words or words[0] == file else file.removesuffix(words[0])


def _program_file() -> str:
    """The absolute path of the script or module that is run; empty if there is none."""
    return getattr(sys.modules["__main__"], "__file__", None) or ""


def _write_environ(changes: Mapping[str, str | None]) -> None:
    """Make the changes. What a signal handler's call finds half done it does first, and this is then done already."""
    _pending[:] = [changes]
    for name, value in changes.items():
        if not _pending or _pending[0] is not changes:
            return
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _pending.clear()


def finish_writing() -> None:
    """Do the rest of what the code that this one interrupts was writing."""
    if _pending:
        _write_environ(dict(_pending[0]))


def _write_options(wanted: Mapping[str, Any], release: str | None) -> None:
    """Set a live jax's options; those of an earlier call that are no longer wanted get back what they had.

    Where jax is not imported yet, its import reads the variables, and what none carries is set right after it.
    """
    _stop_waiting()
    config = live_options()
    if config is not None:
        for name in [name for name in _former_options if name not in wanted]:
            _give_back(config, name)
        _update(config, wanted, release)
        return
    alone = {name: value for name, value in wanted.items() if name not in by_variable(wanted, release)}
    if alone:
        from . import import_hook

        import_hook.when_imported("jax", lambda: _update(live_options(), alone, release))


def _stop_waiting() -> None:
    """What was to be done once jax is imported is not to be done any more."""
    hook = sys.modules.get(f"{__package__}.import_hook")
    if hook is not None:
        hook.cancel()


def _update(config: Any, wanted: Mapping[str, Any], release: str | None) -> None:
    """Set the options. What each was is looked at before the first is set: the umbrella of the transfer guards sets others, too."""
    before = {name: process_value(config, name) for name in (*wanted, *GUARD_OPTIONS)}
    for name, asked in wanted.items():
        former = before[name]
        value = _default(name, release) if asked is None else asked
        if former is MISSING or (former == value and process_value(config, name) == value):
            continue
        if name == GUARD_UMBRELLA:
            _beneath.update({one: before[one] for one in GUARD_OPTIONS if one not in _beneath})
        was, ours = _former_options.get(name, (former, former))
        if _set_option(config, name, value):
            _former_options[name] = (was if former == ours else former, value)


def _watch() -> None:
    """An option that is asked for is watched where it held that already, too: what the user makes of it later is the user's."""
    config, state = live_options(), read_state(os.environ) or State()
    for name in [variable.lower() for variable in state.variables if config is not None and variable[:4] == "JAX_"]:
        value = process_value(config, name)
        if value is not MISSING:
            _former_options.setdefault(name, (value, value))


def _give_back(config: Any, name: str) -> None:
    former, ours = _former_options.pop(name)
    if former == ours or process_value(config, name) != ours:
        return
    guards = {one: process_value(config, one) for one in GUARD_OPTIONS if name == GUARD_UMBRELLA}
    _set_option(config, name, former)
    for one, value in guards.items():  # jax has just set them, too
        own = one in _former_options or value != ours
        _set_option(config, one, value if own else _beneath.get(one, former))
    if guards:
        _beneath.clear()


def _set_option(config: Any, name: str, value: Any) -> bool:
    """Whether jax takes it: a few options it refuses to change, back either, once its backend has started."""
    from .compilation_cache import OPTIONS, look_anew

    try:
        config.update(name, value)
    except RuntimeError:
        return False
    if name in OPTIONS:
        look_anew()
    return True


def _default(name: str, release: str | None) -> Any:
    spec = option_of(name, release)
    return None if spec is None else spec.default


def former_options() -> dict[str, Any]:
    """The options that still hold what an earlier call set, with what they were before.

    Among them those that jax read, when it was imported, from variables that this process or its parent had set.
    """
    config = live_options()
    if config is not None and not _has_read:
        from .option_variables import options_of_variables

        _has_read.append(sys.modules["jax"].__version__)
        for name, pair in options_of_variables(touched(os.environ), _has_read[0]).items():
            _former_options.setdefault(name, pair)
    return {name: was for name, (was, ours) in _former_options.items() if process_value(config, name) == ours}


def changed_options() -> dict[str, Any]:
    """The options that no longer hold what an earlier call set, with what they are now."""
    still, config = former_options(), live_options()
    return {name: process_value(config, name) for name in _former_options if name not in still}


def changed_behind_import(environ: Mapping[str, str]) -> dict[str, Texts]:
    """The variables that were changed after jax had read them: their options still hold what this library made of them."""
    config = live_options()
    if config is None:
        return {}
    made = {name for name, was in former_options().items() if was != process_value(config, name)}
    state = read_state(environ) or State()
    changed = {name: pair for name, pair in state.variables.items() if environ.get(name) != pair[1]}
    return {name: pair for name, pair in changed.items() if made.issuperset(options_behind(name))}


def announce(findings: Iterable[Finding], processes: Processes) -> None:
    """Warnings and errors go to the logger, once a process and on one process a host."""
    fresh = [f for f in findings if f.severity != "note" and f not in _announced]
    _announced.update(fresh)
    if not fresh or processes.local_rank not in (None, 0):
        return
    from logging import ERROR, WARNING, getLogger

    for finding in told_once(fresh):
        level = ERROR if finding.severity == "error" else WARNING
        getLogger("jaxgpu_tune").log(level, "jaxgpu_tune: %s", f"{finding.message} {finding.hint}".rstrip())
