"""Every exception of the library.

All problems of one call come in one exception: its ``findings`` hold each of them, its message
lists them. Problems of several classes come as one :class:`BadSetting`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from .model import Finding


__all__ = [
    "BadFlagValue",
    "BadSetting",
    "BadXlaFlags",
    "JaxGpuTuneError",
    "ProbeFailed",
    "TooEarly",
    "TooLate",
    "UnknownArgument",
    "UnknownFlag",
    "UnknownPreset",
]


class JaxGpuTuneError(Exception):
    """Base of all errors; ``findings`` (tuple of Finding) says what is wrong, one each."""

    def __init__(self, message: str, findings: Iterable[Finding] = ()) -> None:
        super().__init__(message)
        self.findings: tuple[Finding, ...] = tuple(findings)

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Self:
        """The error of this class that tells all ``findings``, one a line with its hint."""
        found = tuple(findings)
        lines = [f"{f.message} {f.hint}".rstrip() for f in found]
        text = (
            lines[0] if len(lines) == 1 else "\n".join([f"{len(lines)} problems:", *(f"  - {line}" for line in lines)])
        )
        return cls(text, found)


class UnknownPreset(JaxGpuTuneError, ValueError):
    """No preset has that name."""


class UnknownFlag(JaxGpuTuneError, ValueError):
    """The installed jaxlib and CUDA plugin know no such XLA flag, and no translation leads to one."""


class BadFlagValue(JaxGpuTuneError, ValueError):
    """The flag exists, but this build would refuse the value and end the process."""


class BadXlaFlags(JaxGpuTuneError, ValueError):
    """XLA_FLAGS as a text cannot be read as it was meant."""


class BadSetting(JaxGpuTuneError, ValueError):
    """An argument, variable or option is wrong; also problems of several classes at once."""


class UnknownArgument(BadSetting, TypeError):
    """The call has an argument that does not exist; a TypeError as well, as of every Python function."""


class TooEarly(JaxGpuTuneError, RuntimeError):
    """JAX's backend has not started yet: nothing has taken effect that could be read back."""


class TooLate(JaxGpuTuneError, RuntimeError):
    """JAX's backend has started: the settings that the message names can no longer take effect."""


class ProbeFailed(JaxGpuTuneError):
    """The installed binaries could not be asked which flags they accept."""
