"""Changes of the environment as code that shells and programs read. ``None`` as a value removes the variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["FORMATS", "render_environ"]

Changes = Mapping[str, "str | None"]


def render_environ(changes: Changes, form: str = "sh") -> str:
    """``changes`` in one of FORMATS, a variable a line. Raises KeyError for another form."""
    return FORMATS[form](changes)


def _sh(changes: Changes) -> str:
    from shlex import quote

    return _lines(changes, lambda name, value: f"export {name}={quote(value)}", "unset {}")


def _fish(changes: Changes) -> str:
    r"""Within single quotes fish reads only ``\\`` and ``\'`` as escapes."""
    return _lines(changes, lambda name, value: f"set -gx {name} {_single_quoted(value)}", "set -e {}")


def _dotenv(changes: Changes) -> str:
    """Such a file can set variables but not remove any; a comment names those to be removed."""
    return _lines(changes, lambda name, value: f"{name}={_single_quoted(value)}", "# {} must not be set")


def _json(changes: Changes) -> str:
    import json

    return json.dumps(dict(changes), indent=2, ensure_ascii=False)


def _lines(changes: Changes, assign: Callable[[str, str], str], remove: str) -> str:
    return "\n".join(remove.format(name) if value is None else assign(name, value) for name, value in changes.items())


def _single_quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


FORMATS: dict[str, Callable[[Changes], str]] = {"sh": _sh, "fish": _fish, "dotenv": _dotenv, "json": _json}
"""How each form is made."""
