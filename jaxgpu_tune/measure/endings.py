"""How a run ended, told from its exit code, its last words and what its processes reported. Pure."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from ..wording import counted, number_of
from .watched import Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Status = Literal[
        "ok", "not-started", "refused", "compile-error", "out-of-memory", "nan", "hang", "died", "interrupted"
    ]
else:
    Status = str

__all__ = ["Status", "ending", "losses", "numbers_in", "once_each", "silence", "without_input"]

NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?))\b"
LOSS = rf"(?i)\bloss\b[^\w\n+.-]{{0,4}}{NUMBER}"
"""What nearly every training script prints."""
PATTERNS: tuple[tuple[Status, str], ...] = (
    ("refused", r"Unknown flags? in XLA_FLAGS|parse_flags_from_env|Flag .* (?:could not be parsed|has invalid value)"),
    ("refused", r"No such compile option|Unknown compile option|INVALID_ARGUMENT: .*option"),
    ("out-of-memory", r"RESOURCE_EXHAUSTED|CUDA_ERROR_OUT_OF_MEMORY|[Oo]ut of memory|std::bad_alloc|^MemoryError"),
    (
        "compile-error",
        r"ptxas|LLVM ERROR|[Aa]utotuning failed|[Ff]ailed to compile|[Cc]ompilation fail|NoRegisterAlloc",
    ),
    ("nan", r"FloatingPointError: invalid value \(nan\)"),
)
CLEAN = {
    "env": ("-i", "-", "--ignore-environment"),
    "sudo": (),
    "docker": (),
    "podman": (),
    "apptainer": (),
    "singularity": (),
    "ssh": (),
    "kubectl": (),
    "ray": (),
}
"""Commands that start others without this environment: always, or with one of these options."""
ISOLATED = re.compile(r"-[a-zA-Z]*[IES]")
"""Options of Python with which it reads no PYTHONPATH or no sitecustomize."""
LOG_HEAD = re.compile(r"^[IWEF]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\] ")
"""When and where in XLA's sources a line was written."""
NO_INPUT = "; a run that is measured has no input, so give it in the command: sh -c 'echo yes | python train.py'"
CAPTURE = r"STREAM_CAPTURE_(?:INVALIDATED|UNSUPPORTED|UNJOINED|ISOLATION)|not permitted when stream is capturing"
NO_GRAPHS = (
    "; a CUDA graph failed, as it does where another library uses the GPU while XLA records one: "
    "switch graphs off (configure(cuda_graphs=False), or jaxgpu-tune run auto --no-cuda-graphs)"
)
"""https://github.com/NVIDIA/DALI/pull/6449"""
AGAIN = 10
"""More recompilations of the step than this: it never becomes steady, unless a steady state was measured after them."""
STEADY = ("measured", "done")
LAST = 400


def ending(code: int | None, words: str, error: str | None) -> tuple[Status, str]:
    """The status and its cause in a sentence. ``code``: exit code, negative for a signal; ``error``: the Python exception."""
    if code == 0:
        return "ok", ""
    told = f"{error or ''}\n{words}"
    for status, pattern in PATTERNS:
        found = re.search(f"(?m){pattern}", told)
        if found:
            return status, _line(told, found.start())
    if code == -signal.SIGKILL:
        return "out-of-memory", "killed by the system (SIGKILL), as it does when the host's memory is full"
    said = f"{_how(code)}: {error or _last_line(words) or 'it said nothing'}"[:LAST]
    return "died", said + NO_GRAPHS * bool(re.search(CAPTURE, told))


def without_input(cause: str) -> str:
    """The cause of the ending of a run that had no standard input, with what to do where it asked for some."""
    return cause + NO_INPUT * ("EOFError: EOF when reading a line" in cause)


def numbers_in(pattern: str, text: str) -> tuple[float, ...]:
    """Each number that the pattern finds, in order: its first group, or all of it where it has none."""
    found = (match[1] if match.re.groups else match[0] for match in re.finditer(pattern, text))
    return tuple(number for number in map(number_of, found) if number is not None)


def losses(text: str) -> tuple[float, ...]:
    """The losses that a program printed, where it writes "loss" before each."""
    return numbers_in(LOSS, text)


def once_each(numbers: Sequence[float], processes: Sequence[Process]) -> tuple[float, ...]:
    """What several processes print alike, once: in which order their lines come differs from run to run, each one's own do not."""
    several = sum(one.jax is not None for one in processes) > 1
    return tuple(dict.fromkeys(numbers) if several else numbers)


def silence(command: Sequence[str], processes: Sequence[Process], *, failed: bool = False) -> str:
    """Why no step was seen: a sentence with the likely cause, empty where one was. ``failed``: the command did."""
    if any(one.period for one in processes if one.state in STEADY or not _again(one) > AGAIN):
        return ""
    if not processes:
        return f"No Python process of the command could be watched: {_likely(command)}"
    again = max(map(_again, processes))
    troubles = next((one.troubles.splitlines()[0] for one in processes if one.troubles), "")
    told = (
        (
            again > AGAIN,
            f"The step was compiled again {again} times: the shape or a static argument changes; there is no steady state.",
        ),
        (any(one.compilations for one in processes), _too_few(max(processes, key=lambda one: one.steps))),
        (bool(troubles), f"The observer had trouble: {troubles}"[:LAST]),
        (
            any(one.jax for one in processes),
            "jax was imported, but nothing was compiled: does the program stop before its first step?",
        ),
    )
    return next(
        (text for holds, text in told if holds),
        f"{counted(len(processes), 'Python process', 'Python processes')} ran and none imported jax{', or it ended while it did' * failed}.",
    )


def _again(one: Process) -> int:
    """How often its function was compiled again, be it from a cache."""
    return max(sum(found.name == one.function for found in one.compilations) - 1, 0)


def _too_few(one: Process) -> str:
    calls = (
        f" ({one.function}: {counted(one.calls, 'call')})"
        if one.function
        else f" (at most {counted(one.steps, 'call')})" * bool(one.steps)  # before Python 3.12 none are counted
    )
    return f"JAX compiled something, but no function was called often enough to tell a steady state{calls}. Let it run longer."


def _likely(command: Sequence[str]) -> str:
    names = [word.rpartition("/")[2] for word in command]
    for name, options in CLEAN.items():
        if name in names and (not options or set(options) & set(command)):
            return f"`{name}` starts it without this environment; hand PYTHONPATH and JAXGPU_TUNE_OBSERVE on."
    python = next((n for n, name in enumerate(names) if name.startswith("python")), None)
    isolated = [] if python is None else [w for w in command[python + 1 : python + 4] if ISOLATED.fullmatch(w)]
    if isolated:
        return (
            f"Python was started with {isolated[0]}, with which it ignores PYTHONPATH or sitecustomize; leave it out."
        )
    return (
        "either it starts no Python, or with -I, -E or -S, or with a clean environment (env -i, a container, ssh), or "
        "another sitecustomize comes first on its path."
    )


def _line(text: str, at: int) -> str:
    begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return LOG_HEAD.sub("", text[begin : end if end >= 0 else None].strip())[:LAST]


def _last_line(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return LOG_HEAD.sub("", lines[-1]) if lines else ""


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"ended by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"ended by signal {-code}"
    return f"exit code {code}"
