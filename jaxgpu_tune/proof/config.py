"""Whether each jax.config option holds: its value here, in other threads, and what was settled when the backend started."""

from __future__ import annotations

import sys

from ..host.compilation_cache import cache_folder_findings
from ..host.phase import MISSING, option_value, process_value
from ..knowledge import options
from ..planning.settings.setting_names import CACHE_OPTION, PLATFORMS_OPTION
from .flags_read_back import shown_option
from .verification import Verified
from .wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .verification import ProofStatus


__all__ = ["verified_option"]

GPU_NAMES = ("cuda", "gpu")


def verified_option(option: Wanted, jax_version: str | None, platform: str) -> Verified:
    """The option with what became of it."""
    spec = options.option(option.name, jax_version)
    config = sys.modules["jax"].config
    here = option_value(config, option.name)
    if spec is None or here is MISSING:
        return Verified("jax_config", option.name, option.text, "ignored", "this jax has no such option")
    everywhere = process_value(config, option.name)
    wanted = spec.default if option.text is None else options.parse(spec, option.text)
    answer: tuple[ProofStatus, str] = (
        ("ignored", option.late) if option.late else _status(spec, wanted, (here, everywhere), platform)
    )
    return Verified(
        "jax_config", option.name, option.text, *answer, shown_option(here if everywhere == wanted else everywhere)
    )


def _status(spec: options.OptionSpec, wanted: Any, values: tuple[Any, Any], platform: str) -> tuple[ProofStatus, str]:
    """``values``: the option in this thread and in all others."""
    here, everywhere = values
    if everywhere != wanted:
        return "overwritten", _overwritten(spec, everywhere)
    if here != wanted:
        return "overridden", f"a context manager sets it to {here!r} in this thread"
    if spec.name == PLATFORMS_OPTION and wanted and not _runs_on(wanted, platform):
        return "ignored", f"JAX runs on {platform}: it had started before this was set, or what is listed is not there"
    unusable = next(cache_folder_findings(wanted), None) if spec.name == CACHE_OPTION else None
    return ("ignored", unusable.message) if unusable else ("effective", "jax.config holds it")


def _overwritten(spec: options.OptionSpec, value: Any) -> str:
    until = "; it counts if that was before the backend started" if spec.moment == "backend" else ", which counts"
    return f"jax.config was changed to {value!r} after configure(){until}"


def _runs_on(platforms: str, platform: str) -> bool:
    """Whether the default backend is the first of the platforms that are listed."""
    first = platforms.split(",", maxsplit=1)[0].strip()
    return platform == first or (platform in ("gpu", *GPU_NAMES) and first in GPU_NAMES)
