"""XLA_FLAGS inside a file, restated flag by flag: only the flags that have to change are touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from ...model import Migration
from ...values import Value
from ..xla_flags.grammar import BLANKS, Token, scan_file_text
from .mapped import HOLE, Edit, Mapped, Site, joined, line_of

__all__ = ["KINDS", "Change", "Rewritten", "kind_of", "rewrite"]

BYTE_ORDER_MARK = "\ufeff"
"""Windows' editors begin files with it, and every reader skips it."""
KINDS = ("python", "notebook", "dockerfile", "yaml", "dotenv", "shell")
SAID_ANEW = ("flag-translated", "flag-half-read")
"""The findings about a flag whose name may have stayed: it stands in other words for what it stood for."""
_ENDINGS = {
    "python": (".py", ".pyi"),
    "notebook": (".ipynb",),
    "yaml": (".yaml", ".yml"),
    "dotenv": (".env",),
    "shell": (".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".bashrc", ".profile"),
}
_LOOKS_LIKE_FLAGS = re.compile(r"--xla_\w+(?:=[^\s\"'\\,)\]}]*)?")


class Change(Value):
    """What became of one flag in one line; ``after`` None: it is left, and ``why`` says for what reason."""

    line: int
    before: str
    after: str | None
    why: str


class Rewritten(Value):
    """The file's new text, what was changed in it, and what was left because it could not be known."""

    text: str
    changes: tuple[Change, ...] = ()
    left: tuple[Change, ...] = ()


def kind_of(name: str, text: str) -> str | None:
    """Which of KINDS a file is, by its name or its first line; None: cannot be told."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"(docker|container)file", base) or base.endswith((".dockerfile", ".containerfile")):
        return "dockerfile"
    if base.startswith(".env"):
        return "dotenv"
    for kind, endings in _ENDINGS.items():
        if base.endswith(endings):
            return kind
    first = text.split("\n", 1)[0]
    return None if not first.startswith("#!") else "python" if "python" in first else "shell" if "sh" in first else None


def rewrite(text: str, kind: str, migrate: Callable[[str], Migration]) -> Rewritten:
    """Restate every flag that XLA_FLAGS holds in a file; ``migrate`` says one flag for the release that is meant.

    Raises SyntaxError or ValueError where the file cannot be read as its kind.
    """
    if text.startswith(BYTE_ORDER_MARK):
        found = rewrite(text.removeprefix(BYTE_ORDER_MARK), kind, migrate)
        return found._replace(text=f"{BYTE_ORDER_MARK}{found.text}")
    work = _Work(text, migrate)
    sites = list(_sites(text, kind))
    for site in sites:
        work.site(site)
    work.elsewhere()
    changes, left = (tuple(sorted(found, key=lambda change: change.line)) for found in (work.changes, work.left))
    return Rewritten(work.edited(), changes, left)


def _sites(text: str, kind: str) -> Iterator[Site]:
    module = import_module(f".{'shell' if kind in ('shell', 'dockerfile', 'dotenv') else kind}", __package__)
    yield from getattr(module, f"{kind}_sites")(text)
    if kind in ("shell", "dockerfile"):
        yield from _through_names(text, module.shell_sites, getattr(module, f"{kind}_sites")(text))


def _through_names(text: str, find: Callable[[str, str], Iterator[Site]], sites: Iterable[Site]) -> Iterator[Site]:
    """The variables whose values are put into XLA_FLAGS, and so on."""
    seen, names = {"XLA_FLAGS"}, [name for site in sites for name in site.names]
    while names:
        name = names.pop()
        if name not in seen:
            seen.add(name)
            for site in find(text, name):
                names += site.names
                yield site


class _Work:
    def __init__(self, text: str, migrate: Callable[[str], Migration]) -> None:
        self._text, self._migrate = text, migrate
        self._edits: dict[tuple[int, int], Edit] = {}
        self._seen: set[tuple[int, int]] = set()
        self._known: dict[str, tuple[str, str, bool]] = {}
        self.changes: list[Change] = []
        self.left: list[Change] = []

    def site(self, site: Site) -> None:
        """The edits of one place."""
        whole, places = joined(site.pieces)
        if site.unsure:
            self._leave_place(site)
        for token in _tokens(whole):
            self._token(token, places[token.start : token.end])

    def elsewhere(self) -> None:
        """Flags that would change but stand where nothing is known to read them: named, not touched."""
        for found in _LOOKS_LIKE_FLAGS.finditer(self._text):
            start_of_line = self._text.rfind("\n", 0, found.start()) + 1
            comment = re.match(r"[ \t\"]*(#|//)", self._text[start_of_line : found.start()])
            inside = any(start <= found.start() < end for start, end in self._seen)
            if not comment and not inside and self._new(found[0])[0] != found[0]:
                self._leave(found.start(), found[0], "it cannot be told whether this becomes a part of XLA_FLAGS")

    def edited(self) -> str:
        """The file with the edits made; neighbours may both want the blank between them."""
        parts, done = [], 0
        for edit in sorted(self._edits.values(), key=lambda edit: edit.start):
            parts += [self._text[done : max(edit.start, done)], edit.text]
            done = max(edit.end, done)
        return "".join([*parts, self._text[done:]])

    def _leave_place(self, site: Site) -> None:
        end = self._text.find("\n", site.at)
        line = self._text[site.at : end if end >= 0 else None]
        flags = _LOOKS_LIKE_FLAGS.findall(line)
        if any(self._new(flag)[0] != flag for flag in flags):
            self._seen.add((site.at, site.at + len(line)))
            self._leave(site.at, line.strip(), site.unsure)

    def _token(self, token: Token, places: list[tuple[Mapped, int]]) -> None:
        spans = [piece.spans[at] for piece, at in places if piece.spans[at][0] >= 0]
        if not spans:
            return
        start, end = min(s for s, _ in spans), max(e for _, e in spans)
        if (start, end) in self._seen:
            return
        self._seen.add((start, end))
        if HOLE in token.text:
            self._holed(token, start)
            return
        new, why, sure = self._new(token.text)
        if new == token.text:
            return
        if not sure:
            self._leave(start, token.text, why)
            return
        pieces = {id(piece) for piece, _ in places}
        said = places[0][0].encode(new) if len(pieces) == 1 else None
        if said is None:
            self._leave(start, token.text, f"it is put together from several parts; write {new or 'nothing'} instead")
            return
        self._edits[start, end] = Edit(start, end, said) if said else self._without(places, start, end)
        self.changes.append(Change(line_of(self._text, start), token.text, new, why))

    def _without(self, places: list[tuple[Mapped, int]], start: int, end: int) -> Edit:
        """A flag that goes takes a blank along: the one behind it, else the one before it."""
        (piece, first), (_, last) = places[0], places[-1]
        if piece.text[last + 1 : last + 2] == " " and piece.spans[last + 1] == (end, end + 1):
            return Edit(start, end + 1, "")
        before = first > 0 and piece.text[first - 1] == " " and piece.spans[first - 1] == (start - 1, start)
        return Edit(start - before, end, "")

    def _holed(self, token: Token, start: int) -> None:
        shown = token.text.replace(HOLE, "…")
        name = token.text.partition("=")[0]
        if HOLE in name or self._new(name + "=")[0].startswith(name + "="):
            return
        if name == token.text.rstrip(HOLE) or not self._exists(name):
            self._leave(start, shown, "its value is known only when the program runs")

    def _exists(self, name: str) -> bool:
        """Whether the release has the flag at all, whatever its value."""
        return any(self._new(f"{name}={value}")[0] == f"{name}={value}" for value in ("true", "1", "0.5", "x"))

    def _leave(self, at: int, what: str, why: str) -> None:
        self.left.append(Change(line_of(self._text, at), what, None, why))

    def _new(self, flag: str) -> tuple[str, str, bool]:
        """The flag as the release wants it (itself where nothing is known against it), why, and whether that is sure."""
        if flag not in self._known:
            found = self._migrate(flag)
            translated = [d.reason for d in found.decisions if d.status == "translated"]
            others = [
                *(f.message for f in found.findings),
                *(d.reason for d in found.decisions if d.status == "dropped"),
            ]
            sure = bool(translated) or any(f.code in SAID_ANEW for f in found.findings)
            self._known[flag] = found.xla_flags, [*translated, *others, ""][0], sure
        return self._known[flag]


def _tokens(text: str) -> Iterator[Token]:
    """XLA's arguments in a text that may hold holes, each with its place; what is no flag is passed over."""
    at = 0
    while at < len(text):
        if text[at] in BLANKS or text[at] != "-":
            at += 1 if text[at] in BLANKS + HOLE else len(text[at:].split(maxsplit=1)[0])
            continue
        token = scan_file_text(text[at:]).tokens[0]
        yield token._replace(start=at, end=at + len(token.text))
        at += max(len(token.text), 1)
