"""Durations, shares and regular expressions of a command line."""

from __future__ import annotations

import math
import signal
import time
from pathlib import Path

import pytest

from jaxgpu_tune.cli.measuring import SECONDS, check_regex, duration, end_as_by_ctrl_c, how_of, lengths, limit, share
from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.protocol import Protocol
from jaxgpu_tune.measure.statistics import PAIRS
from tests.cli.typed import call, measured


def test_what_is_measured_by_default() -> None:
    """A command and a call of the function measure alike."""
    asked = Protocol()
    assert (asked.seconds, asked.pairs, asked.caches) == (duration(SECONDS.default, "--seconds"), PAIRS, "cold")
    assert not asked.whole and not asked.higher_is_better


@pytest.mark.parametrize("number", ["INT", "TERM", "HUP"])
@pytest.mark.parametrize("words", [("bisect", "--flags=--xla_a=1"), ("tune",)])
def test_ctrl_c_ends_a_search_and_keeps_what_is_there(words: tuple[str, ...], number: str, tmp_path: Path) -> None:
    """With the exit code of an interrupted command; a scheduler's signal and a closed terminal are taken alike."""
    ended = measured(tmp_path, *words, "--", "sh", "-c", f"kill -{number} $PPID; exec sleep 600")
    assert ended.status == 130
    assert "Interrupted; every finished run is kept, and started again it goes on." in ended.stderr


@pytest.mark.parametrize("words", [("compare", "none", "clean"), ("pgle", "check")])
def test_ctrl_c_before_anything_was_measured_claims_and_leaves_nothing(words: tuple[str, ...], tmp_path: Path) -> None:
    """No variant has failed, and XLA was asked nothing."""
    ended = measured(tmp_path, *words, "--", "sh", "-c", "kill -INT $PPID; exec sleep 600", JAX_PLATFORMS="cpu")
    assert ended.status == 130 and "It was interrupted" in ended.stdout and "no pair was measured" in ended.stdout
    assert "failed" not in ended.stdout and "pgle-" not in ended.stdout and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "none", "clean"),
        ("compare", "none", "clean", "--save", "{place}/x"),
        ("compare", "none", "clean", "--result", "{place}/x"),
        ("profile", "--html", "{place}/x"),
        ("tune", "--out", "{place}/x.toml"),
        ("pgle", "record", "--to", "{place}/x.pbtxt"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_cannot_be_written_is_told_before_the_program_runs(
    words: tuple[str, ...], there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is not there, or is somebody else's, as is the present one, where `compare` leaves a file unasked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    place = tmp_path if there else tmp_path / "missing"
    told = call(*(word.format(place=place) for word in words), "--", "touch", str(tmp_path / "ran"))
    assert told.exit_code == 2 and ("cannot be written" in told.stderr or "folder" in told.stderr)
    assert list(tmp_path.iterdir()) == []


def test_durations() -> None:
    """With a unit or in seconds; nothing else, and nothing that is not positive."""
    assert [duration(text, "--budget") for text in ("90", "90s", "1.5h")] == [90.0, 90.0, 5400.0]
    assert (limit("2m", "--timeout"), limit(None, "--timeout")) == (120.0, None)
    for text in ("", "m", "-1", "nan", "1d"):
        with pytest.raises(BadSetting, match="--budget"):
            duration(text, "--budget")


def test_shares() -> None:
    """With a percent sign or without; what is no number passes no bound."""
    assert [share(text) for text in ("5%", "0.05", "0")] == [0.05, 0.05, 0.0]
    assert math.isnan(share("much")) and math.isnan(share("%"))


def test_regular_expressions() -> None:
    """None was given, or it can be used; else the error names the option."""
    check_regex("--metric", None)
    check_regex("--metric", r"loss (\d+)")
    with pytest.raises(BadSetting, match="--metric '\\(' is not a regular expression"):
        check_regex("--metric", "(")


def test_how_a_search_judges_the_program(tmp_path: Path) -> None:
    """By the metric where there is one, by the whole run where that is asked for, else by steps."""
    given = {
        "seconds": "5",
        "timeout": "2m",
        "metric": None,
        "higher_is_better": False,
        "numbers": None,
        "whole": False,
    }
    how = how_of(("a", "b"), given, tmp_path)
    assert (how.command, how.folder, how.seconds, how.clock) == (("a", "b"), tmp_path, 5.0, "steps")
    assert (how.metric, how.higher_is_better, how.numbers, how.timeout, how.whole) == (None, False, None, 120.0, False)
    metric = how_of(
        ("a",), {**given, "metric": "x(.*)", "higher_is_better": True, "whole": True, "numbers": "y"}, tmp_path
    )
    assert (metric.clock, metric.metric, metric.higher_is_better, metric.numbers) == ("metric", "x(.*)", True, "y")
    assert how_of(("a",), {**given, "whole": True}, tmp_path).clock == "whole"
    for wrong in ({"metric": "("}, {"numbers": "("}, {"seconds": "0"}, {"timeout": "x"}):
        with pytest.raises(BadSetting):
            how_of(("a",), {**given, **wrong}, tmp_path)
    with pytest.raises(BadSetting, match="needs --metric"):
        how_of(("a",), {**given, "higher_is_better": True}, tmp_path)


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (
            "tune --budget x --seconds 0 --tolerance 3 --kind loop --metric ( --try-flag xla_gpu_foo=1",
            ["--budget 'x'", "--seconds '0'", "--tolerance '3'", "--kind 'loop'", "--metric '('", "xla_gpu_foo"],
        ),
        ("bisect --slower x --seconds 0 --numbers ( --preset fspd", ["--slower", "--seconds", "--numbers", "'fspd'"]),
        ("compare none fsdp --seconds x --timeout x --budget x", ["--seconds", "--timeout", "--budget"]),
    ],
)
def test_all_that_is_wrong_is_told_at_once(line: str, problems: list[str]) -> None:
    told = call(*line.split(), "--", "true")
    assert told.exit_code == 2 and f"{len(problems)} problems" in told.stderr
    assert all(problem in told.stderr for problem in problems)


LENGTHS = [
    (words, option)
    for words, options in (
        (("compare", "none", "clean"), ("--seconds", "--timeout", "--budget")),
        (("tune",), ("--seconds", "--timeout", "--budget")),
        (("bisect",), ("--seconds", "--timeout")),
        (("profile",), ("--seconds", "--timeout")),
        (("pgle", "check"), ("--seconds", "--timeout", "--budget")),
    )
    for option in options
]


@pytest.mark.usefixtures("this_jaxlib")
def test_every_length_is_refused_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every command that takes one; what is no regular expression, too."""
    monkeypatch.chdir(tmp_path)
    wrong = [((*words, option, "soon"), f"{option} 'soon' is no duration.") for words, option in LENGTHS]
    wrong += [
        ((*words, "--metric", "("), "--metric '(' is not") for words in (("compare", "none"), ("tune",), ("bisect",))
    ]
    wrong += [((name, "--numbers", "("), "--numbers '(' is not") for name in ("tune", "bisect")]
    for words, said in wrong:
        done = call(*words, "--", "true")
        assert done.exit_code == 2 and said in done.stderr and not done.stdout, words
    done = call("profile", "--steps", "2", "--", "no-such-command")
    assert done.exit_code == 2 and "--steps 2 is not valid; allowed: whole numbers of at least 3." in done.stderr
    least = ("--steps", "3", "--seconds", "0.1", "--timeout", "1")
    assert call("profile", *least, "--", "no-such-command").exit_code == 127


def test_lengths_are_read_as_a_protocol_takes_them() -> None:
    """In seconds; without one, there is no limit."""
    given = {"pairs": 6, "seconds": "2m", "timeout": None, "budget": "1.5h"}
    assert lengths(given) == {"seconds": 120.0, "timeout": None, "budget": 5400.0}


@pytest.mark.parametrize("number", ["TERM", "HUP"])
def test_a_schedulers_signal_ends_what_is_profiled(number: str, tmp_path: Path) -> None:
    ended = measured(tmp_path, "profile", "--", "sh", "-c", f"echo $$; kill -{number} $PPID; exec sleep 600")
    assert ended.status == 130 and "The command was interrupted." in ended.stdout
    left, until = Path(f"/proc/{int(ended.stdout.split()[0])}"), time.monotonic() + 60
    while left.exists():  # killed, and not yet forgotten by the system
        assert time.monotonic() < until


def test_what_nohup_ignores_stays_ignored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        end_as_by_ctrl_c()
        handlers = [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)]
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    assert handlers == [signal.SIG_IGN, signal.default_int_handler]
