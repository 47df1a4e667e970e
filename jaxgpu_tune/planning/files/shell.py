"""What shell scripts set, and the instructions of a Dockerfile, which are quoted alike. Also ``.env`` files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from ..xla_flags.grammar import FLAGS
from .mapped import HOLE, Encoder, Mapped, Placed, Site, as_it_stands

__all__ = ["QUOTES", "dockerfile_sites", "dotenv_sites", "flag_sites", "read_word", "shell_sites"]

QUOTES = ("'", '"')
DOCUMENT = "a here-document"
ENDS = " \t\n;&|()<>"
_ASSIGNED = r"(?:^|(?<=[\s;&|(\"'=,]))(?P<name>{})\+?="
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_LEGACY = r"(?im)^[ \t]*ENV[ \t]+(?P<name>{})[ \t]+(?=\S)"
_DOTENV = r"(?m)^[ \t]*(?:export[ \t]+)?{}[ \t]*=[ \t]*"
_SPACED = r"(?m)^[^#\n]*?(?<![\w-])(?:setenv|set(?:[ \t]+--?\w[\w-]*)+|-genv)[ \t]+(?P<name>{})[ \t]+(?=\S)"
"""As csh, fish and Intel's mpirun write it."""
_BATCH = re.compile(r"#(?:SBATCH|PBS|BSUB|\$)[ \t]")
"""Comments to the shell, options to the scheduler."""
_NEXT = re.compile(r",(?=[A-Za-z_]\w*=|ALL\b|NIL\b)")
"""Between the members of ``--export=A=1,B=2,ALL``; the value of a variable may hold other commas."""
_VARIABLE = re.compile(r"\$\$?(\w+|\{(\w+)[^}]*\})")
"""Also as a Makefile hands it to the shell, with two dollars."""


def shell_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every assignment of the variable: alone, exported, before a command, as an argument of env, docker or sbatch."""
    for found in re.finditer(_SPACED.format(re.escape(name)), text):
        yield _site(text, found.start("name"), found.end(), ENDS)
    yield from flag_sites(text) if name == FLAGS else _assigned(text, name)


def _assigned(text: str, name: str) -> Iterator[Site]:
    """A value without blanks, also of a command in quotes, where it ends with those at the latest."""
    for at, within in _word_starts(text, re.compile(_ASSIGNED.format(re.escape(name)))):
        start = text.index("=", at) + 1
        escaped = 2 if within and text[start : start + 2] in ('\\"', "\\'") else 0
        site = _site(text, at, start + escaped, ENDS + (within if within in QUOTES else "") + "\\" * bool(escaped))
        one = _one_member(site) if text[start : start + 1] not in QUOTES else site
        yield one._replace(pieces=(Mapped.hole(), *one.pieces)) if text[start - 2] == "+" else one


def _one_member(site: Site) -> Site:
    pieces: list[Mapped] = []
    for piece in site.pieces:
        end = _NEXT.search(piece.text)
        pieces.append(piece if end is None else piece.part(0, end.start()))
        if end:
            break
    return site._replace(pieces=tuple(pieces))


def flag_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """The same for a variable that holds flags with blanks between them: what of a command in quotes is one cannot be known."""
    for at, within in _word_starts(text, re.compile(_ASSIGNED.format(re.escape(name)))):
        start = text.index("=", at) + 1
        whole = _in_one_quote(text, at, start) if within else None
        if whole is not None:
            yield whole
        elif within == DOCUMENT and re.compile(_DOTENV.format(name)).match(text, text.rfind("\n", 0, at) + 1):
            yield _line_site(text, at, start)
        elif within:
            yield Site(at, unsure=f"{name} is set within {within if within == DOCUMENT else 'quotes'}")
        elif text[at - 1 : at] == ",":
            yield Site(at, unsure="the value is a part of a list with commas")
        else:
            site = _site(text, at, start, ENDS)
            adds = text[start - 2] == "+"
            yield site._replace(pieces=(Mapped.hole(), *site.pieces)) if adds else site


def _in_one_quote(text: str, at: int, start: int) -> Site | None:
    """``-e "XLA_FLAGS=--a --b"``: the rest of the quotes, if it holds flags alone (else it is a command)."""
    mark = text[at - 1]
    if mark not in "'\"":
        return None
    pieces: list[Mapped] = []
    names: list[str] = []
    if mark == '"':
        _inner(text, start, '"', pieces, names, _in_double_quotes)
    else:
        pieces.append(_single(text, start - 1)[0])
    words = "".join(piece.text for piece in pieces).split()
    return Site(at, tuple(pieces), names=tuple(names)) if all(word[0] in f"-{HOLE}" for word in words) else None


def dockerfile_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """As in a shell, and the form ``ENV NAME value to the end of the line``."""
    yield from shell_sites(text, name)
    for found in re.finditer(_LEGACY.format(re.escape(name)), text):
        yield _site(text, found.start("name"), found.end(), "\n")


def dotenv_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """One assignment a line; without quotes the value goes on to the end of the line or to `` #``."""
    for found in re.finditer(_DOTENV.format(re.escape(name)), text):
        site = _line_site(text, found.start(), found.end())
        quoted = text[found.end() : found.end() + 1] in QUOTES
        yield site if quoted else site._replace(pieces=tuple(map(_before_comment, site.pieces)))


def _line_site(text: str, at: int, start: int) -> Site:
    """To the end of the line, unless quotes say otherwise."""
    return _site(text, at, start, ENDS if text[start : start + 1] in QUOTES else "\n")


def _before_comment(piece: Mapped) -> Mapped:
    end = piece.text.find(" #")
    return piece if end < 0 else piece.part(0, end)


def _site(text: str, at: int, start: int, ends: str) -> Site:
    pieces, names, _ = read_word(text, start, ends)
    return Site(at, tuple(pieces), names=tuple(names))


def _word_starts(text: str, wanted: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Where the pattern matches outside comments, and within what (empty: nothing) it stands there."""
    at, end = 0, len(text)
    while at < end:
        if text[at] == "#" and text[at - 1 : at] in ("", *" \t\n;"):
            stop = _line_end(text, at)
            options = wanted.finditer(text, at, stop) if _BATCH.match(text, at) else ()
            yield from ((found.start(), "") for found in options)
            at = stop
        elif text[at] in "'\"":
            close = _quote_end(text, at)
            inner = at + 1 if wanted.match(text, at + 1) and text[at - 1 : at] != "=" else None
            yield from (
                (found.start(), text[at]) for found in wanted.finditer(text, at + 1, close) if found.start() != inner
            )
            yield from () if inner is None else ((inner, text[at]),)
            at = close + 1
        elif (document := _HEREDOC.match(text, at)) and text[at - 1 : at] != "<":
            body = _line_end(text, at) + 1
            last = re.compile(rf"(?m)^\t*{document[2]}$").search(text, body)
            stop = last.end() if last else end
            yield from ((found.start(), DOCUMENT) for found in wanted.finditer(text, body, stop))
            at = stop
        elif found := wanted.match(text, at):
            yield at, ""
            at = max(read_word(text, found.end(), ENDS)[2], at + 1)
        else:
            at += 2 if text[at] == "\\" else 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _quote_end(text: str, at: int) -> int:
    mark, at = text[at], at + 1
    while at < len(text) and text[at] != mark:
        at += 2 if text[at] == "\\" and mark == '"' else 1
    return at


def read_word(text: str, at: int, ends: str) -> tuple[list[Mapped], list[str], int]:
    """The pieces of the shell word at ``at``, the variables that are put into it, and where it ends."""
    pieces: list[Mapped] = []
    names: list[str] = []
    while at < len(text) and text[at] not in ends:
        if text[at] == "'":
            piece, at = _single(text, at)
            pieces.append(piece)
        elif text[at] == '"':
            at = _inner(text, at + 1, '"', pieces, names, _in_double_quotes)
            at += 1
        else:
            before = at
            at = _inner(text, at, ends + "'\"", pieces, names, _in_no_quotes if ends == ENDS else str)
            if at == before:
                break
    return pieces, names, at


def _single(text: str, at: int) -> tuple[Mapped, int]:
    end = text.find("'", at + 1)
    end = len(text) if end < 0 else end
    return as_it_stands(text[at + 1 : end], at + 1, lambda said: said.replace("'", "'\\''")), end + 1


def _escaped(text: str, at: int, *, quoted: bool) -> tuple[str, int]:
    """What a backslash makes of the character behind it, and where that ends; in quotes it is one itself before most."""
    taken = text[at + 1 : at + 2]
    literal = quoted and taken not in '$`"\\\n'
    return ("\\", at + 1) if literal else (taken, at + 2)


def _inner(text: str, at: int, ends: str, pieces: list[Mapped], names: list[str], encode: Encoder) -> int:
    """Read to one of ``ends``: characters, escapes and what is put in; adds to ``pieces``, returns where it stopped."""
    characters: list[Placed] = []

    def flush() -> None:
        if characters:
            pieces.append(Mapped.of(characters, encode))
            characters.clear()

    while at < len(text) and text[at] not in ends:
        if text[at] == "\\":
            taken, end = _escaped(text, at, quoted=ends == '"')
            characters += [(taken, (at, end))] if taken != "\n" else []
            at = end
        elif text[at] in "$`":
            end, name = _put_in(text, at)
            if end == at + 1:
                characters.append((text[at], (at, end)))
            else:
                flush()
                pieces.append(Mapped.hole())
                names.extend([name] if name else [])
            at = end
        else:
            characters.append((text[at], (at, at + 1)))
            at += 1
    flush()
    return at


def _put_in(text: str, at: int) -> tuple[int, str]:
    """Where what the shell puts in ends, and its variable's name if it is one."""
    if variable := _VARIABLE.match(text, at):
        return variable.end(), variable[2] or variable[1].strip("{}")
    if text.startswith("$(", at):
        return _bracket_end(text, at + 1), ""
    if text[at] == "`":
        end = text.find("`", at + 1)
        return (len(text) if end < 0 else end + 1), ""
    return at + 1, ""


def _bracket_end(text: str, at: int) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i + 1
    return len(text)


def _in_double_quotes(said: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", said)


def _in_no_quotes(said: str) -> str:
    return f'"{_in_double_quotes(said)}"' if " " in said else quote(said) if said else ""
