"""What the build to plan for accepts: the intersection of jaxlib and the CUDA plugin, each at its own version."""

from __future__ import annotations

from collections.abc import Iterator

from ...knowledge import flags as known
from ...knowledge.flag_spec import ENDS_PROCESS, FlagSpec
from ...knowledge.installs import least_jaxlib
from ...knowledge.versions import Resolved
from ...model import Finding, Machine
from ...values import Value
from ...wording import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...knowledge.options import OptionSpec

__all__ = ["Target", "option_of", "target_of"]

PLUGIN = "-pjrt"
AT_LEAST_ONE = ("xla_force_host_platform_device_count",)
"""Flags whose parser takes numbers with which no backend starts."""


class Target(Value):
    """The releases whose parsers will all read XLA_FLAGS; empty if no jaxlib is known.

    ``builds``: how each of them is called in messages, jaxlib first, with the releases that stand for it.
    ``refused`` and ``accepted``: names that the installed binaries themselves refused, and took though no table has them.
    """

    releases: tuple[str, ...]
    jax_release: str | None = None
    jaxlib: str | None = None
    findings: tuple[Finding, ...] = ()
    refused: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    unified_memory: bool = False
    builds: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def label(self) -> str:
        """How the build is called in messages."""
        return f"jaxlib {self.jaxlib}" if self.jaxlib else "an unknown jaxlib"

    def without(self, name: str) -> str:
        """How the build is called that has no such flag: jaxlib, or a plugin where jaxlib has it."""
        lacking = (label for label, its in self.builds if any(known.flag(name, release) is None for release in its))
        return next(lacking, self.label)

    @property
    def release(self) -> str:
        """The first of them, or the newest that is known where there are none: to look up names that are told, not emitted."""
        return self.releases[0] if self.releases else known.releases()[-1]

    def flag(self, name: str) -> FlagSpec | None:
        """The flag as the first release has it, if every one has it."""
        specs = [known.flag(name, release) for release in self.releases]
        if not specs or name in self.refused or any(spec is None for spec in specs):
            return None
        return specs[0]

    def refusal(self, name: str, text: str | None) -> str | None:
        """Why some parser would refuse this value of a flag that exists (a sentence), or None."""
        if name in AT_LEAST_ONE and not count_of((text or "").strip().removeprefix("+")):
            return f"--{name}={text}: allowed are whole numbers of at least 1; with any other JAX finds no device."
        from ...knowledge.flag_values import refusal

        for release, spec in self._specs(name):
            if text is None and spec.type != "bool":
                return f"--{name} needs a value (--{name}=…): without one XLA calls the flag unknown."
            sentence = refusal(spec, "true" if text is None else text, known.parser_rules(release))
            if sentence:
                return sentence
        return None

    def outcome(self, name: str, text: str | None) -> str:
        """What comes of a value that is refused here, as half a sentence: the worst that some parser does."""
        if text is None:
            return ENDS_PROCESS
        wrong = [(spec, release) for release, spec in self._specs(name) if known.check_value(spec, text, release)]
        found = [known.outcome(spec, text, release) for spec, release in wrong]
        return ENDS_PROCESS if ENDS_PROCESS in found else next(iter(found), "JAX would find no device")

    def ends_process(self, name: str, text: str | None) -> bool:
        """Whether some parser ends the process on this flag."""
        if self.flag(name) is None:
            return True
        return self.refusal(name, text) is not None and self.outcome(name, text) == ENDS_PROCESS

    def is_taken_elsewhere(self, name: str, text: str) -> bool:
        """Whether any release takes this value."""
        having = (release for release in known.releases() if known.flag(name, release))
        return any(self._replace(releases=(release,)).refusal(name, text) is None for release in having)

    def is_default(self, name: str, text: str) -> bool:
        """Whether every parser's options are the same without this flag."""
        specs = [spec for _, spec in self._specs(name)]
        return bool(specs) and all(known.is_default(spec, text) for spec in specs)

    def _specs(self, name: str) -> Iterator[tuple[str, FlagSpec]]:
        for release in self.releases:
            spec = known.flag(name, release)
            if spec is not None:
                yield release, spec


def same(spec: FlagSpec, left: str, right: str) -> bool:
    """Whether two texts of a flag have the same effect."""
    try:
        return bool(known.canonical(spec, left) == known.canonical(spec, right))
    except ValueError:
        return False


def option_of(name: str, jax: str | None) -> OptionSpec | None:
    """The option as that jax has it; None where it has none of that name, or no jax is known."""
    from ...knowledge.options import option

    return option(name, jax) if jax else None


def target_of(
    machine: Machine,
    refused: frozenset[str] = frozenset(),
    accepted: frozenset[str] = frozenset(),
    unified_memory: bool = False,
) -> Target:
    """The target for a machine's jaxlib and CUDA plugins; builds in no table count as both their neighbours."""
    if machine.jaxlib is None:
        return Target((), findings=(_no_jaxlib(),), unified_memory=unified_memory)
    builds = {"jaxlib": machine.jaxlib, **_plugins(machine)}
    resolved = {name: known.resolve(version) for name, version in builds.items()}
    releases = tuple(dict.fromkeys(release for found in resolved.values() for release in _stand_ins(found)))
    findings = tuple(_guess(name, builds[name], found) for name, found in resolved.items() if not found.exact)
    return Target(
        releases=releases,
        jax_release=machine.jax or machine.jaxlib,
        jaxlib=machine.jaxlib,
        findings=findings,
        refused=refused,
        accepted=accepted,
        unified_memory=unified_memory,
        builds=tuple((f"{name} {builds[name]}", _stand_ins(found)) for name, found in resolved.items()),
    )


def _plugins(machine: Machine) -> dict[str, str]:
    plugins: Any = machine.plugins or {}
    return {name: version for name, version in plugins.items() if name.startswith("jax-cuda") and name.endswith(PLUGIN)}


def _stand_ins(found: Resolved) -> tuple[str, ...]:
    return (found.release,) if found.exact else found.neighbours


def _no_jaxlib() -> Finding:
    return Finding(
        "no-jaxlib",
        "warning",
        "No jaxlib is installed here (or its version is unknown), so no XLA flag can be known to be accepted: none is set.",
        "Install jax for your GPU, for example: pip install 'jax[cuda13]'.",
    )


def _guess(name: str, version: str, found: Resolved) -> Finding:
    near = " and ".join(found.neighbours)
    accept = "accept" if len(found.neighbours) > 1 else "accepts"
    hint = "Update jaxgpu_tune, or pass probe=True to ask the installed binary itself."
    if least_jaxlib(version):
        hint = f"Releases of jax and jaxlib do not all share their numbers: jax {version} runs with jaxlib {found.neighbours[0]}. Name that one."
    message = f"{name} {version} is in no table; only what {near} {accept} is set."
    return Finding("unknown-build", "warning", message, hint)
