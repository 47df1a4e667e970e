"""Taking out of a text what does not belong into a bug report. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ...knowledge.families import acts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...model import Report


__all__ = ["masked", "shown_value", "without_secrets"]

HIDDEN = "***"
_NAMED = r"(?:token|secret|passw(?:or)?d|api[_-]?key|access[_-]?key|credential|signature|sig|auth)"
_WORDS = r"(?:^|_)(?:KEY|KEYS|JWT|PAT|PWD|PASS|PASSPHRASE|COOKIE)(?:_|$)"
"""In a name; but the families that are "public" hold such words and no secrets: JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY."""
_SECRETS = (
    (r"(://)[^/@\s'\"]+@", rf"\1{HIDDEN}@"),
    (r"(?i)(bearer\s+)\S+", rf"\1{HIDDEN}"),
    (rf"(?i)([\w.-]*{_NAMED}[\w.-]*\s*[=:]\s*['\"]?)(?!\*)[^\s&'\",;]+", rf"\1{HIDDEN}"),
    (r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|ASIA|nvapi-|eyJ)[A-Za-z0-9_.-]{8,}", HIDDEN),
    (r"(?<![\w/+])(?=[\w+]*[0-9])(?=[\w+]*[a-z])(?=[\w+]*[A-Z])[A-Za-z0-9_+]{32,}={0,2}(?![\w/])", HIDDEN),
)
"""Compiled where they are first used: compiling them costs as much as several modules do at start-up."""


def _is_secret(name: object) -> bool:
    text = str(name)
    word = re.search(_WORDS, text) is not None and not acts(text, "public")
    return word or re.search(f"(?i){_NAMED}", text) is not None


def shown_value(name: str, value: str | None) -> str | None:
    """A variable's value for people to read; of a name such as HF_TOKEN, not the value."""
    return HIDDEN if value and _is_secret(name) else value


def without_secrets(report: Report) -> Report:
    """The report as it may be shown: no value of a variable whose name tells of a secret, no credentials in any text.

    The inputs are masked as well: a plan that is made again from them is the same where nothing secret decides.
    """
    variables = {d.name for d in report.decisions if d.kind == "env" and shown_value(d.name, d.value) != d.value}
    shown = report._replace(
        environ=masked(report.environ),
        jax_config=masked(report.jax_config),
        xla_flags=masked(report.xla_flags),
        decisions=tuple(
            d._replace(value=HIDDEN if d.name in variables and d.value else masked(d.value), reason=masked(d.reason))
            for d in report.decisions
        ),
        findings=tuple(f._replace(message=masked(f.message), hint=masked(f.hint)) for f in report.findings),
        inputs=masked(report.inputs),
    )
    return report if shown == report else shown


def masked(value: Any, home: str = "") -> Any:
    """A JSON value without passwords, tokens, credentials in addresses and the home folder's name."""
    if isinstance(value, Mapping):
        return {key: HIDDEN if _is_secret(key) and item else masked(item, home) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item, home) for item in value]
    return _masked_text(value, home) if isinstance(value, str) else value


def _object(text: str) -> Any:
    """A text that is JSON, as this library's own marker is; None for any other."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _masked_text(text: str, home: str) -> str:
    if text.startswith('{"') and (found := _object(text)) is not None:
        return json.dumps(masked(found, home), separators=(",", ":"))
    for pattern, instead in _SECRETS:
        text = re.sub(pattern, instead, text)
    return re.sub(rf"{re.escape(home)}(?=/|\b)", "~", text) if len(home) > 1 else text
