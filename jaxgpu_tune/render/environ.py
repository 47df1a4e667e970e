"""Changes of the environment as code that shells, containers and schedulers read. ``None`` as a value removes the variable.

Each form's rules, and where they were tried, are in ``tests/render``: ``test_environ.py``, ``test_shells.py``, ``test_containers.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module

from ..errors import BadSetting
from ..model import Finding

__all__ = ["FORMATS", "INHERITING", "Changes", "Unable", "render_environ"]

Changes = Mapping[str, "str | None"]

FORMATS = ("sh", "fish", "powershell", "dotenv", "json", "docker", "compose", "kubernetes", "slurm", "ray")
"""Each is a function of its name in ``shells`` or ``containers``."""
INHERITING = ("sh", "fish", "powershell", "json")
"""Those whose reader has this process's environment already."""
SHELLS = ("sh", "fish", "powershell", "slurm")
PARSED = ("json", "compose", "kubernetes", "ray")
"""Those that a program parses: with nothing to say they are still an object or a list."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unable(Exception):
    """A form cannot carry a value; the message completes "… cannot be said, since "."""


def render_environ(changes: Changes, form: str = "sh") -> str:
    """``changes`` in one of FORMATS. Raises KeyError for another form, BadSetting for what the form cannot carry."""
    if form not in FORMATS:
        raise KeyError(form)
    module = import_module(f".{'shells' if form in SHELLS else 'containers'}", __package__)
    assign, whole = module.FORMS[form]
    problems: list[Finding] = []
    said = {name: _said(name, value, form, assign, problems) for name, value in changes.items()}
    if problems:
        raise BadSetting.of(problems)
    return str(whole(said)) if said or form in PARSED else ""


def _said(name: str, value: str | None, form: str, assign: Callable[[str], str], problems: list[Finding]) -> str | None:
    """The value in the form's own quotes; None for one to be removed."""
    try:
        _check(name, value or "", form)
        return None if value is None else assign(value)
    except Unable as why:
        problems.append(_problem(name, value, form, str(why)))
        return None


def _check(name: str, value: str, form: str) -> None:
    """What holds for every form."""
    if form != "json" and not NAME.fullmatch(name):
        raise Unable("a variable's name consists of letters, digits and underscores there")
    if not _is_text(value):
        raise Unable("it holds bytes that are not UTF-8")


def _problem(name: str, value: str | None, form: str, why: str) -> Finding:
    message = f"{name}={value!r} cannot be said in the format {form}, since {why}."
    hint = "Use --format json, or change the value." if _is_text(value or "") else "Change the value."
    return Finding("format-cannot-carry", "error", message, hint)


def _is_text(value: str) -> bool:
    """Whether it is UTF-8, without which even JSON cannot carry it."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
