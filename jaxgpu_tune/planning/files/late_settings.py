"""What Python sets after JAX or CUDA has read it, or so that configure() and it are in each other's way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from ...knowledge.families import acts
from ...knowledge.options import known, option
from ...knowledge.real_names import calls
from ...values import Value
from ..xla_flags.grammar import FLAGS
from .python_names import Names
from .python_nodes import every_node, parsed, text_in, way_over, what_runs
from .too_late import CONFIGURE, CONFIGURED, INITIALIZE, RAISES, Happened, SetLate

__all__ = ["late_settings"]

_OWN, _OWN_DECORATOR = "jaxgpu_tune.configure", "jaxgpu_tune.configured"
_UPDATE = "jax.config.update"
_CHILDREN = frozenset({"subprocess", "multiprocessing", "os.system", "os.execv", "os.execvp", "os.execve", "ray"})


class Jax(Value):
    """How far JAX is at a place of the program, as far as it is certain; and whether torch has started CUDA, whose variables JAX shares."""

    imported: Happened | None = None
    started: Happened | None = None
    cuda: Happened | None = None
    configured: Happened | None = None


def late_settings(source: str) -> tuple[SetLate, ...]:
    """In the order of the program. Told is only what is certain: what one branch alone does counts for that branch.

    Raises SyntaxError for what is no Python.
    """
    return _Reader(parsed(source)).found


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._names = Names(tree)
        self._starting, self._touching = calls("start_backend"), calls("start_cuda")
        self._children = bool(
            _CHILDREN & {part for name in self._names.imported.values() for part in (name, name.split(".")[0])}
        )
        self._children |= bool(_CHILDREN & {self._names.full(node) for node in every_node(tree)})
        self._starters: dict[str, str] = {}
        self._configuring = {
            node.name
            for node in every_node(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and any(map(self._configures, node.decorator_list))
        }
        self._late: dict[tuple[int, str], SetLate] = {}
        for _ in range(2):  # what the functions start is known in the second round
            self._late.clear()
            self._run(tree.body, Jax())
        self.found = tuple(self._late[key] for key in sorted(self._late))

    def _run(self, body: Sequence[ast.stmt], jax: Jax) -> Jax:
        for statement in body:
            jax = self._step(statement, jax)
        return jax

    def _step(self, node: ast.stmt, jax: Jax) -> Jax:
        """By the method for its kind; what has none is evaluated as a whole."""
        by_kind: Callable[[ast.stmt, Jax], Jax] | None = getattr(self, f"_in_{type(node).__name__.lower()}", None)
        return by_kind(node, jax) if by_kind else self._evaluate([node], jax)

    def _in_functiondef(self, node: ast.FunctionDef, jax: Jax) -> Jax:
        """It runs after what stands before it, at the earliest."""
        after = self._run(node.body, jax)
        if after.started is not None and jax.started is None:
            self._starters[node.name] = after.started.what
        return self._defining(node, jax)

    def _in_asyncfunctiondef(self, node: ast.AsyncFunctionDef, jax: Jax) -> Jax:
        self._run(node.body, jax)
        return self._defining(node, jax)

    def _defining(self, node: ast.FunctionDef | ast.AsyncFunctionDef, jax: Jax) -> Jax:
        return self._evaluate([*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)], jax)

    def _in_classdef(self, node: ast.ClassDef, jax: Jax) -> Jax:
        return self._run(node.body, self._evaluate([*node.decorator_list, *node.bases], jax))

    def _in_if(self, node: ast.If, jax: Jax) -> Jax:
        """Behind it only what both branches did; a program that is run goes through ``if __name__ == "__main__"``."""
        inside = before = self._evaluate([node.test], jax)
        if self._names.asks_whether_unset(node.test, FLAGS):
            self._judge(node.lineno, FLAGS, before, "unless")
            inside = before._replace(configured=None)
        one, other = self._run(node.body, inside), self._run(node.orelse, inside)
        if any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)):
            return one
        return Jax(*(getattr(one if getattr(other, name) else before, name) for name in Jax._fields))

    def _in_for(self, node: ast.For | ast.AsyncFor, jax: Jax) -> Jax:
        return self._run([*node.body, *node.orelse], self._evaluate([node.iter], jax))

    _in_asyncfor = _in_for

    def _in_while(self, node: ast.While, jax: Jax) -> Jax:
        return self._run([*node.body, *node.orelse], self._evaluate([node.test], jax))

    def _in_with(self, node: ast.With | ast.AsyncWith, jax: Jax) -> Jax:
        return self._run(node.body, self._evaluate([item.context_expr for item in node.items], jax))

    _in_asyncwith = _in_with

    def _in_try(self, node: ast.Try, jax: Jax) -> Jax:
        for handler in node.handlers:
            self._run(handler.body, jax)
        self._run(node.finalbody, Jax())  # it gives back what was there before
        return self._run([*node.body, *node.orelse], jax)

    def _in_match(self, node: ast.Match, jax: Jax) -> Jax:
        for case in node.cases:
            self._run(case.body, jax)
        return jax

    def _evaluate(self, nodes: Iterable[ast.AST], jax: Jax) -> Jax:
        for node in chain.from_iterable(map(what_runs, nodes)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                jax = _importing(node, jax)
            for name, way, by in self._sets(node):
                self._judge(getattr(node, "lineno", 0), name, jax, way, by)
            what = self._starts(node)
            if what and jax.started is None:
                jax = jax._replace(started=Happened(getattr(node, "lineno", 0), what))
            if jax.cuda is None and isinstance(node, ast.Call) and self._starts_cuda(node):
                jax = jax._replace(cuda=Happened(node.lineno, f"{ast.unparse(node.func)}()", "CUDA"))
            if isinstance(node, ast.Call) and (self._names.full(node.func) == _OWN or self._is_own(node.func)):
                jax = jax._replace(configured=Happened(node.lineno, CONFIGURE))
        return jax

    def _starts(self, node: ast.AST) -> str:
        """The call as it is written, if it starts the backend by itself or through a function of the program's."""
        if not isinstance(node, ast.Call):
            return ""
        written = ast.unparse(node.func)
        if written in self._starters:
            return f"{written}(), which calls {self._starters[written]}"
        return f"{written}()" if self._names.full(node.func) in self._starting else ""

    def _starts_cuda(self, node: ast.Call) -> bool:
        """As torch does at its first use of a GPU."""
        if not any(name.split(".")[0] == "torch" for name in self._names.imported.values()):
            return False
        called = self._names.full(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = {word.arg: word.value for word in node.keywords}
        device = given.get("device") or (node.args[0] if node.args and method == "to" else None)
        on_gpu = device is not None and text_in(device).partition(":")[0] == "cuda"
        return called in self._touching or (method == "cuda" and not called) or (on_gpu and called != "torch.device")

    def _sets(self, node: ast.AST) -> Iterator[tuple[str, str, str]]:
        """(name, way, by) of each setting."""
        for one in self._names.in_environ(node):
            yield one.name, way_over(one.value) if not one.way else one.way.replace("adds", ""), one.by
        if isinstance(node, ast.Call):
            yield from ((name, "", "") for name in self._called(node, self._names.full(node.func)))

    def _called(self, node: ast.Call, called: str) -> Iterator[str]:
        if called == _OWN and _raises(node):
            yield CONFIGURE
        elif self._is_own(node.func):
            yield CONFIGURED
        elif f"{called}()" == INITIALIZE:
            yield INITIALIZE
        elif called == _UPDATE and len(node.args) > 1:
            yield text_in(node.args[0])

    def _judge(self, line: int, name: str, jax: Jax, way: str = "", by: str = "") -> None:
        if name == CONFIGURED and jax.configured is not None:
            return  # it has configured in time before
        started = (jax.cuda or jax.started) if name.startswith("CUDA_") else jax.started
        cause = jax.imported if _is_read_at_import(name) else started if _is_read_at_start(name) else None
        if cause is not None:
            self._late[line, name] = SetLate(line, name, cause, self._children and name.isupper(), by=by)
        elif way and name == FLAGS and jax.configured is not None:
            self._late[line, name] = SetLate(line, name, jax.configured, way=way)

    def _configures(self, decorator: ast.expr) -> bool:
        """Whether a call of what it decorates raises, once JAX has started."""
        named = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self._names.full(named) == _OWN_DECORATOR and _raises(decorator)

    def _is_own(self, function: ast.expr) -> bool:
        return isinstance(function, ast.Name) and function.id in self._configuring


def _raises(call: ast.expr) -> bool:
    """Whether a call that comes too late does, as far as it says nothing else."""
    return not any(one.arg == "late" for one in getattr(call, "keywords", ()))


def _importing(node: ast.Import | ast.ImportFrom, jax: Jax) -> Jax:
    modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    if jax.imported is None and any(name.split(".")[0] == "jax" for name in modules):
        return jax._replace(imported=Happened(node.lineno, ast.unparse(node)))
    return jax


def _is_read_at_import(name: str) -> bool:
    return acts(name, "import") and known(name.lower())


def _is_read_at_start(name: str) -> bool:
    spec = option(name, None)
    return name in RAISES or acts(name, "start") or (spec is not None and spec.moment == "backend")
