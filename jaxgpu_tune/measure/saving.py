"""The winner of a comparison as a preset file, with its evidence and where it was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..planning.xla_flags.grammar import FLAGS, scan
from .preset_text import measured_where, preset_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model import SettingKind
    from .comparison import Comparison


__all__ = ["comparison_preset"]


def comparison_preset(found: Comparison) -> str:
    """TOML: ``[[set]]`` tables for all that the winner sets beyond what was there, and under which conditions it was measured."""
    winner = found.winner
    return preset_text(
        f"{winner.name}, the fastest of {len(found.variants)} variants of one program",
        [_evidence(found)],
        _where(found.machine),
        _settings(winner.settings),
        comments=[f"repeat: {line}" for line in found.command.splitlines()],
    )


def _evidence(found: Comparison) -> str:
    return f"{found.winner.verdict.sentence}, against {found.reference.name}, {found.began[:10]}"


def _where(machine: Mapping[str, Any]) -> dict[str, str]:
    gpus, processes = machine.get("gpus") or [], machine.get("processes") or {}
    capabilities = (gpu.get("compute_capability") for gpu in gpus)
    return measured_where(machine.get("jaxlib"), capabilities, len(gpus) * (processes.get("count") or 1))


def _settings(settings: Mapping[str, str | None]) -> Iterator[tuple[SettingKind, str, str]]:
    """(kind, name, value); what was removed has no place in a preset."""
    for token in scan(settings.get(FLAGS) or "").tokens:
        if token.name:
            yield "xla_flag", token.name, token.meant
    yield from (("env", name, value) for name, value in settings.items() if name != FLAGS and value is not None)
