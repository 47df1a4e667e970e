"""Every finished trial, on the disk before the next begins, so that a search that was ended in any way goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ...errors import BadSetting
from ...host.file_lock import locked
from ...model import Finding
from ...wording import counted
from ..search.trials import Atom, Trial
from .how import output_of, shorten

__all__ = ["NAME", "Journal", "config_json", "config_of", "own_folder", "trial_json", "trial_of"]


NAME = "journal.jsonl"


class Journal:
    """The file, one JSON object a line: first what is searched, then the trials. ``about`` tells one search from another.

    ``earlier``: a note where it goes on with the runs of an earlier start, since the program's own files may have changed.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path, self.about = path, about
        self._read()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def _read(self) -> None:
        lines = _lines_of(self.path)
        if _is_another(lines, self.about):
            raise BadSetting.of([_another(self.path, lines[0], self.about)])
        self.trials = [trial_of(line) for line in lines[1:]]
        self.earlier = _earlier(self.path, len(self.trials))

    def add(self, trial: Trial) -> None:
        """Keep a trial: on the disk when this returns. Of what it printed, its beginning and its end."""
        self.trials.append(trial)
        with self.path.open("r+b") as file:
            kept = _whole(file.read())
            lines = [trial_json(trial)] if kept else [self.about, trial_json(trial)]
            file.seek(len(kept))
            file.truncate()
            file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())
        shorten(output_of(self.path.parent, len(self.trials)))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process searches with this file, of which all is known now. Raises BadSetting where one does."""
        with self.path.open("rb") as file:
            if not locked(file.fileno()):
                raise BadSetting.of([_in_use(self.path)])
            self._read()
            yield


def _earlier(path: Path, runs: int) -> tuple[Finding, ...]:
    told = f"{counted(runs, 'run')} of an earlier start {'counts' if runs == 1 else 'count'}"
    message = f"{told} here. If the program has changed since, remove {path.parent} and start again."
    return (Finding("earlier-runs", "note", message),) if runs else ()


def own_folder(folder: Path, about: Mapping[str, Any]) -> Path:
    """The folder, or the next one beside it (runs-2, runs-3, …) where that holds the journal of something else."""
    places = (folder.with_name(f"{folder.name}-{number}") if number > 1 else folder for number in count(1))
    return next(place for place in places if not _is_another(_lines_of(place / NAME), about))


def trial_json(trial: Trial) -> dict[str, Any]:
    """JSON-ready; ``trial_of`` gives an equal trial back."""
    return {**trial._asdict(), "config": config_json(trial.config), "detail": dict(trial.detail)}


def trial_of(told: Mapping[str, Any]) -> Trial:
    """The trial of its JSON form."""
    return Trial(**{**told, "config": config_of(told["config"])})


def config_json(config: frozenset[Atom]) -> list[list[str]]:
    """A set of settings as lists, in one order."""
    return [list(one) for one in sorted(config)]


def config_of(told: list[list[str]]) -> frozenset[Atom]:
    """The set of settings of its JSON form."""
    return frozenset(Atom(*one) for one in told)


def _is_another(lines: list[Any], about: Mapping[str, Any]) -> bool:
    """Whether a journal with these lines is of something else."""
    return bool(lines) and bool(lines[0] != json.loads(json.dumps(about)))


def _lines_of(path: Path) -> list[Any]:
    """What is kept in the file."""
    return [json.loads(line) for line in _whole(path.read_bytes()).splitlines()] if path.exists() else []


def _whole(text: bytes) -> bytes:
    """Without half a line of a start that was killed. Where no trial was finished there is nothing to go on from."""
    whole = text[: text.rfind(b"\n") + 1]
    return whole if whole.count(b"\n") > 1 else b""


def _in_use(path: Path) -> Finding:
    message = f"Another process is searching with {path} right now: two would disturb each other's times."
    return Finding("search-under-way", "error", message, "Wait until it has ended, or end it: its runs count.")


def _another(path: Path, there: Mapping[str, Any], asked: Mapping[str, Any]) -> Finding:
    told = json.loads(json.dumps(asked))
    differs = sorted(key for key in {*there, *told} if there.get(key) != told.get(key))
    message = f"{path} is the journal of another search. What differs: {', '.join(differs)}."
    hint = f"Give another --out, or remove {path.parent} to begin anew."
    return Finding("another-search", "error", message, hint)
