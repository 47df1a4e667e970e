"""Fetch one wheel with pip and keep of it only the shared object that holds the flags.

The folder that the variable READ_FLAGS_WHEELS names, if any, keeps wheels: each is downloaded once, by whichever process is first.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FIRST = "0.4.18"
KEPT = "READ_FLAGS_WHEELS"
PATIENCE = 300
"""Seconds for one run of pip; a wheel has 60 to 150 MB."""
DISTRIBUTIONS = ("jaxlib", "jax-cuda12-pjrt", "jax-cuda13-pjrt")
_HOLDERS = ("libjax_common.so", "xla_extension.so", "xla_cuda_plugin.so")
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
_PYTHONS = ("312", "311")


@dataclass(frozen=True)
class Wheel:
    """One distribution in one release."""

    distribution: str
    release: str

    @property
    def name(self) -> str:
        return f"{self.distribution}-{self.release}"


def order(release: str) -> tuple[int, ...]:
    """What releases sort by."""
    return tuple(map(int, release.split(".")))


class UnknownReleaseError(ValueError):
    """The index has no such release, or could not be asked."""


def asked_of(parser: argparse.ArgumentParser, cache: Path) -> argparse.Namespace:
    """What is asked of a tool that reads releases: which, and where what was read is kept. Exits with 2 for wrong use."""
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    parser.add_argument("--all", action="store_true", help="every release there is")
    parser.add_argument("--cache", type=Path, default=cache, help="what was read is kept here: a second run goes on")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    words = parser.parse_args()
    if words.all == bool(words.releases):
        parser.error("name the releases to read, such as 0.12.0.1, or give --all")
    return words


def chosen(wanted: Iterable[str], there: Collection[str], what: str) -> set[str]:
    """The wanted releases. Raises UnknownReleaseError, with the nearest that are there, where one is not."""
    unknown = [release for release in wanted if release not in there]
    if unknown:
        raise UnknownReleaseError("\n".join(_unknown(release, there, what) for release in unknown))
    return set(wanted)


def _unknown(release: str, there: Collection[str], what: str) -> str:
    newest = max(there, key=order, default="none")
    near = sorted(difflib.get_close_matches(release, there, 3, 0.5), key=order)
    return f"The index has no {what} {release}. Nearest: {', '.join(near) or 'none'}; newest: {newest}."


def releases_of(distribution: str) -> list[str]:
    """The final releases of one distribution that pip can install here, oldest first."""
    try:
        told = _pip("index", "versions", distribution, "--python-version", _PYTHONS[0], *_platform())
    except subprocess.SubprocessError as error:
        reason = getattr(error, "stderr", None) or error
        raise UnknownReleaseError(f"pip's index does not tell the releases of {distribution}: {reason}") from error
    listed = re.search(r"^Available versions: (.*)$", told, re.MULTILINE)
    found = re.split(r",\s*", listed.group(1)) if listed else []
    final = [r for r in found if re.fullmatch(r"[\d.]+", r) and order(r) >= order(FIRST)]
    return sorted(final, key=order)


def fetch(wheel: Wheel, folder: Path) -> Path:
    """The shared object of ``wheel``, in ``folder``; the wheel itself is deleted."""
    file = download(wheel, folder)
    try:
        return _unpack(file, folder)
    finally:
        file.unlink()


def download(wheel: Wheel, folder: Path) -> Path:
    """The wheel itself, in ``folder``; from the kept ones where it is there."""
    kept = os.environ.get(KEPT)
    if not kept:
        return _downloaded(wheel, folder)
    own = Path(kept, wheel.name)
    own.mkdir(parents=True, exist_ok=True)
    with _alone(own / "lock"):
        file = next(own.glob("*.whl"), None) or _downloaded(wheel, own)
    return Path(shutil.copy(file, folder))


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _downloaded(wheel: Wheel, folder: Path) -> Path:
    """From the index, for the first Python that it has one for."""
    for python in _PYTHONS:
        try:
            _download(wheel, python, folder)
            break
        except subprocess.CalledProcessError:
            if python == _PYTHONS[-1]:
                raise
    return next(folder.glob("*.whl"))


def _download(wheel: Wheel, python: str, folder: Path) -> None:
    wanted = f"{wheel.distribution}=={wheel.release}"
    _pip("download", "-q", "--no-deps", "--python-version", python, *_platform(), "-d", str(folder), wanted)


def _platform() -> list[str]:
    return [*(word for name in _PLATFORMS for word in ("--platform", name)), "--only-binary=:all:"]


def _unpack(file: Path, folder: Path) -> Path:
    with zipfile.ZipFile(file) as archive:
        members = {Path(name).name: name for name in archive.namelist()}
        holder = next(name for name in _HOLDERS if name in members)
        return Path(archive.extract(members[holder], folder))


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--timeout", "30", *words]
    spoken = {name: text for name, text in os.environ.items() if name not in ("PIP_QUIET", "PIP_VERBOSE")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE, env=spoken)
    return done.stdout  # a quiet pip would tell nothing
