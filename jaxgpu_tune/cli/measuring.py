"""What the commands that run a program again and again have in common: options, and how durations, shares and patterns are read."""

from __future__ import annotations

import os
import re
import signal
from functools import partial

from ..errors import BadSetting, JaxGpuTuneError
from ..measure.checks import seconds_of
from ..wording import bad_argument, is_above_zero
from .parameters import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from ..measure.tuning.how import How


__all__ = [
    "BUDGET",
    "HIGHER",
    "METRIC",
    "PAIRS",
    "SECONDS",
    "TIMEOUT",
    "WHOLE",
    "all_of",
    "check_metric",
    "check_output",
    "check_regex",
    "duration",
    "end_as_by_ctrl_c",
    "how_of",
    "lengths",
    "limit",
    "share",
]

SECONDS = Option("seconds", "--seconds", "text", "Steady state to measure in each run.", "N", default="3")
TIMEOUT = Option("timeout", "--timeout", "text", "Give a run up after that long.", "90s|5m")
WHOLE = Option("whole", "--whole", "switch", "Let each run finish, and go by its whole time, or by --metric.")
BUDGET = Option("budget", "--budget", "text", "Begin no round that would end later.", "90s|20m")
PAIRS = Option("pairs", "--pairs", "number", "Pairs of runs; fewer than six show no difference.", "N", default=6)
HIGHER = Option("higher_is_better", "--higher-is-better", "switch", "More of the metric is better.")
METRIC = (
    Option(
        "metric", "--metric", "text", "Go by numbers in the output instead of steps: a regular expression.", "REGEX"
    ),
    HIGHER,
)
"""Of a search: what it goes by."""


def end_as_by_ctrl_c() -> None:
    """From now on SIGTERM and SIGHUP, as Ctrl-C, end the program that runs and show what there is; what nohup ignores stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def how_of(program: tuple[str, ...], given: Mapping[str, Any], folder: Path) -> How:
    """How a search runs and judges the program. Raises BadSetting for what cannot be meant."""
    from ..measure.tuning.how import How

    seconds, timeout, *_ = all_of(
        lambda: duration(given["seconds"], "--seconds"),
        lambda: limit(given["timeout"], "--timeout"),
        lambda: check_metric(given),
        lambda: check_regex("--numbers", given["numbers"]),
    )
    return How(
        tuple(program),
        folder.absolute(),
        seconds,
        "metric" if given["metric"] else "whole" if given["whole"] else "steps",
        given["metric"],
        given["higher_is_better"],
        given["numbers"],
        timeout=timeout,
        whole=given["whole"],
    )


def check_metric(given: Mapping[str, Any]) -> None:
    """Raises BadSetting for a pattern that is none, and for --higher-is-better without one."""
    check_regex("--metric", given["metric"])
    if given["higher_is_better"] and not given["metric"]:
        raise bad_argument("--higher-is-better needs --metric: of times, less is better.")


def all_of(*reads: Callable[[], Any]) -> list[Any]:
    """What each gives. Where one raises a JaxGpuTuneError, raises that; where several do, a BadSetting of all of them."""
    given = [_result_of(read) for read in reads]
    wrong = [one for one in given if isinstance(one, JaxGpuTuneError)]
    findings = dict.fromkeys(one for error in wrong for one in error.findings)
    if wrong:
        raise wrong[0] if len(findings) < 2 else BadSetting.of(findings)
    return given


def _result_of(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except JaxGpuTuneError as error:
        return error


def duration(text: str, option: str) -> float:
    """Seconds for "90", "90s", "5m" or "1.5h". Raises BadSetting for anything else."""
    try:
        found = seconds_of(text)
    except ValueError:
        found = 0.0
    if not is_above_zero(found):
        raise bad_argument(f"{option} {text!r} is no duration.", "Allowed: a number of seconds, or 90s, 20m, 1.5h.")
    return found


def limit(text: str | None, option: str) -> float | None:
    """Seconds as ``duration`` reads them; None where there is no limit."""
    return None if text is None else duration(text, option)


def lengths(given: Mapping[str, Any]) -> dict[str, Any]:
    """In seconds, as a protocol takes them: what --seconds, --timeout and --budget say."""
    names = ("seconds", "timeout", "budget")
    return dict(zip(names, all_of(*(partial(limit, given[name], f"--{name}") for name in names)), strict=True))


def share(text: str) -> float:
    """0.05 for "5%" or "0.05"; NaN, which no bound admits, for what is no number."""
    try:
        return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return float("nan")


def check_regex(option: str, text: str | None) -> None:
    """Raises BadSetting for what is no regular expression."""
    try:
        re.compile(text or "")
    except re.error as error:
        raise bad_argument(f"{option} {text!r} is not a regular expression: {error}.") from error


def check_output(option: str, path: str | None) -> None:
    """Raises BadSetting where no file can be written: before hours are spent, not after."""
    place = os.path.abspath(path or "")
    folder = os.path.dirname(place)
    if path and not os.path.isdir(folder):
        raise bad_argument(f"{option} {path!r}: there is no such folder.")
    if path and not os.access(place if os.path.exists(place) else folder, os.W_OK):
        raise bad_argument(f"{option} {path!r} cannot be written.", f"Write {option} FILE, in a folder of your own.")
