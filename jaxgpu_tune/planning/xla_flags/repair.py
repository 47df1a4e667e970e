"""What the user meant by a damaged XLA_FLAGS, with a finding for everything that is not as XLA wants it. Pure.

Undamaged flags keep the text that the user wrote. What is ambiguous is left out with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...model import Finding
from ..base.wish import Repaired
from .grammar import Token, scan
from .spelling import Misspelling, Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .damage import Reader


__all__ = ["repair"]


_PLAIN = r"--[a-z0-9_]+=(?!.*(?:--|,-|,$))[A-Za-z0-9_./:+,%=-]*"


def repair(text: str, words: Vocabulary, flag_file: str | None = None) -> Repaired:
    """Read ``text``, the value of XLA_FLAGS, as it was meant.

    ``words``: what the installed build, or a translation, knows. ``flag_file``: what the file holds that
    ``scan(text).file`` names; None if there is none.
    """
    if not text:
        return Repaired()
    read = scan(text)
    if read.fatal:
        return Repaired(findings=(_BLANK,))
    if read.file is None and not read.lost and all(_sound(token, words) for token in read.tokens):
        return Repaired(read.tokens)
    if read.file is None:
        return _from(_reader(text, words), words)
    return _inlined(text, flag_file, words) if flag_file is not None else _no_file(text, words)


def _sound(token: Token, words: Vocabulary) -> bool:
    """Whether nothing about this token can be damage; most are like that, and need no Reader."""
    return token.name is not None and re.fullmatch(_PLAIN, token.text) is not None and words.known(token.name)


def _reader(text: str, words: Vocabulary) -> Reader:
    from .damage import Reader  # late: its patterns cost start-up time, and most texts are sound

    return Reader(text, words)


def _inlined(file: str, content: str, words: Vocabulary) -> Repaired:
    out = _from(_reader(content, words), words)
    message = f"XLA_FLAGS names the file {file!r}; its {len(out.flags)} flags now stand in XLA_FLAGS themselves."
    return Repaired(out.flags, (Finding("flag-file-inlined", "note", message), *out.findings))


def _no_file(text: str, words: Vocabulary) -> Repaired:
    reader = _reader(text, words)
    if any(words.is_xla(str(flag.name)) for flag in reader.flags):
        return _from(reader, words)
    message = f"XLA_FLAGS is {text!r}, which XLA takes for the name of a file of flags, but there is no such file; it is left out."
    return Repaired(findings=(Finding("flag-file-missing", "error", message, _FILE_HINT),))


def _from(reader: Reader, words: Vocabulary) -> Repaired:
    flags = reader.settled()
    wrong = {flag: note for flag in flags if (note := _misplaced(flag, words))}
    notes = (*reader.notes, *wrong.values())
    return Repaired(tuple(flag for flag in flags if flag not in wrong), tuple(_findings(notes)))


def _misplaced(flag: Token, words: Vocabulary) -> Misspelling | None:
    """Why this has no place in XLA_FLAGS, if it has none."""
    name, written = str(flag.name), flag.argument
    if words.known(name):
        return None
    if name.lower() in ("help", "h", "helpfull"):
        return Misspelling("help-flag", "XLA prints its usage and ends the process", written)
    if name.startswith(("xla_tpu_", "megascale_")):
        return Misspelling(
            "tpu-flag", "a flag of the TPU runtime, which reads LIBTPU_INIT_ARGS, not XLA_FLAGS", written
        )
    if name.startswith("tf_"):
        return Misspelling("tensorflow-flag", "a flag of TensorFlow, which reads TF_XLA_FLAGS", written)
    if words.is_xla(name) and flag.text:
        return None
    near = words.closest(name)
    guess = f" (the closest XLA flag is --{near})" if near else ""
    return Misspelling("not-an-xla-flag", f"not an XLA flag{guess}; is it an argument of your program?", written)


def _findings(notes: Iterable[Misspelling]) -> Iterable[Finding]:
    """One finding for all notes that say the same is wrong."""
    groups: dict[tuple[str, str], list[Misspelling]] = {}
    for note in notes:
        groups.setdefault((note.code, note.wrong), []).append(note)
    for (code, wrong), group in groups.items():
        what = "; ".join(_outcome(note) for note in group)
        message = f"XLA_FLAGS: {what}: {wrong}{'' if wrong.endswith('?') else '.'}"
        yield Finding(code, "error" if code in _ERRORS else "warning", message, _HINTS.get(code, ""))


def _outcome(note: Misspelling) -> str:
    if not note.used:
        return f"{_shown(note.given)} is left out"
    return f"{_shown(note.given)} is read as " + ("a blank" if note.used == " " else _shown(note.used))


def _shown(text: str) -> str:
    """The text in quotes; what cannot be seen is escaped."""
    visible = re.sub(r"[^\S ]|[^\x20-\x7e\s]", lambda m: m[0] if m[0].isprintable() else ascii(m[0])[1:-1], text)
    return f"`{visible}`"


_BLANK = Finding(
    "blank-xla-flags",
    "warning",
    "XLA_FLAGS holds nothing but blanks, for which XLA ends the process; it is treated as empty.",
    "Unset the variable.",
)
_FILE_HINT = "Flags begin with '--'; the name of a file is relative to the working directory."
_ERRORS = frozenset({"ambiguous-quote", "missing-value"})
_HINTS = {
    "ambiguous-quote": "Close the quote.",
    "missing-value": "Write --flag=value.",
    "blank-before-value": "Write --flag=value.",
    "comment": "Keep comments outside XLA_FLAGS.",
    "help-flag": "`jaxgpu-tune flags` lists every flag of this build.",
    "missing-blank": 'Mind the blank where a script puts texts together: XLA_FLAGS="$XLA_FLAGS --flag=value".',
    "not-an-xla-flag": "Give it to your program on its command line.",
    "stray-word": "A value with a blank in it needs quotes right after '='.",
    "tensorflow-flag": "Put it into TF_XLA_FLAGS.",
    "tpu-flag": "On a TPU put it into LIBTPU_INIT_ARGS; here it has no use.",
    "typographic-dash": "Type the flag by hand: a word processor or web page has replaced its hyphens.",
    "typographic-quote": "Type plain quotes: a word processor or web page has replaced them.",
    "unexpanded-variable": "The variable's value was not put in. A shell does so within double quotes, not within single ones; a file that no shell reads must hold the flags themselves.",
}
