"""From the start of a process until jax is imported: one entry in sys.meta_path, and a file that says who was here."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .run_folder import Notes, process_folder

__all__ = ["wait"]

STARTED = time.time(), time.perf_counter()


def wait(folder: str) -> None:
    """Listen once this process imports jax; in a forked child, anew."""
    notes = Notes(process_folder(folder))
    notes.write(first_words())
    sys.meta_path.insert(0, _Finder(lambda: _listen(folder, notes)))


def first_words() -> dict[str, Any]:
    """Who this process is."""
    return {
        "pid": os.getpid(),
        "argv": list(getattr(sys, "orig_argv", sys.argv)),
        "python": sys.version.split()[0],
        "started": STARTED[0],
        "state": "no jax",
    }


def _listen(folder: str, notes: Notes) -> None:
    try:
        from .gate import before_devices, hold
        from .watch import Watch

        watch = Watch(folder, notes, STARTED[1], first_words())
        watch.start()
        os.register_at_fork(after_in_child=lambda: watch.forked(Notes(process_folder(folder))))
        before_devices(watch.backend_starts)
        if parent := watch.request.get("hold"):
            hold(folder, parent)
    except Exception as error:  # noqa: BLE001 - the program goes on without being watched
        notes.log(repr(error))


class _Finder:
    """Lets the other finders find jax, and its own loader run it; then acts, once."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action, self.searching = action, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of jax, prepared; None for every other module."""
        if fullname != "jax" or self.searching:
            return None
        self.searching = True
        try:
            spec = _found_by_others(self, fullname, path, target)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            self._prepare(spec.loader)
        return spec

    def _prepare(self, loader: Any) -> None:
        """The loader stays what it is; who else has changed its running of a module (as configure() may) is let be."""
        run, theirs = loader.exec_module, vars(loader).get("exec_module")

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            if theirs is not None:
                loader.exec_module = theirs
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.action()

        loader.exec_module = exec_module


def _found_by_others(
    finder: _Finder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for other in tuple(sys.meta_path):
        find = None if other is finder else getattr(other, "find_spec", None)
        spec: ModuleSpec | None = None if find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None
