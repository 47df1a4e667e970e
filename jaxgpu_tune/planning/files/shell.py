"""What shell scripts set, and the instructions of a Dockerfile, which are quoted alike. Also ``.env`` files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import quote

from ..xla_flags.grammar import FLAGS
from .commands import IN_THE_COMMAND, SUBSHELL, is_command, is_lost, keeps, lost_in
from .lists import flags_in_list, one_member
from .mapped import HOLE, Encoder, Mapped, Placed, Site, as_it_stands, bracket_end

__all__ = [
    "CONTAINERS",
    "HEREDOC",
    "QUOTES",
    "command_sites",
    "dockerfile_sites",
    "dotenv_sites",
    "flag_sites",
    "read_word",
    "shell_sites",
]

QUOTES = ("'", '"')
DOCUMENT = "a here-document"
ENDS = " \t\n;&|()<>"
CONTAINERS = ("APPTAINERENV_", "SINGULARITYENV_")
"""What stands before the name of a variable that is to be set in a container of Apptainer."""
_BEHIND = "".join(f"|(?<={prefix})" for prefix in CONTAINERS)
_ASSIGNED = rf"(?:^|(?<=[\s;&|(\"'=,]){_BEHIND})(?P<name>{{}})\+?="
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_LEGACY = r"(?im)^[ \t]*ENV[ \t]+(?P<name>{})[ \t]+(?=\S)"
_RUN_LINE = re.compile(r"(?im)^[ \t]*RUN[ \t]+(?:--\S+[ \t]+)*(?P<body>(?:[^\\\n]|\\[\s\S])*)")
_DOTENV = r"(?m)^[ \t]*(?:export[ \t]+)?{}[ \t]*=[ \t]*"
_SPACED = r"(?m)^[^#\n]*?(?<![\w-])(?:setenv|set(?:[ \t]+--?\w[\w-]*)+|-genv)[ \t]+(?P<name>{})[ \t]+(?=\S)"
"""As csh, fish and Intel's mpirun write it."""
_BATCH = re.compile(r"#(?:SBATCH|PBS|BSUB|\$)[ \t]")
"""Comments to the shell, options to the scheduler."""
_DOUBLE = re.compile(r'[^"\\]*(?:\\.?[^"\\]*)*', re.DOTALL)
"""To the quotes that end them, or to the end of the file."""
_VARIABLE = re.compile(r"\$\$?(\w+|\{(\w+)[^}]*\})")
"""Also as a Makefile hands it to the shell, with two dollars."""


def shell_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """Every assignment of the variable: alone, exported, before a command, as an argument of env, docker or sbatch."""
    if name not in text:
        return
    for found in re.finditer(_SPACED.format(re.escape(name)), text):
        yield _site(text, found.start("name"), found.end(), ENDS)
    sites = flag_sites(text) if name == FLAGS else _assigned(text, name)
    yield from lost_in(text, sites, SUBSHELL, IN_THE_COMMAND)


def _assigned(text: str, name: str) -> Iterator[Site]:
    """A value without blanks, also of a command in quotes, where it ends with those at the latest."""
    for at, within, quote_at in _word_starts(text, name):
        if within in QUOTES and is_command(text, quote_at):
            yield from _in_command(text, quote_at, name)
            continue
        start = text.index("=", at) + 1
        escaped = 2 if within and text[start : start + 2] in ('\\"', "\\'") else 0
        marks = within if text[start : start + 1] in QUOTES else "'\""  # a text in quotes may hold one in the others
        site = _site(text, at, start + escaped, ENDS + (marks if within in QUOTES else "") + "\\" * bool(escaped))
        one = one_member(site) if text[start : start + 1] not in QUOTES else site
        yield one._replace(pieces=(Mapped.hole(), *one.pieces)) if text[start - 2] == "+" else one


def _in_command(text: str, quote_at: int, name: str) -> Iterator[Site]:
    """What a command in quotes sets: it is a text of the shell's for itself."""
    inner, names = unquoted(text, quote_at)
    for site in command_sites(inner, name, "" if keeps(text, quote_at) else IN_THE_COMMAND):
        yield site._replace(names=(*site.names, *names))


def command_sites(command: Mapped, name: str, instead: str) -> Iterator[Site]:
    """What a text sets that a shell of its own runs; ``instead``: what to write where that ends before any program."""
    for site in shell_sites(command.text, name):
        lost = instead if is_lost(command.text, site.at) else ""
        yield site.within(command)._replace(lost=site.lost or lost)


def flag_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """The same for a variable that holds flags with blanks between them: what of a command in quotes is one cannot be known."""
    if name not in text:
        return
    for at, within, quote_at in _word_starts(text, name):
        start = text.index("=", at) + 1
        whole = _in_one_quote(text, at, start) if within else None
        if whole is not None:
            yield whole
        elif within == DOCUMENT and re.compile(_DOTENV.format(name)).match(text, text.rfind("\n", 0, at) + 1):
            yield _line_site(text, at, start)
        elif within in QUOTES and is_command(text, quote_at):
            yield from _in_command(text, quote_at, name)
        elif within:
            yield Site(at, unsure=f"{name} is set within {within if within == DOCUMENT else 'quotes'}")
        else:
            site = _site(text, at, start, ENDS)
            site = flags_in_list(site, text)
            yield site._replace(pieces=(Mapped.hole(), *site.pieces)) if text[start - 2] == "+" else site


def unquoted(text: str, at: int) -> tuple[Mapped, tuple[str, ...]]:
    """What stands between the quotes that begin at ``at``, as one text, and the variables that are put into it."""
    pieces, names = _to_quote(text, at + 1, text[at])
    encode = _in_double_quotes if text[at] == '"' else pieces[0].encode
    return Mapped.joined(pieces, encode), tuple(names)


def _to_quote(text: str, start: int, mark: str) -> tuple[list[Mapped], list[str]]:
    """What stands from there to the quotes that end it, and the variables that are put into it."""
    if mark == "'":
        return [_single(text, start - 1)[0]], []
    pieces: list[Mapped] = []
    names: list[str] = []
    _inner(text, start, mark, pieces, names, _in_double_quotes)
    return pieces, names


def _in_one_quote(text: str, at: int, start: int) -> Site | None:
    """``-e "XLA_FLAGS=--a --b"``: the rest of the quotes, if it holds flags alone (else it is a command)."""
    mark = text[at - 1]
    if mark not in "'\"":
        return None
    pieces, names = _to_quote(text, start, mark)
    words = "".join(piece.text for piece in pieces).split()
    return Site(at, tuple(pieces), names=tuple(names)) if all(word[0] in f"-{HOLE}" for word in words) else None


def dockerfile_sites(text: str, name: str = FLAGS) -> Iterator[Site]:
    """As in a shell, and the form ``ENV NAME value to the end of the line``."""
    yield from lost_in(text, shell_sites(text, name), _RUN_LINE, f"Write ENV {name}=… in a line of its own.")
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


def _word_starts(text: str, name: str) -> Iterator[tuple[int, str, int]]:
    """Where the name is assigned outside comments, within what (empty: nothing) it stands there, and where that begins.

    Of a command in quotes the first place is told, for all of it.
    """
    wanted = re.compile(_ASSIGNED.format(re.escape(name)))
    next_one = re.compile(rf"[#'\"\\<]|{re.escape(name)}")
    at = 0
    while (found := next_one.search(text, at)) is not None:
        at = found.start()
        if text[at] == "#" and text[at - 1 : at] in ("", *" \t\n;"):
            stop = _line_end(text, at)
            options = wanted.finditer(text, at, stop) if _BATCH.match(text, at) else ()
            yield from ((option.start(), "", at) for option in options)
            at = stop
        elif text[at] in "'\"":
            close = _quote_end(text, at)
            if text.find(name, at, close) >= 0:
                yield from ((one, text[at], at) for one in _in_quotes(text, at, close, wanted))
            at = close + 1
        elif (document := HEREDOC.match(text, at)) and text[at - 1 : at] != "<":
            body = _line_end(text, at) + 1
            last = re.compile(rf"(?m)^\t*{document[2]}$").search(text, body)
            stop = last.end() if last else len(text)
            yield from ((one.start(), DOCUMENT, at) for one in wanted.finditer(text, body, stop))
            at = stop
        elif word := wanted.match(text, at):
            yield at, "", at
            at = max(read_word(text, word.end(), ENDS)[2], at + 1)
        else:
            at += 2 if text[at] == "\\" else 1


def _in_quotes(text: str, at: int, close: int, wanted: re.Pattern[str]) -> list[int]:
    """A name right behind the quotes comes last, as the others stand in its value."""
    first = at + 1 if wanted.match(text, at + 1) and text[at - 1 : at] != "=" else None
    inside = [one.start() for one in wanted.finditer(text, at + 1, close) if one.start() != first]
    places = inside if first is None else [*inside, first]
    return places[:1] if is_command(text, at) else places


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _quote_end(text: str, at: int) -> int:
    if text[at] == '"':
        found = _DOUBLE.match(text, at + 1)
        return found.end() if found else len(text)
    end = text.find("'", at + 1)
    return len(text) if end < 0 else end


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
        return bracket_end(text, at + 1, "(", ")"), ""
    if text[at] == "`":
        end = text.find("`", at + 1)
        return (len(text) if end < 0 else end + 1), ""
    return at + 1, ""


def _in_double_quotes(said: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", said)


def _in_no_quotes(said: str) -> str:
    return f'"{_in_double_quotes(said)}"' if " " in said else quote(said) if said else ""
