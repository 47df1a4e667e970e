"""The winner of a comparison as a preset file, with its evidence and where it was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..planning.xla_flags.grammar import FLAGS, scan
from .toml_text import toml_table, toml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .comparison import Comparison


__all__ = ["comparison_preset"]


def comparison_preset(found: Comparison) -> str:
    """TOML: ``[[set]]`` tables for all that the winner sets beyond what was there, and under which conditions it was measured."""
    winner = found.winner
    lines = [
        f"summary = {toml_text(f'{winner.name}, the fastest of {len(found.variants)} variants of one program')}",
        f"evidence = [{toml_text(_evidence(found))}]",
        f"measured = {toml_table(dict(_conditions(found.machine)))}",
        *(f"# repeat: {line}" for line in found.command.splitlines()),
    ]
    for kind, name, value in _settings(winner.settings):
        lines += ["", "[[set]]", f"{kind} = {toml_text(name)}", f"value = {toml_text(value)}"]
    return "\n".join(lines) + "\n"


def _evidence(found: Comparison) -> str:
    return f"{found.winner.verdict.sentence}, against {found.reference.name}, {found.began[:10]}"


def _conditions(machine: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The words of ``when`` that this machine answers."""
    if machine.get("jaxlib"):
        yield "jaxlib", f"=={machine['jaxlib']}"
    gpus = machine.get("gpus") or []
    capabilities = {gpu["compute_capability"] for gpu in gpus if gpu.get("compute_capability")}
    if len(capabilities) == 1:
        yield "compute_capability", f"=={capabilities.pop()}"
    if gpus:
        yield "devices", f"=={len(gpus) * ((machine.get('processes') or {}).get('count') or 1)}"
    else:
        yield "platform", "cpu"


def _settings(settings: Mapping[str, str | None]) -> Iterator[tuple[str, str, str]]:
    """(kind, name, value); what was removed has no place in a preset."""
    for token in scan(settings.get(FLAGS) or "").tokens:
        if token.name:
            yield "flag", token.name, token.meant
    yield from (("env", name, value) for name, value in settings.items() if name != FLAGS and value is not None)
