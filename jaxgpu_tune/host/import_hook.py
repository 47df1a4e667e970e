"""Something to do once jax is imported, however it comes to be: right after its own module has run, once.

For options of jax.config that no variable carries. Nothing is imported for it, and once it is done, or taken back, nothing is left of it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Action = Callable[[], None]


__all__ = ["cancel", "when_imported"]


class _Finder:
    """Lets the other finders find the module, and its own loader run it; then acts."""

    def __init__(self, name: str, action: Action) -> None:
        self.name, self.action, self.searching = name, action, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the module that is waited for, prepared; None for every other."""
        if fullname != self.name or self.searching:
            return None
        self.searching = True
        try:
            spec = _found_by_others(fullname, path, target)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            self._prepare(spec.loader)
        return spec

    def _prepare(self, loader: object) -> None:
        """The loader stays what it is, of its own type; only this one's running of a module is followed by the action."""
        run = loader.exec_module  # type: ignore[attr-defined]

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # type: ignore[attr-defined]
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.action()

        loader.exec_module = exec_module  # type: ignore[attr-defined]


def when_imported(name: str, action: Action) -> None:
    """Act once after the next import of that top-level module succeeds. Takes the place of what was to be done before."""
    cancel()
    sys.meta_path.insert(0, _Finder(name, action))


def cancel() -> None:
    """Take back what was to be done."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


def _found_by_others(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    for finder in tuple(sys.meta_path):
        find = None if isinstance(finder, _Finder) else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find is None else find(name, path, target)
        if spec is not None:
            return spec
    return None
