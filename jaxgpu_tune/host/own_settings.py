"""What this process has that the processes of a job must agree on: settings, versions, GPUs. No backend is started."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..knowledge.compared import severity_of
from ..model import Gpu
from ..planning.xla_flags.grammar import scan, scan_file_text
from .gpus import find_gpus
from .observe import flag_file
from .packages import installed_versions
from .phase import live_values

__all__ = ["own_settings"]

Section = Mapping[str, str]

PLAIN = (bool, int, float, str, type(None))


def own_settings() -> dict[str, Section]:
    """name -> text, by section: flags, env, options, versions, gpus; ``host`` holds the host's name under "name"."""
    from socket import gethostname

    found = find_gpus(os.environ)
    return {
        "host": {"name": gethostname()},
        "flags": _flags(os.environ.get("XLA_FLAGS", "")),
        "env": {name: text for name, text in os.environ.items() if severity_of("env", name)},
        "options": _options(),
        "versions": _versions(found.driver),
        "gpus": _kinds(found.gpus),
    }


def _flags(text: str) -> dict[str, str]:
    """Each flag of XLA_FLAGS, or of the file it names, with all its values in order; what is no flag under "(other text)"."""
    read = scan(text)
    if read.file:
        read = scan_file_text(flag_file(text) or "")
    found: dict[str, str] = {}
    for token in read.tokens:
        name = token.name or "(other text)"
        value = token.meant if token.name else token.text
        found[name] = f"{found[name]}, then {value}" if name in found else value
    return found


def _options() -> dict[str, str]:
    return {name: repr(value) for name, value in (live_values() or {}).items() if type(value) in PLAIN}


def _versions(driver: str | None) -> dict[str, str]:
    packages = installed_versions()
    named = {"jax": packages.jax, "jaxlib": packages.jaxlib, "NCCL": packages.nccl, "driver": driver}
    return {name: version for name, version in {**packages.plugins, **named}.items() if version is not None}


def _kinds(gpus: tuple[Gpu, ...] | None) -> dict[str, str]:
    """The kinds of GPU, not how many: a process may have any number."""
    kinds = {f"{gpu.name} (compute capability {gpu.compute_capability})" for gpu in gpus or ()}
    return {"kind": ", ".join(sorted(kinds)) or "none"}
