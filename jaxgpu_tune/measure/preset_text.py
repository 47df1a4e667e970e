"""A preset file as text: what was measured to help, with its evidence and where that was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ..knowledge.tables import KEYS
from ..values import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import SettingKind


__all__ = ["measured_where", "preset_text", "toml_table", "toml_text"]


def preset_text(
    summary: str,
    evidence: Iterable[str],
    measured: Mapping[str, str],
    settings: Iterable[tuple[SettingKind, str, str]],
    *,
    comments: Iterable[str] = (),
    of_each: Mapping[str, str] = EMPTY,
) -> str:
    """TOML. ``settings``: (kind, name, value) each; ``of_each``: what else each of their tables holds, by key, as TOML."""
    lines = [
        f"summary = {toml_text(summary)}",
        *("evidence = [", *(f"  {toml_text(one)}," for one in evidence), "]"),
        f"measured = {toml_table(measured)}",
        *(f"# {line}" for line in comments),
    ]
    for kind, name, value in settings:
        plain = kind == "jax_config" and value in ("true", "false")
        table = {KEYS[kind]: toml_text(name), "value": value if plain else toml_text(value), **of_each}
        lines += ["", "[[set]]", *(f"{key} = {text}" for key, text in table.items())]
    return "\n".join(lines) + "\n"


def measured_where(jaxlib: str | None, capabilities: Iterable[str | None], devices: int) -> dict[str, str]:
    """The conditions that hold where something was measured. ``capabilities``: of the GPUs, told where they are alike; ``devices``: of the job."""
    found = {"jaxlib": f"=={jaxlib}"} if jaxlib else {}
    if not devices:
        return {**found, "platform": "cpu"}
    alike = set(filter(None, capabilities))
    if len(alike) == 1:
        found["compute_capability"] = f"=={alike.pop()}"
    return {**found, "devices": f"=={devices}"}


def toml_text(value: str) -> str:
    """A TOML string. JSON's escapes are TOML's, too; what JSON leaves as it is and TOML does not allow is DEL alone."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_table(entries: Mapping[str, str]) -> str:
    """An inline table of strings."""
    return f"{{ {', '.join(f'{name} = {toml_text(value)}' for name, value in entries.items())} }}"
