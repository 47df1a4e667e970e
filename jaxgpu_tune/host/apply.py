"""The only writer: puts a plan into this process's environment and into a live jax.config, and takes it back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from stat import S_ISFIFO

from ..errors import TooLate
from ..knowledge.installs import FAULT
from ..model import Decision, Finding, Observation, Processes, Report
from ..planning.merging.assemble import by_variable
from ..planning.release.target import option_of
from . import import_hook
from .marker import MARKER, before_us, marked, touched
from .phase import MISSING, option_value, users_of_jax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["announce", "apply", "former_options", "in_notebook", "last_applied", "restore"]

REEXECUTED = "JAXGPU_TUNE_REEXECUTED"
PROCESS = os.getpid()
"""Another one later on: this process was forked off."""
try:
    FOLDER = os.getcwd()
except OSError:
    FOLDER = os.curdir
"""Where this library was imported: the nearest to where the program began, which it may have left since."""
OR_WARN = "; or pass late='warn' to apply what still can be"
_former_options: dict[str, Any] = {}
_announced: set[Finding] = set()
_last: list[Report] = []


def apply(report: Report, observation: Observation, late: str) -> Report:
    """Carry out a plan, minding how far JAX has started; the report of what was really done."""
    behind = _too_late(report, observation) if observation.machine.phase == "started" else ()
    if behind and late == "raise":
        raise TooLate.of([_late_finding(behind, OR_WARN)])
    if behind and late == "reexec":
        _reexecute(report, observation, behind)
    done = _without(report, behind) if behind else report
    _write_environ(marked(observation.environ, done.environ), done.environ)
    _write_options(done.jax_config, report.machine.jax or report.machine.jaxlib)
    _last[:] = [done._replace(applied=True)]
    return _last[0]


def last_applied() -> Report | None:
    """The report that was carried out last in this process, unless it was taken back."""
    return _last[0] if _last else None


def restore() -> None:
    """Give back the variables and options that still hold what this library set."""
    former_options()
    _last.clear()
    import_hook.cancel()
    _write_environ(before_us(os.environ), (REEXECUTED,))
    config = _live_config()
    for name in list(_former_options):
        _give_back(config, name)


def in_notebook() -> bool:
    """Whether an IPython kernel or shell runs this code."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def _too_late(report: Report, observation: Observation) -> tuple[str, ...]:
    """The settings that are not in force yet and that nothing reads again once the backend has started."""
    final = marked(observation.environ, report.environ)
    ours = sorted({*report.environ, *touched(os.environ)})
    variables = [n for n in ours if not n.startswith("JAX_") and os.environ.get(n) != final.get(n)]
    release = report.machine.jax or report.machine.jaxlib
    config = _live_config()
    options = {**former_options(), **report.jax_config}
    frozen = [n for n, value in options.items() if _is_frozen(n, release) and option_value(config, n) != value]
    return (*variables, *frozen)


def _is_frozen(name: str, release: str | None) -> bool:
    spec = option_of(name, release)
    return spec is not None and spec.moment == "backend"


def _late_finding(names: tuple[str, ...], otherwise: str = "") -> Finding:
    message = f"JAX's backend has already started, so these can no longer take effect: {', '.join(names)}."
    users = users_of_jax()
    if users:
        message += f" Loaded packages that use jax, any of which may have started it when imported: {', '.join(users)}."
    where = (
        "Restart the kernel and make this the first cell"
        if in_notebook()
        else "Call configure() before the first use of a device"
    )
    return Finding("too-late", "warning", message, f"{where}{otherwise}.")


def _without(report: Report, behind: tuple[str, ...]) -> Report:
    """The plan without what comes too late, which is marked as such; a fault that it was to avoid is none the less there.

    What an earlier call set in its place is in force, and stays: child processes and ``restore()`` need it.
    """
    flags_late = "XLA_FLAGS" in behind
    reason = "JAX's backend has already started; it is read only before"

    def marked_late(decision: Decision) -> Decision:
        hit = decision.name in behind or (flags_late and decision.kind == "xla_flag")
        return (
            decision._replace(status="late", reason=f"{reason} ({decision.reason})")
            if hit and decision.status in ("set", "merged", "removed")
            else decision
        )

    decisions = tuple(map(marked_late, report.decisions))
    struck = {d.source.removeprefix(FAULT) for d in decisions if d.status == "late"}
    findings = (f._replace(severity="error") if f.code in struck else f for f in report.findings)
    return report._replace(
        xla_flags=os.environ.get("XLA_FLAGS", "") if flags_late else report.xla_flags,
        environ=_in_time(report.environ, behind, {n: os.environ.get(n) for n in touched(os.environ)}),
        jax_config=_in_time(report.jax_config, behind, {n: option_value(_live_config(), n) for n in _former_options}),
        decisions=decisions,
        findings=(*findings, _late_finding(behind)),
    )


def _in_time(wanted: Mapping[str, Any], behind: tuple[str, ...], ours: Mapping[str, Any]) -> dict[str, Any]:
    """What is wanted and not too late; and of what an earlier call set, what it is too late to change."""

    def is_late(name: str) -> bool:
        return name in behind or name.lower() in behind

    in_time = {name: value for name, value in wanted.items() if not is_late(name)}
    return in_time | {name: value for name, value in ours.items() if is_late(name)}


def _reexecute(report: Report, observation: Observation, behind: tuple[str, ...]) -> None:
    """Start this very program again with the settings in its environment: same argv, the folder at the start, once.

    What tells of it is the process's number, which stays: child processes, which inherit it, have another.
    """
    reason = _why_not_again()
    if reason:
        finding = _late_finding(behind, OR_WARN)
        raise TooLate.of(
            [finding._replace(message=f"{finding.message} Starting the program again is refused: {reason}.")]
        )
    sys.stdout.flush()
    sys.stderr.flush()
    environ = {**marked(observation.environ, report.environ), REEXECUTED: str(os.getpid())}
    os.chdir(_folder_at_start())
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)


def _why_not_again() -> str:
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


def _write_environ(final: Mapping[str, str], names: Iterable[str]) -> None:
    for name in {*names, *touched(os.environ), MARKER}:
        if name not in final:
            os.environ.pop(name, None)
        elif os.environ.get(name) != final[name]:
            os.environ[name] = final[name]


def _write_options(wanted: Mapping[str, Any], release: str | None) -> None:
    """Set a live jax's options; those of an earlier call that are no longer wanted get back what they had.

    Where jax is not imported yet, its import reads the variables, and what none carries is set right after it.
    """
    import_hook.cancel()
    config = _live_config()
    if config is not None:
        for name in [name for name in _former_options if name not in wanted]:
            _give_back(config, name)
        _update(config, wanted, release)
        return
    alone = {name: value for name, value in wanted.items() if name not in by_variable(wanted, release)}
    if alone:
        import_hook.when_imported("jax", lambda: _update(_live_config(), alone, release))


def _update(config: Any, wanted: Mapping[str, Any], release: str | None) -> None:
    for name, asked in wanted.items():
        former = option_value(config, name)
        value = _default(name, release) if asked is None else asked
        if former is not MISSING and former != value:
            _former_options[name] = (_former_options.get(name, (former,))[0], value)
            _set_option(config, name, value)


def _give_back(config: Any, name: str) -> None:
    former, ours = _former_options.pop(name)
    if option_value(config, name) == ours:
        _set_option(config, name, former)


def _set_option(config: Any, name: str, value: Any) -> None:
    from .compilation_cache import OPTIONS, look_anew

    config.update(name, value)
    if name in OPTIONS:
        look_anew()


def _default(name: str, release: str | None) -> Any:
    spec = option_of(name, release)
    return None if spec is None else spec.default


def former_options() -> dict[str, Any]:
    """The options that still hold what an earlier call set, with what they were before.

    Among them those that jax read, when it was imported, from variables that this process or its parent had set.
    """
    config = _live_config()
    if config is not None:
        from .option_variables import options_of_variables

        for name, pair in options_of_variables(touched(os.environ), sys.modules["jax"].__version__).items():
            _former_options.setdefault(name, pair)
    return {name: was for name, (was, ours) in _former_options.items() if option_value(config, name) == ours}


def _live_config() -> Any:
    return getattr(sys.modules.get("jax"), "config", None)


def announce(findings: Iterable[Finding], processes: Processes) -> None:
    """Warnings and errors go to the logger, once a process and on one process a host."""
    fresh = [f for f in findings if f.severity != "note" and f not in _announced]
    _announced.update(fresh)
    if not fresh or processes.local_rank not in (None, 0):
        return
    from logging import ERROR, WARNING, getLogger

    for finding in fresh:
        level = ERROR if finding.severity == "error" else WARNING
        getLogger("jaxgpu_tune").log(level, "jaxgpu_tune: %s", f"{finding.message} {finding.hint}".rstrip())
