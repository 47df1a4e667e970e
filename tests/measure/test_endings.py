"""How runs end, by their last words; and why nothing was seen of one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.clock import Period
from jaxgpu_tune.measure.endings import ending, losses, numbers_in, once_each, silence, without_input
from jaxgpu_tune.measure.watched import Compilation, Process

UNKNOWN = "F0000 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_gpu_nope=1"
MEMORY = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
CAPTURE = "INTERNAL: CUDA error: Failed to end stream capture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: operation failed"


@pytest.mark.parametrize(
    ("code", "words", "error", "status", "cause"),
    [
        (0, "Out of memory? no, all is well", None, "ok", ""),
        (-6, UNKNOWN, None, "refused", "--xla_gpu_nope=1"),
        (1, f"Traceback\n{MEMORY}\n", None, "out-of-memory", "17179869184"),
        (1, "", "XlaRuntimeError: INTERNAL: ptxas exited with 1", "compile-error", "ptxas"),
        (-9, "step 3", None, "out-of-memory", "SIGKILL"),
        (-11, "step 3\n", None, "died", "SIGSEGV: step 3"),
        (3, "", None, "died", "exit code 3: it said nothing"),
        (1, "x\n", "KeyError: 'y'", "died", "KeyError: 'y'"),
        (1, f"{CAPTURE}\nand more", None, "died", "and more; a CUDA graph failed"),
        (-6, "", CAPTURE, "died", "--no-cuda-graphs"),
    ],
)
def test_the_ending_is_told_from_the_last_words(
    code: int, words: str, error: str | None, status: str, cause: str
) -> None:
    """The line that says it is the cause."""
    found = ending(code, words, error)
    assert found[0] == status and cause in found[1]


def test_losses_are_found_as_scripts_print_them() -> None:
    """With a colon, an equals sign, a bracket, in a dict, as nan."""
    text = "loss: 2.5\nstep 3 loss = 1e-3\n{'loss': 0.5}\nLoss=nan\nlossless 7\nval_loss 0.1 train loss 4"
    found = losses(text)
    assert found[:3] == (2.5, 1e-3, 0.5) and found[3] != found[3] and found[4:] == (4.0,)


def test_numbers_takes_the_first_group_or_all() -> None:
    """What is no number is left out."""
    assert numbers_in(r"ips=(\S+)", "ips=12.5 ips=x ips=13") == (12.5, 13.0)
    assert numbers_in(r"\d+", "1 2") == (1.0, 2.0)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["python", "-I", "t.py"], "Python was started with -I,"),
        (["srun", "/usr/bin/python3.12", "-E", "t.py"], "Python was started with -E,"),
        (["/usr/bin/env", "-i", "python", "t.py"], "`env`"),
        (["docker", "run", "x"], "`docker`"),
        (["./start.sh"], "another sitecustomize"),
    ],
)
def test_silence_names_its_likely_cause(command: list[str], words: str) -> None:
    """Isolation, a clean environment, or the list of all."""
    assert words in silence(command, ())


def test_silence_of_processes_that_did_report() -> None:
    """No jax, no compilation, too few calls, a new compilation each time; nothing where a period was found."""
    again = tuple(Compilation("f", float(number), 0.1, cached=False) for number in range(20))
    states = {
        "none imported jax": Process(1, ""),
        "nothing was compiled": Process(1, "", jax="0.11.2"),
        "(f: 2 calls)": Process(1, "", jax="0.11.2", function="f", compilations=again[:1], steps=26, calls=2),
        "(at most 1 call)": Process(1, "", jax="0.11.2", compilations=again[:1], steps=1),
        "The observer had trouble: OSError": Process(1, "", troubles="OSError('disk')\nmore"),
        "again 19 times": Process(1, "", jax="0.11.2", function="f", compilations=again, steps=20),
    }
    for words, process in states.items():
        assert words in silence(["python"], [process])
    uncounted = Process(1, "", jax="0.4.38", compilations=again[:1])
    assert "call" not in silence(["python"], [uncounted]).replace("no function was called", ""), "before Python 3.12"
    timed = states["again 19 times"]._replace(period=Period(0.5, 4, 4, 0, 0.0, 0.1, (0.5,)))
    cached = timed._replace(compilations=tuple(one._replace(cached=True) for one in again))
    assert all("again 19 times" in silence(["python"], [one]) for one in (timed, cached))
    assert silence(["python"], [timed._replace(state="done")]) == "", (
        "each of its shapes was compiled; then it was steady"
    )
    assert silence(["python"], [Process(1, "")], failed=True).endswith("none imported jax, or it ended while it did.")


def test_the_head_of_a_line_of_xla_s_is_no_cause() -> None:
    said = "F1129 10:17:01.460869    9182 parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_nope=1"
    assert ending(1, f"a\n{said}\n", None) == ("refused", "Unknown flag in XLA_FLAGS: --xla_nope=1")
    assert ending(-6, "E1129 10:17:01.460869    9182 a/b-c.cc:1] it broke", None)[1] == "ended by SIGABRT: it broke"


def test_a_program_that_waits_for_what_is_typed_is_told_that_nobody_types() -> None:
    _, cause = ending(1, "name?\n", "EOFError: EOF when reading a line")
    assert without_input(cause).startswith(f"{cause}; a run that is measured has no input")
    assert without_input("exit code 1: KeyError: 'y'") == "exit code 1: KeyError: 'y'"


@given(st.lists(st.floats(0, 9), unique=True), st.randoms(use_true_random=False), st.integers(2, 4))
def test_numbers_that_ranks_print_alike_are_the_same_however_their_lines_mix(
    numbers: list[float], chance: random.Random, ranks: int
) -> None:
    """One process may print a number twice, which is kept."""
    left, mixed = [list(numbers) for _ in range(ranks)], []
    while any(left):
        mixed.append(chance.choice([one for one in left if one]).pop(0))
    of_jax = [Process(number, "", jax="0.11.2") for number in range(ranks)]
    assert once_each(mixed, of_jax) == tuple(numbers)
    assert once_each(mixed, [of_jax[0], Process(9, "")]) == tuple(mixed)
