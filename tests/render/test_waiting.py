"""What takes long is shown on a terminal, and in a pipe is not."""

from __future__ import annotations

import io
import time

import pytest

from jaxgpu_tune.host import probe
from jaxgpu_tune.render import waiting
from tests.child import told_warm


class Terminal(io.StringIO):
    """A stderr that someone sees."""

    def isatty(self) -> bool:
        """It is."""
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, delay: float, seconds: float) -> str:
    """What is written while something takes so many seconds."""
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(waiting, "DELAY", delay)
    monkeypatch.setenv("TERM", "xterm-256color")
    with waiting.waiting("Doing it"):
        end = time.monotonic() + seconds
        while time.monotonic() < end and "Doing it" not in stream.getvalue():
            time.sleep(0.01)
    return stream.getvalue()


def test_it_is_shown_on_a_terminal_and_taken_away_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(Terminal(), monkeypatch, delay=0.0, seconds=20.0)
    assert "Doing it" in text and text.rstrip("\x1b[?25h").endswith("\x1b[2K")  # the line is erased, the cursor back


@pytest.mark.parametrize(("stream", "delay"), [(io.StringIO(), 0.0), (Terminal(), 60.0)])
def test_a_pipe_and_what_is_soon_done_show_nothing(
    stream: io.StringIO, delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(stream, monkeypatch, delay=delay, seconds=0.2) == ""


def test_an_error_inside_passes_and_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(KeyError), waiting.waiting("Doing it"):
        raise KeyError


def test_asking_the_binaries_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """The real child is asked."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(waiting, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert probe.probe("--xla_gpu_autotune_level=2").refused == frozenset()
    assert "Asking the installed jaxlib" in stream.getvalue()


def test_reading_back_says_so() -> None:
    code = """
import jax, io, sys, os
class Terminal(io.StringIO):
    def isatty(self): return True
os.environ["TERM"] = "xterm-256color"
from jaxgpu_tune.render import waiting
waiting.DELAY = 0.0
import jaxgpu_tune
jaxgpu_tune.configure("single_gpu", flags={"xla_gpu_autotune_level": 2})
jax.devices()
sys.stderr = Terminal()
jaxgpu_tune.verify()
tell("Reading back what took effect" in sys.stderr.getvalue())
"""
    assert told_warm(code) is True
