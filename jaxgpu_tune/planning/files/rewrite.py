"""XLA_FLAGS inside a file, restated flag by flag: only the flags that have to change are touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ...knowledge import flags as known
from ...model import Migration
from ...values import Value
from ...wording import nearest
from ..findings.conditional import would_be
from ..xla_flags.grammar import BLANKS, Token
from .compiled_with import compiled_with
from .file_kinds import parts_that_run, place_of, sites_of
from .mapped import HOLE, Edit, Mapped, Place, Site, Span, Spans, in_file, joined_text, line_start, tokens_of

__all__ = ["BYTE_ORDER_MARK", "Change", "Rewritten", "rewrite"]

BYTE_ORDER_MARK = "\ufeff"
"""Windows' editors begin files with it, and every reader skips it."""
SAID_ANEW = ("flag-translated", "flag-half-read")
"""The findings about a flag whose name may have stayed: it stands in other words for what it stood for."""
_EMPTIED = {"": 1, "\\": 1, '""': 2, "''": 2, '"",': 2, "'',": 2, 'f""': 2, 'f"",': 2}
"""What may be left of a line that held flags which went, and how many parts the value must have for the line to go too."""
WORD = re.compile(r"\w+=\S*")
"""What is told as no flag: a setting without dashes; other words may be a command around the flags."""
_LOOKS_LIKE_FLAGS = re.compile(r"--xla_\w+(?:=(?!--)[^\s\"'\\,)\]}]*)?")
_COMMENT = re.compile(r"[ \t\"]*(#|//)")
_ARGUMENT = re.compile(r"(?P<name>(?<![\w-])(?:--?)?(?:\w+[_-])?xla[_-]flags)(?:=|[\"']?,?[ \t]+)(?P<mark>[\"']?)(?=-)")
"""What programs call an argument that holds flags of XLA: they put it in XLA_FLAGS, or compile with it (MaxText)."""
ENDS = "; XLA would end the process."
"""What does not hold for an option of the compiler, which raises."""
MISSPELT = 0.88
"""How alike a name must be to a flag's to be that flag misspelt; ``xla_flags`` and ``xla_dump_dir`` are none."""
OTHERS = "LIBTPU_INIT_ARGS"
"""Flags of TPUs, which no XLA for GPUs reads: https://github.com/jax-ml/jax/issues/15616."""


class Change(Value):
    """What became of one flag at one place; ``after`` None: it is left, and ``why`` says for what reason.

    ``fatal``: the release has no such flag, so what is left would end the process.
    """

    place: Place
    before: str
    after: str | None
    why: str
    fatal: bool = False


class Rewritten(Value):
    """The file's new text, what was changed in it, and what was left because it could not be known."""

    text: str
    changes: tuple[Change, ...] = ()
    left: tuple[Change, ...] = ()


def rewrite(text: str, kind: str, migrate: Callable[[str], Migration]) -> Rewritten:
    """Restate every flag that XLA_FLAGS holds in a file; ``migrate`` says one flag for the release that is meant.

    Raises SyntaxError or ValueError where the file cannot be read as its kind.
    """
    if text.startswith(BYTE_ORDER_MARK):
        found = rewrite(text.removeprefix(BYTE_ORDER_MARK), kind, migrate)
        return found._replace(text=f"{BYTE_ORDER_MARK}{found.text}")
    work = _Work(text, kind, migrate)
    sites = list(sites_of(text, kind))
    for site in sites:
        work.site(site)
    for site in sites_of(text, kind, OTHERS):
        work.pass_over(site)
    if kind == "python":
        work.compile_options()
    work.elsewhere(parts_that_run(text, kind))
    changes, left = (tuple(sorted(found, key=lambda change: change.place.order)) for found in (work.changes, work.left))
    return Rewritten(work.edited(), changes, left)


class _Work:
    def __init__(self, text: str, kind: str, migrate: Callable[[str], Migration]) -> None:
        self._text, self._kind, self._migrate = text, kind, migrate
        self._edits: dict[tuple[int, int], Edit] = {}
        self._seen: set[tuple[int, int]] = set()
        self._parts_at: dict[int, int] = {}
        self._known: dict[str, tuple[str, str, bool]] = {}
        self.changes: list[Change] = []
        self.left: list[Change] = []

    def site(self, site: Site) -> None:
        """The edits of one place."""
        whole, places = joined_text(site.pieces)
        if site.unsure:
            self._leave_place(site)
        for token in tokens_of(whole):
            there = places[token.start : token.end]
            spans = in_file(there)
            if not spans:
                continue
            if not token.text.startswith("-"):
                self._stray(token, spans[0][0])
                continue
            if whole[: token.start].endswith(HOLE):
                self._glued(token, spans[0][0])
            self._token(token, there, spans, len(site.pieces))

    def pass_over(self, site: Site) -> None:
        """Flags that are none of ours."""
        self._seen.update(span for piece in site.pieces for span in piece.spans)

    def _glued(self, token: Token, start: int) -> None:
        """A flag right behind what is known only when the program runs, and may not end with a blank."""
        if self._text[:start].rstrip("}")[-1:] not in BLANKS and (start, -2) not in self._seen:
            self._seen.add((start, -2))
            why = "no blank parts it from what stands before it: where that does not end with one, XLA reads both as one word"
            new, _, sure = self._new(token.text)
            stays = new if sure else token.text
            if stays:
                self._leave(start, stays.replace(HOLE, "…"), why)

    def _stray(self, token: Token, start: int) -> None:
        if HOLE not in token.text and WORD.fullmatch(token.text) and (start, -1) not in self._seen:
            self._seen.add((start, -1))
            why = "it is no flag: XLA stops reading there, and drops every flag behind it in silence"
            self._leave(start, token.text, why)

    def compile_options(self) -> None:
        """Flags as keys of ``compiler_options={…}``: named where the release has them no more, or in other words."""
        for one in filter(lambda one: one.is_flag, dict.fromkeys(chain.from_iterable(compiled_with(self._text)))):
            new, why, _ = self._new(one.flag)
            if new != one.flag and not self._exists(f"--{one.name}"):
                why = why.removeprefix(f"--{one.name} would be left out by configure(): ")
                said = f"in compiler_options; {why.removesuffix(ENDS)}" + (f" (as a flag: {new})" if new else "")
                self.left.append(Change(Place(one.line), one.name, None, said, fatal=True))

    def elsewhere(self, parts: Iterable[tuple[int, int]]) -> None:
        """Flags that would change but stand where nothing is known to read them: named, not touched."""
        arguments, seen = Spans(_arguments(self._text)), Spans(("", *span) for span in self._seen)
        for found in (one for start, end in parts for one in _LOOKS_LIKE_FLAGS.finditer(self._text, start, end)):
            at, new = found.start(), self._new(found[0])[0]
            comment = _COMMENT.match(self._text, line_start(self._text, at), at)
            if new != found[0] and not comment and not seen.around(at):
                within = next(iter(arguments.around(at)), "")
                if within or _is_a_flag(found[0]):
                    self._leave(at, found[0], _why_left(within, new))

    def edited(self) -> str:
        """The file with the edits made; neighbours may both want the blank between them."""
        parts, done = [], 0
        for edit in sorted([*self._edits.values(), *self._emptied()], key=lambda edit: (edit.start, -edit.end)):
            parts += [self._text[done : max(edit.start, done)], edit.text]
            done = max(edit.end, done)
        return "".join([*parts, self._text[done:]])

    def _emptied(self) -> Iterator[Edit]:
        """The lines of which nothing is left but quotes or a continuation, as whole edits."""
        lines: dict[int, list[Edit]] = {}
        for edit in self._edits.values():
            lines.setdefault(line_start(self._text, edit.start), []).append(edit)
        for start, edits in lines.items():
            end = self._text.find("\n", start) + 1
            rest, at = "", start
            for edit in sorted(edits, key=lambda edit: edit.start):
                rest, at = rest + self._text[at : edit.start] + edit.text, max(edit.end, at)
            needed = _EMPTIED.get((rest + self._text[at:end]).strip())
            if needed and start and end and self._parts_at.get(edits[0].start, 1) >= needed:
                yield Edit(start, end, "")

    def _leave_place(self, site: Site) -> None:
        line = self._text[site.at :].partition("\n")[0]
        flags = _LOOKS_LIKE_FLAGS.findall(line)
        if any(self._new(flag)[0] != flag for flag in flags):
            self._seen.add((site.at, site.at + len(line)))
            self._leave(site.at, line.strip(), site.unsure)

    def _token(self, token: Token, places: list[tuple[Mapped, int]], spans: list[Span], parts: int) -> None:
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
        edit = Edit(start, end, said) if said else self._without(places, start, end)
        self._edits[start, end], self._parts_at[edit.start] = edit, parts
        self.changes.append(Change(place_of(self._text, self._kind, start), token.text, new, why))

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
            gone = "" if self._exists(name) else "this release has no such flag, and "
            self._leave(start, shown, f"{gone}its value is known only when the program runs")

    def _exists(self, name: str) -> bool:
        """Whether the release has the flag at all, whatever its value."""
        return any(self._new(f"{name}={value}")[0] == f"{name}={value}" for value in ("true", "1", "0.5", "x"))

    def _leave(self, at: int, what: str, why: str) -> None:
        names = re.findall(r"--xla_\w+", what)
        fatal = any(self._new(f"{name}=")[0] != f"{name}=" and not self._exists(name) for name in names)
        self.left.append(Change(place_of(self._text, self._kind, at), what, None, why, fatal))

    def _new(self, flag: str) -> tuple[str, str, bool]:
        """The flag as the release wants it (itself where nothing is known against it), why, and whether that is sure."""
        if flag not in self._known:
            found = self._migrate(flag)
            translated = [d.reason for d in found.decisions if d.status == "translated"]
            others = [
                *(would_be(f.message, "configure()") for f in found.findings),
                *(d.reason for d in found.decisions if d.status == "dropped"),
            ]
            sure = bool(translated) or any(f.code in SAID_ANEW for f in found.findings)
            self._known[flag] = found.xla_flags, [*translated, *others, ""][0], sure
        return self._known[flag]


def _arguments(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of each value that a program gets as flags of XLA by an argument of its own."""
    for found in _ARGUMENT.finditer(text) if re.search("xla[_-]flags", text) else ():
        before = text[found.start() - 1 : found.start()]
        mark = found["mark"] or (before if before in ("'", '"') else "")
        end = re.compile(re.escape(mark) if mark else r"\s|\Z").search(text, found.end())
        yield found["name"], found.end(), end.start() if end else len(text)


def _is_a_flag(text: str) -> bool:
    """Whether a release has the flag, or one like it: any other is an argument that a program has for itself."""
    name = text[2:].partition("=")[0]
    return known.known(name) or nearest(name, known.names(), MISSPELT) is not None


def _why_left(argument: str, new: str) -> str:
    if not argument:
        return "it cannot be told whether this becomes a part of XLA_FLAGS"
    instead = f"; write {new} instead" if new else "; leave it out"
    return f"the program gets it by its own argument {argument}, and it counts when that is handed to XLA{instead}"
