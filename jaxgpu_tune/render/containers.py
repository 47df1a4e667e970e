"""The environment as files and objects that programs read: .env, docker, Compose, Kubernetes, Ray, JSON."""

from __future__ import annotations

import json
import re

from .environ import Changes, Unable

__all__ = ["FORMS"]

LONGEST_LINE, LONGEST_VALUE = 65535, 65000
"""docker reads an env file line by line, with room for that many bytes (bufio.MaxScanTokenSize)."""
UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What YAML allows in quotes only as an escape and JSON allows as it is."""


def _dotenv(value: str) -> str:
    r"""Plain where that says it; else in single quotes, where python-dotenv reads ``\\`` and ``\'`` as escapes."""
    if "${" in value:
        raise Unable("readers of such files replace ${…}, in quotes too")
    if re.fullmatch(r"[A-Za-z0-9_./:=,+@%-]*", value):
        return value
    if value.endswith("\\"):
        raise Unable("a backslash at its end would hide the closing quote")
    if "\r" in value:
        raise Unable("readers of such files take a carriage return for the end of a line")
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _docker(value: str) -> str:
    if "\n" in value:
        raise Unable("docker ends a value at the end of the line, quotes or not")
    if value.endswith("\r"):
        raise Unable("docker takes a carriage return off the end of a line")
    if len(value.encode()) > LONGEST_VALUE:
        raise Unable(f"docker reads lines of at most {LONGEST_LINE} bytes")
    return value


def _lines(said: Changes) -> str:
    """Such a file can set variables but not remove any; a comment names those to be removed."""
    return "\n".join(_not_set(name) if text is None else f"{name}={text}" for name, text in said.items())


def _doubled(value: str) -> str:
    """Compose replaces ``$NAME`` and ``${NAME}``, Kubernetes ``$(NAME)``; twice the sign stands for one."""
    return _yaml(value.replace("$", "$$"))


def _compose_lines(said: Changes) -> str:
    lines = [f"  {_not_set(name)}" if text is None else f"  {name}: {text}" for name, text in said.items()]
    return "\n".join(["environment:" if any(said.values()) else "environment: {}", *lines])


def _kubernetes_lines(said: Changes) -> str:
    items = [
        f"  {_not_set(name)}" if text is None else f"  - name: {name}\n    value: {text}" for name, text in said.items()
    ]
    return "\n".join(["env:" if any(said.values()) else "env: []", *items])


def _yaml(value: str) -> str:
    """A double-quoted scalar on one line."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _ray(value: str) -> str:
    """Ray puts a value through ``os.path.expandvars``, which knows no escape."""
    if re.search(r"\$(\w|\{[^}]*\})", value, re.ASCII):
        raise Unable("Ray replaces $NAME and ${NAME} in it, and knows no escape")
    return value


def _ray_object(said: Changes) -> str:
    """A runtime_env; it can set variables but not remove any."""
    return _json_object({"env_vars": {name: text for name, text in said.items() if text is not None}})


def _json_object(said: object) -> str:
    return json.dumps(said, indent=2, ensure_ascii=False)


def _as_it_is(value: str) -> str:
    return value


def _not_set(name: str) -> str:
    return f"# {name} must not be set"


FORMS = {
    "dotenv": (_dotenv, _lines),
    "docker": (_docker, _lines),
    "compose": (_doubled, _compose_lines),
    "kubernetes": (_doubled, _kubernetes_lines),
    "ray": (_ray, _ray_object),
    "json": (_as_it_is, _json_object),
}
"""How each form says a value, and how it says all of them."""
