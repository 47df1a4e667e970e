"""What is wrong with what a file sets, each with its line: XLA_FLAGS flag by flag, and the other variables that are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from ...knowledge.hazards import hazards
from ...knowledge.options import known
from ...model import Finding, Migration, Severity
from ...values import Value
from ..settings.pool_variables import UNIFIED
from ..xla_flags.grammar import FLAGS, Token
from .by_rank import Given, rank_spans, set_by_rank
from .compiled_with import compiled_with
from .exported import is_kept_back
from .file_kinds import place_of, sites_of
from .late_settings import late_settings
from .lost_flags import lost_flags
from .mapped import HOLE, Place, Site, in_file, joined_text, tokens_of
from .notebook_cells import notebook_python
from .python_nodes import line_begins
from .rewrite import BYTE_ORDER_MARK, Change, rewrite
from .scheduled import instead_of_assigned
from .variables_set import JAX_S, SetHere, variables_set

__all__ = ["LineFault", "file_faults"]

Check = Callable[[Mapping[str, str]], tuple[Finding, ...]]

OF_NAMES = frozenset({"unknown-variable", "variable-without-reader"})
"""What is said of a variable whatever its value is."""
OF_VALUES = frozenset({"bad-variable", "bad-option-value", "doubtful-variable", "variable-repaired", "flag-translated"})
"""What is said of a value whatever else is set, but for what its meaning hangs on (unified memory)."""
OF_FLAGS = frozenset({"ends-the-process"})
"""What is said of XLA_FLAGS at its own place, whatever variables stand around it."""
OPTIONS_HERE = "All that there are: python -c 'import jax; print(*jax.config.values)'."


class LineFault(Value):
    """A finding about what stands in a line of a file."""

    place: Place
    finding: Finding


def file_faults(text: str, kind: str, check: Check, migrate: Callable[[str], Migration]) -> tuple[LineFault, ...]:
    """What ``check`` says of each flag, each whole value and each variable, and what cannot be told before the program runs.

    Raises SyntaxError or ValueError where the file cannot be read as its kind.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    sites, variables = list(sites_of(text, kind)), variables_set(text, kind)
    everything = [*(SetHere(site.at, FLAGS, site.text, lost=site.lost) for site in sites), *variables]
    judge = _Judge(check, _Around(sites, variables))
    source, begins = _python(text, kind)
    at_places = chain(
        judge.all_of(sites, variables),
        _in_vain(everything),
        _late(text, kind, source, begins),
        _kept_back(text, everything) if kind == "shell" else (),
        judge.compiled(source, begins),
        _apart(text, kind, sites, variables),
        instead_of_assigned(text, kind, variables),
        lost_flags(text, kind, sites, source, begins),
    )
    found = [LineFault(place_of(text, kind, at), finding) for at, finding in at_places]
    told: dict[Place, list[str]] = {}
    for fault in found:
        told.setdefault(fault.place, []).append(fault.finding.message)
    left = (one for one in rewrite(text, kind, migrate).left if not _is_told(one, told))
    found += map(_left, left)
    return tuple(sorted(dict.fromkeys(found), key=lambda fault: fault.place.order))


class _Judge:
    """What ``check`` says of one setting among the others of its file; each environment is judged once."""

    def __init__(self, check: Check, around: _Around) -> None:
        self._check, self._around = check, around
        self._known: dict[tuple[tuple[str, str], ...], tuple[Finding, ...]] = {}

    def all_of(self, sites: list[Site], variables: tuple[SetHere, ...]) -> Iterator[tuple[int, Finding]]:
        """(where, what) of every setting: of its value wherever it stands, of what several cause together at the last of them."""
        for site in sites:
            yield from self._flags(site)
        told: dict[Finding, int] = {}
        for one in variables:
            found = tuple(self._variable(one, self._around.beside(one), self._around.maybe(one)))
            found = tuple(_of_option(one, found)) if one.option else found
            yield from ((one.at, finding) for finding in found if finding.code in OF_VALUES)
            told.update((finding, one.at) for finding in found if finding.code not in OF_VALUES)
        yield from ((at, finding) for finding, at in told.items())

    def compiled(self, source: str, begins: Sequence[int]) -> Iterator[tuple[int, Finding]]:
        """The hazards of what one function is compiled with beside what the file sets, at the last of its options."""
        codes = {hazard.code for hazard in hazards()}
        for options in compiled_with(source):
            known = [one for one in options if one.value is not None]
            if known:
                levels = dict(one.variable for one in known if not one.is_flag)
                flags = " ".join([*self._around.flags.values(), *(one.flag for one in known if one.is_flag)])
                found = self._of({**self._around.whole, **levels, **({FLAGS: flags} if flags else {})})
                new = (one for one in found if one.code in codes and one not in self._of(self._around.whole))
                yield from ((begins[known[-1].line - 1], finding) for finding in new)

    def _flags(self, site: Site) -> Iterator[tuple[int, Finding]]:
        """Flag by flag, with the place of each; then what only the whole value shows, where all of it is known."""
        whole, places = joined_text(site.pieces)
        seen = set()
        for token in tokens_of(whole):
            spans = in_file(places[token.start : token.end])
            if spans and token.text.startswith("-") and HOLE not in token.text:
                for finding in self._of({FLAGS: token.text}):
                    seen.add(finding.code)
                    yield spans[0][0], finding
        if whole and HOLE not in whole and not site.unsure:
            yield from ((site.at, finding) for finding in self._of({FLAGS: whole}) if finding.code not in seen)

    def _variable(self, one: SetHere, beside: dict[str, str], maybe: dict[str, str]) -> Iterator[Finding]:
        """What is said of its own value, and what is said with it that is not said without it, or of it alone. ``maybe``: what its meaning may hang on."""
        if one.value is None:
            wrong = [finding for finding in self._of({one.name: "1"}) if finding.code in OF_NAMES]
            yield from wrong or ([_unreadable(one)] if one.unreadable else [])
            return
        without = self._of(beside)
        read_by = {**{name: value for name, value in beside.items() if name == UNIFIED}, **maybe}
        yield from (finding for finding in self._of({**read_by, one.name: one.value}) if finding.code in OF_VALUES)
        whole, alone = self._of({**beside, one.name: one.value}), self._of({one.name: one.value})
        of_it = frozenset(alone).difference(self._of({}))
        new = (finding for finding in whole if finding not in without or finding in of_it)
        elsewhere = OF_FLAGS | OF_VALUES if maybe else OF_FLAGS
        yield from (finding for finding in new if finding.code not in elsewhere)

    def _of(self, environ: dict[str, str]) -> tuple[Finding, ...]:
        key = tuple(sorted(environ.items()))
        if key not in self._known:
            self._known[key] = self._check(environ)
        return self._known[key]


def _of_option(one: SetHere, found: Collection[Finding]) -> Iterator[Finding]:
    """What is said of a variable, of the option that Python sets by its name: configure() mends no line of a program."""
    name = one.name.lower()
    for finding in found:
        if finding.code == "unknown-variable":
            hint = re.sub(r"JAX_\w+", lambda name: name[0].lower(), finding.hint)
            yield Finding(
                "unknown-option", "error", f"jax has no option {name}: jax.config raises AttributeError.", hint
            )
        elif finding.code != "variable-without-reader":
            yield _as_of_option(finding)
    if one.option == JAX_S and not found and not known(name):
        message = (
            f"No release of jax is known to have an option {name}: where it has none, jax.config raises AttributeError."
        )
        yield Finding("unknown-option", "warning", message, OPTIONS_HERE)


def _as_of_option(finding: Finding) -> Finding:
    severity: Severity = "error" if finding.code == "flag-translated" else finding.severity
    message = finding.message.replace("`import jax` would raise", "jax.config raises")
    message = re.sub(r"; it would be taken out by configure\(\)", "", message)
    return finding._replace(
        severity=severity, message=re.sub(r"would be used instead by configure\(\)", "stands for it", message)
    )


class _Around:
    """What each part of the file sets, by the last value of each variable; what is not known, and what is lost, counts as not set."""

    def __init__(self, sites: list[Site], variables: tuple[SetHere, ...]) -> None:
        flags = " ".join(dict.fromkeys(token.text for site in sites if not site.lost for token in _known_flags(site)))
        self.flags = {FLAGS: flags} if flags else {}
        self._of_part: dict[int, dict[str, str]] = {}
        self._maybe = {one.part for one in variables if one.name == UNIFIED and one.value is None}
        for one in variables:
            if one.value is not None and not one.lost:
                self._of_part.setdefault(one.part, {})[one.name] = one.value

    def maybe(self, one: SetHere) -> dict[str, str]:
        """Unified memory, where only the program knows whether it is asked for."""
        around = {one.part, 0} if one.part < 0 else {one.part}
        return {UNIFIED: "true"} if around & self._maybe else {}

    @property
    def whole(self) -> dict[str, str]:
        """What the file sets for all of its program."""
        return {**self._of_part.get(0, {}), **self.flags}

    def beside(self, one: SetHere) -> dict[str, str]:
        """What else is set in its part; what is lost is in a shell of its own."""
        if one.lost:
            return {}
        around = self._of_part.get(0, {}) if one.part < 0 else {}
        others = {**around, **self._of_part.get(one.part, {})}.items()
        return {**{name: value for name, value in others if name != one.name}, **self.flags}


def _known_flags(site: Site) -> Iterable[Token]:
    return (token for token in tokens_of(site.text) if token.text.startswith("-") and HOLE not in token.text)


def _in_vain(everything: Iterable[SetHere]) -> Iterator[tuple[int, Finding]]:
    """What is set for a shell that ends before any program could see it."""
    for one in everything:
        if one.lost:
            message = f"{one.name} is set in a shell that ends right after it: no program sees it."
            yield one.at, Finding("set-in-vain", "error", message, one.lost)


def _kept_back(text: str, everything: Iterable[SetHere]) -> Iterator[tuple[int, Finding]]:
    """What a script does not export."""
    for one in everything:
        if is_kept_back(text, one.at, one.name):
            message = (
                f"{one.name} is assigned without export: programs see it only if it was exported before this script."
            )
            yield one.at, Finding("not-exported", "warning", message, f"Write export {one.name}=…")


def _apart(text: str, kind: str, sites: list[Site], variables: tuple[SetHere, ...]) -> Iterator[tuple[int, Finding]]:
    """What is set for some processes of a job alone."""
    flags = ((site.at, token) for site in sites for token in _known_flags(site))
    given = [Given(at, token.text[2:].partition("=")[0], token.text) for at, token in flags]
    given += [Given(one.at, one.name, one.name) for one in variables]
    yield from set_by_rank(given, rank_spans(text, kind))


def _python(text: str, kind: str) -> tuple[str, Sequence[int]]:
    """The program that a file holds, and where in the file each of its lines begins."""
    if kind == "notebook":
        return notebook_python(text)
    return (text, line_begins(text)) if kind == "python" else ("", ())


def _late(text: str, kind: str, source: str, begins: Sequence[int]) -> Iterator[tuple[int, Finding]]:
    """What Python sets after JAX has read it."""
    for late in late_settings(source):
        yield begins[late.line - 1], late.finding(lambda line: str(place_of(text, kind, begins[line - 1])))


def _unreadable(one: SetHere) -> Finding:
    return Finding("value-not-read", "note", f"{one.name}: {one.unreadable}, so it was not checked.")


def _left(change: Change) -> LineFault:
    severity: Severity = "error" if change.fatal else "warning"
    return LineFault(change.place, Finding("flag-in-file", severity, f"{change.before}: {change.why.rstrip('.')}."))


def _is_told(change: Change, told: Mapping[Place, list[str]]) -> bool:
    return any(change.before.partition("=")[0] in said for said in told.get(change.place, ()))
