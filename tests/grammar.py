"""Three questions to a real jaxlib about many texts at once; the property tests and ``benchmarks/grammar_fuzz.py`` share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxgpu_tune.planning.base.wish import Repaired
from jaxgpu_tune.planning.xla_flags.grammar import Scan, Token, quote, scan, scan_file_text
from jaxgpu_tune.planning.xla_flags.repair import repair
from jaxgpu_tune.planning.xla_flags.spelling import Vocabulary
from tests.flag_texts import Build
from tests.oracle import Answer, Oracle

__all__ = ["Verdict", "read_as_meant", "repairs", "scans", "scans_files"]


@dataclass(frozen=True)
class Verdict:
    """``problem``: how ours and the real parser disagree ("": they agree); ``outcome``: what both say."""

    text: str
    outcome: str = ""
    problem: str = ""


def scans(oracle: Oracle, build: Build, texts: Sequence[str], folder: Path) -> list[Verdict]:
    """Does the build do with each text what ``scan`` says?"""
    reads = [scan(text) for text in texts]
    answers = oracle.ask([*texts, *(_again(read.tokens) for read in reads)])
    whole, again = answers[: len(texts)], answers[len(texts) :]
    return [_scan_verdict(build, *case) for case in zip(texts, reads, whole, again, strict=True)]


def scans_files(oracle: Oracle, build: Build, texts: Sequence[str], folder: Path) -> list[Verdict]:
    """The same with each text as the content of a file that XLA_FLAGS names."""
    files = [folder / f"flags{number}" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    reads = [scan_file_text(text) for text in texts]
    answers = oracle.ask([*map(str, files), *(_again(read.tokens) for read in reads)])
    whole, again = answers[: len(texts)], answers[len(texts) :]
    return [_scan_verdict(build, *case) for case in zip(texts, reads, whole, again, strict=True)]


def _again(tokens: Sequence[Token]) -> str:
    """What ``scan`` understood, written anew."""
    return " ".join(_anew(token) for token in tokens)


def _anew(token: Token) -> str:
    if token.name is None or token.value is None:
        return token.text
    try:
        return quote(token.name, token.value)
    except ValueError:  # not a name that a flag could have
        return token.text


def _scan_verdict(build: Build, text: str, read: Scan, whole: Answer, again: Answer) -> Verdict:
    if read.fatal or read.file is not None:
        return Verdict(text, "no such file", "" if whole.no_file else "scan takes it for a file, the build does not")
    unknown = build.unknown(read.tokens)
    if (whole.accepted, whole.effect, whole.unknown, whole.bad_value) != (
        (again.accepted, again.effect, again.unknown, again.bad_value)
    ):
        return Verdict(text, problem="what scan understood has another effect")
    if whole.accepted and unknown:
        return Verdict(text, problem=f"accepted, though these should be unknown: {unknown}")
    if not whole.accepted and not whole.bad_value and not (unknown and whole.names_unknown(unknown)):
        return Verdict(text, problem=f"refused, but not for {unknown}: {whole.message[-300:]}")
    return Verdict(text, "accepted" if whole.accepted else "bad value" if whole.bad_value else "unknown flags")


def repairs(oracle: Oracle, build: Build, texts: Sequence[str], folder: Path) -> list[Verdict]:
    """Are the repaired flags accepted (where the build knows them and takes their value), with the values they name?"""
    fixed = [read_as_meant(text, build) for text in texts]
    known = [[flag for flag in result.flags if flag.name in build.known] for result in fixed]
    single = {_plainly(flag): flag for flags in known for flag in flags}
    good = dict(zip(single, (answer.accepted for answer in oracle.ask(list(single))), strict=True))
    kept = [[flag for flag in flags if good[_plainly(flag)]] for flags in known]
    answers = oracle.ask(
        [_joined(f.text for f in flags) for flags in kept] + [_joined(map(_plainly, flags)) for flags in kept]
    )
    cases = zip(texts, fixed, kept, answers[: len(texts)], answers[len(texts) :], strict=True)
    return [_repair_verdict(build, *case) for case in cases]


def read_as_meant(text: str, build: Build) -> Repaired:
    """``repair`` for what this build knows."""
    return repair(text, Vocabulary(build.known.__contains__, build.closest, build.boolean))


def _plainly(flag: Token) -> str:
    return f"--{flag.name}" if flag.value is None else quote(str(flag.name), flag.value)


def _joined(texts: Iterable[str]) -> str:
    return " ".join(texts)


def _repair_verdict(
    build: Build, text: str, fixed: Repaired, kept: list[Token], answer: Answer, plain: Answer
) -> Verdict:
    if not answer.accepted and plain.accepted:
        return Verdict(text, problem=f"what repair gives is refused: {answer.message[-300:]}")
    if answer.effect != plain.effect:
        return Verdict(text, problem="what repair gives has another effect than the flags it names")
    again = read_as_meant(_joined(flag.text for flag in fixed.flags), build)
    if again.findings or [flag.text for flag in again.flags] != [flag.text for flag in fixed.flags]:
        return Verdict(text, problem=f"repair of its own text changes it: {again}")
    written = [token.text for token in scan(text).tokens]
    if not fixed.findings and written != [flag.text for flag in fixed.flags]:
        return Verdict(text, problem="repair changes a flag without a finding")
    return Verdict(text, "repaired" if fixed.findings else "left alone")
