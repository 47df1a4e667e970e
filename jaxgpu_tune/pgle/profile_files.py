"""Profiles on disk: which form a file is of, what XLA would make of its name, and folders of profiles by fingerprint.

XLA goes by the name alone: ``.pbtxt`` is read as text, ``.pb`` as binary, anything else is passed over in silence; in
a folder it looks for ``FINGERPRINT.pbtxt``, then ``FINGERPRINT.pb`` (``ReadProfileFromSources`` in
https://github.com/openxla/xla/blob/main/xla/service/gpu/gpu_hlo_schedule.cc).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadSetting
from ..model import Finding
from .binary_form import parse_binary, print_binary
from .cost_profile import CostProfile
from .text_form import parse_text, print_text

__all__ = ["ENDINGS", "any_form", "bad_profile", "checked_target", "read_folder", "read_profile", "write_profile"]

TEXT, BINARY = ".pbtxt", ".pb"
ENDINGS = (TEXT, BINARY)
FINGERPRINT = re.compile(r"[0-9a-f]{32}")
RENAME = f"XLA reads {TEXT} as text and {BINARY} as binary and passes over every other name in silence."


def bad_profile(message: str, hint: str = "") -> BadSetting:
    """The error for a file that cannot serve."""
    return BadSetting.of([Finding("bad-profile", "error", message, hint)])


def read_profile(path: str | os.PathLike[str]) -> CostProfile:
    """The profile in a file, as XLA will read it. Raises BadSetting if XLA would not, or if there is nothing in it."""
    file = Path(path)
    data = _bytes_of(file)
    if file.suffix not in ENDINGS:
        known = _form_of(data)
        meant = f" It holds the {known[1:]} form: rename it to {file.stem}{known}." if known else ""
        raise bad_profile(f"{file} is no name of a profile. {RENAME}{meant}", _convert(file))
    try:
        profile = parse_text(data.decode()) if file.suffix == TEXT else parse_binary(data)
    except ValueError as wrong:
        other = _form_of(data)
        why = f"it holds the form of {other}" if other else str(wrong)
        hint = f"Rename it to {file.stem}{other}." if other else "Make it again with `jaxgpu-tune pgle convert`."
        raise bad_profile(f"{file} cannot be read as its name says: {why}. XLA would go without it.", hint) from None
    return _sound(profile, file)


def any_form(path: str | os.PathLike[str]) -> CostProfile:
    """The profile in a file of whatever name. Raises BadSetting if it holds none."""
    file = Path(path)
    data = _bytes_of(file)
    form = _form_of(data)
    if not form:
        raise bad_profile(f"{file} holds no profile, neither as text nor as binary.")
    return _sound(parse_text(data.decode()) if form == TEXT else parse_binary(data), file)


def read_folder(path: str | os.PathLike[str]) -> Mapping[str, CostProfile]:
    """Each program's profile by its fingerprint. Raises BadSetting with all that is wrong with the folder."""
    names: dict[str, Path] = {}
    for file in sorted(Path(path).iterdir()):  # .pbtxt after .pb, so that it takes its place
        if file.suffix in ENDINGS and FINGERPRINT.fullmatch(file.stem):
            names[file.stem] = file
    if not names:
        hint = f"XLA looks there for FINGERPRINT{TEXT} and FINGERPRINT{BINARY} only; give it the file itself."
        raise bad_profile(f"{path} holds no file that is named by a program's fingerprint.", hint)
    return {name: read_profile(file) for name, file in sorted(names.items())}


def checked_target(path: str | os.PathLike[str]) -> Path:
    """Where a profile is to be written. Raises BadSetting for a name that XLA would pass over."""
    file = Path(path)
    if file.suffix not in ENDINGS or file.name.endswith(".xplane.pb"):
        raise bad_profile(f"{file} is no name for a profile. {RENAME}", f"Write {file.stem.partition('.')[0]}{TEXT}.")
    return file


def write_profile(profile: CostProfile, path: str | os.PathLike[str]) -> Path:
    """Write the form that the name says, whole or not at all. Raises BadSetting for a name that XLA would pass over."""
    file = checked_target(path)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_bytes(print_text(profile).encode() if file.suffix == TEXT else print_binary(profile))
    beside.replace(file)
    return file


def _sound(profile: CostProfile, file: Path) -> CostProfile:
    faults = [*profile.faults(), *(() if profile.costs or profile.latencies else ("it has no entry",))]
    if faults:
        raise BadSetting.of([Finding("bad-profile", "error", f"{file}: {fault}.") for fault in faults[:5]])
    return profile


def _form_of(data: bytes) -> str:
    """The ending that the content should have; empty: it is no profile."""
    return next((form for form in ENDINGS if _reads(form, data)), "")


def _reads(form: str, data: bytes) -> bool:
    try:
        profile = parse_text(data.decode()) if form == TEXT else parse_binary(data)
    except ValueError:
        return False
    return bool(profile.costs or profile.latencies)


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise bad_profile(f"{file}: {error.strerror}.") from None


def _convert(file: Path) -> str:
    return f"Or write `jaxgpu-tune pgle convert {file} --to {file.stem}{TEXT}`."
