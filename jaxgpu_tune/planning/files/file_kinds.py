"""Which kind a file is, and where a file of a kind sets a variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ..xla_flags.grammar import FLAGS
from .json_toml import json_sites, text_sites
from .make import makefile_sites
from .mapped import Place, Site, line_of
from .notebook_cells import cell_place, code_spans, notebook_sites
from .python import python_sites
from .shell import dockerfile_sites, dotenv_sites, flag_sites, shell_sites
from .yaml import yaml_sites

__all__ = ["KINDS", "file_kind", "parts_that_run", "place_of", "sites_of"]

Find = Callable[[str, str], Iterator[Site]]
_FINDERS: dict[str, Find] = {
    "python": python_sites,
    "notebook": notebook_sites,
    "dockerfile": dockerfile_sites,
    "yaml": yaml_sites,
    "dotenv": dotenv_sites,
    "makefile": makefile_sites,
    "shell": shell_sites,
    **dict.fromkeys(("json", "toml", "lua"), json_sites),
    "text": text_sites,
}
"""What finds the places that set a variable, in a file of each kind."""
KINDS = tuple(_FINDERS)
NAMING = ("shell", "dockerfile", "makefile")
"""Where variables are often put together from others of the same file."""
_ENDINGS = {
    "python": (".py", ".pyi"),
    "notebook": (".ipynb",),
    "yaml": (".yaml", ".yml"),
    "dotenv": (".env",),
    "makefile": (".mk", "makefile"),
    "shell": (
        *(".sh", ".bash", ".zsh", ".ksh", ".fish", ".csh", ".tcsh", ".bashrc", ".bash_profile", ".profile", ".zshrc"),
        *(".envrc", ".sbatch", ".slurm", ".pbs", ".lsf", ".def", ".service"),
    ),
    "json": (".json", ".jsonc"),
    "toml": (".toml",),
    "lua": (".lua",),
}
"""A container's definition (Apptainer) quotes as the shell does that it hands its lines to, and systemd's units alike."""


def file_kind(name: str, text: str) -> str | None:
    """Which of KINDS a file is, by its name or its first line; None: cannot be told."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if re.match(r"(docker|container)file", base) or base.endswith((".dockerfile", ".containerfile")):
        return "dockerfile"
    if base.startswith(".env"):
        return "dotenv"
    for kind, endings in _ENDINGS.items():
        if base.endswith(endings):
            return kind
    first = text.split("\n", 1)[0]
    return None if not first.startswith("#!") else "python" if "python" in first else "shell" if "sh" in first else None


def sites_of(text: str, kind: str, name: str = FLAGS) -> Iterator[Site]:
    """Every place of a file of that kind which sets the variable, and those that set what is put into it.

    Raises SyntaxError or ValueError where the file cannot be read as its kind.
    """
    find = _FINDERS[kind]
    found = list(find(text, name))
    yield from found
    if name == FLAGS and kind in NAMING:
        yield from _through_names(text, find if kind == "makefile" else flag_sites, found)


def parts_that_run(text: str, kind: str) -> tuple[tuple[int, int], ...]:
    """From where to where a file of that kind holds what runs: of a notebook its cells of code, of any other all of it."""
    return code_spans(text) if kind == "notebook" else ((0, len(text)),)


def place_of(text: str, kind: str, at: int) -> Place:
    """Where that character of a file of that kind stands, for people."""
    return cell_place(text, at) if kind == "notebook" else Place(line_of(text, at))


def _through_names(text: str, find: Find, sites: Iterable[Site]) -> Iterator[Site]:
    """The variables whose values are put into XLA_FLAGS, and so on."""
    seen, names = {FLAGS}, [name for site in sites for name in site.names]
    while names:
        name = names.pop()
        if name not in seen:
            seen.add(name)
            for site in find(text, name):
                names += site.names
                yield site
