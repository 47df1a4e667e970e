"""Asking the installed jaxlib and CUDA plugins themselves which flags they refuse: the last word on a build.

One child process (``parser_child``) loads each of them, without a GPU and without a backend, and parses the text; 0.3 to 1.0 s
for jaxlib. The answer is kept for as long as the shared objects are the same files (``probe_cache``).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping

from ..errors import ProbeFailed
from ..knowledge.families import acts
from ..model import Finding
from ..own_files import PACKAGE, own_text
from ..planning.xla_flags.grammar import scan
from ..values import Value
from . import probe_cache as cache
from .packages import entries_of, installed_versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any


__all__ = ["Answer", "probe"]

CHILD = os.path.join(PACKAGE, "host", "parser_child.py")
SECONDS = 60.0
NO_GPU = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
LIBRARY = "xla_cuda_plugin.so"


class Answer(Value):
    """The names of the flags that some installed binary refuses, and which plugin could not be asked."""

    refused: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


def probe(text: str) -> Answer:
    """What the installed jaxlib and CUDA plugins make of a text of XLA flags. Raises ProbeFailed without jaxlib's answer."""
    flags = [token.text for token in scan(text).tokens]
    if not flags:
        return Answer()
    deadline = time.monotonic() + SECONDS
    plugins = _plugins()
    question = {"flags": flags, "builds": _builds(plugins), "versions": _versions()}
    kept = cache.kept_answer(question)
    if _is_answer(kept, flags, plugins):
        return _read(kept)
    with cache.alone(question, deadline):
        kept = cache.kept_answer(question)
        if not _is_answer(kept, flags, plugins):
            kept = _ask(flags, plugins, deadline)
            if question["builds"] and all("refused" in told or told["lasting"] for told in kept.values()):
                cache.keep_answer(question, kept)
    return _read(kept)


def _read(told: Mapping[str, Any]) -> Answer:
    names = [name for answer in told.values() for name in answer.get("refused", ())]
    silent = {name: answer["unanswered"] for name, answer in told.items() if "unanswered" in answer}
    return Answer(frozenset(names), tuple(_not_asked(name, why) for name, why in silent.items()))


def _ask(flags: list[str], plugins: Mapping[str, str], deadline: float) -> dict[str, Any]:
    found = {name: path for name, path in plugins.items() if path}
    from ..render.waiting import waiting

    with waiting("Asking the installed jaxlib and CUDA plugin which flags they accept"):
        told = _run(json.dumps({"path": sys.path, "flags": flags, "plugins": found}), deadline)
    try:
        answers = json.loads(told)
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, dict) or not _is_answer(answers, flags, found, whole=False):
        raise _failed("the child gave no answer")
    if "unanswered" in answers["jaxlib"]:
        raise _failed(answers["jaxlib"]["unanswered"])
    missing = {"unanswered": f"no {LIBRARY} was found", "lasting": False}
    return answers | {name: missing for name in plugins if name not in found}


def _started() -> Popen[str]:
    import subprocess

    try:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", own_text(CHILD)],
            env=child_environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",  # what a library says on stderr is in any encoding
            start_new_session=True,  # its forks are ended with it
        )
    except (OSError, ValueError) as error:
        raise _failed(str(error)) from error


def child_environ() -> dict[str, str]:
    """Nothing that is set for JAX, and no GPU."""
    return {name: value for name, value in os.environ.items() if not acts(name, "hidden")} | NO_GPU


def _run(task: str, deadline: float) -> str:
    import subprocess
    from contextlib import suppress
    from signal import SIGKILL

    if time.monotonic() >= deadline:
        raise _failed(f"another process has been asking it for {SECONDS:g} seconds")
    with _started() as child:
        try:
            told, said = child.communicate(task, timeout=max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise _failed(f"no answer within {SECONDS:g} seconds") from error
            raise
    if child.returncode:
        raise _failed(f"the child ended with status {child.returncode}: {said.strip()[-300:]}")
    return told


def _is_answer(told: Any, flags: Iterable[str], plugins: Mapping[str, str], *, whole: bool = True) -> bool:
    """Whether this has the form of an answer to this question. ``whole``: one that may be kept."""
    names = {flag.partition("=")[0].lstrip("-") for flag in flags}
    if not isinstance(told, dict) or told.keys() != {"jaxlib", *plugins}:
        return False
    if whole and "refused" not in told["jaxlib"]:
        return False
    return all(_is_told(answer, names) for answer in told.values())


def _is_told(answer: Any, names: set[str]) -> bool:
    if not isinstance(answer, dict):
        return False
    if answer.keys() == {"unanswered", "lasting"}:
        return isinstance(answer["unanswered"], str) and isinstance(answer["lasting"], bool)
    refused = answer.get("refused")
    return isinstance(refused, list) and all(isinstance(name, str) and name in names for name in refused)


def _plugins() -> dict[str, str]:
    """The CUDA plugins that JAX would load, by distribution, with the file of each; "" where it was not found."""
    out = {name: "" for name in installed_versions().plugins if name.startswith("jax-cuda") and name.endswith("-pjrt")}
    for folder in reversed(sys.path):
        root = os.path.join(os.path.abspath(folder), "jax_plugins")
        for entry in sorted(entries_of(root)):
            path = os.path.join(root, entry, LIBRARY)
            if os.path.exists(path):
                out[f"jax-{entry.removeprefix('xla_')}-pjrt"] = path
    return dict(sorted(out.items()))


def _builds(plugins: Mapping[str, str]) -> list[list[Any]]:
    """Path, size and time of every shared object that is asked; nothing if jaxlib's cannot be told, so that nothing is kept."""
    folders = (os.path.join(os.path.abspath(folder), "jaxlib") for folder in sys.path)
    jaxlib = next((folder for folder in folders if os.path.exists(os.path.join(folder, "__init__.py"))), "")
    paths = [os.path.join(jaxlib, entry) for entry in sorted(entries_of(jaxlib)) if entry.endswith(".so")]
    if not paths:
        return []
    return [_build(path) for path in [*paths, *plugins.values()] if path]


def _build(path: str) -> list[Any]:
    try:
        found = os.stat(path)
    except OSError:
        return [path, None, None]
    return [path, found.st_size, found.st_mtime_ns]


def _versions() -> dict[str, str | None]:
    found = installed_versions()
    return {"jaxlib": found.jaxlib, **found.plugins}


def _failed(why: str) -> ProbeFailed:
    message = f"The installed jaxlib could not be asked which flags it accepts ({why})."
    return ProbeFailed.of(
        [Finding("probe-failed", "warning", message, "The nearest releases in the table are used instead.")]
    )


def _not_asked(plugin: str, why: str) -> Finding:
    message = f"The installed {plugin} could not be asked which flags it accepts ({why})."
    return Finding(
        "plugin-not-asked", "warning", message, "What jaxlib and the nearest releases accept is used for it."
    )
