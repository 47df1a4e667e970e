"""Whether each environment variable took effect, where anything tells: the allocator's numbers, the devices, NCCL's own log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..knowledge.families import acts, family_of
from ..planning.base.secrets import shown_value
from ..planning.settings.pool_variables import ALLOCATOR, FRACTION_NAMES, PREALLOCATE
from ..planning.settings.setting_names import VISIBLE
from ..values import Value
from .flags_read_back import PLATFORM_MISFIT
from .memory_read_back import verified_allocator, verified_fraction, verified_preallocation
from .verification import Verified
from .wanted import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .memory_read_back import AllocatorNumbers, Answer


__all__ = ["Signs", "verified_variable"]


class Signs(Value):
    """``environ``: as it is now; ``memory``: of each local GPU; ``nccl_log``: what NCCL has written, if it does."""

    platform: str
    environ: Mapping[str, str]
    memory: tuple[AllocatorNumbers, ...]
    nccl_log: str


def verified_variable(variable: Wanted, around: Signs) -> Verified:
    """The variable with what became of it."""
    name, text = variable.name, variable.text
    if variable.late:
        return Verified("env", name, text, "ignored", variable.late)
    now = around.environ.get(name)
    if now != text:
        became = "removed" if now is None else f"set to {shown_value(name, now)!r}"
        return Verified("env", name, text, "overwritten", f"{became} after configure(){_took_effect(variable, around)}")
    if text is None:
        return Verified("env", name, text, "effective", "it is still not set")
    if around.platform == "cpu" and acts(name, "gpu"):
        return Verified("env", name, text, "ignored", PLATFORM_MISFIT)
    return Verified("env", name, text, *_read_back(name, text, around))


def _took_effect(variable: Wanted, around: Signs) -> str:
    """Which of both values holds, where that can be told."""
    if variable.text is None or around.platform == "cpu":
        return ""
    status = _read_back(variable.name, variable.text, around)[0]
    told = {"effective": "; what was applied took effect", "ignored": "; what was applied did not take effect"}
    return told.get(status, "")


def _read_back(name: str, text: str, around: Signs) -> Answer:
    reader = READERS.get(name)
    if reader is not None:
        return reader(text, around.memory)
    if any(line.rstrip(".").endswith(f" {name} set by environment to {text}") for line in around.nccl_log.splitlines()):
        return "effective", "NCCL's log says that it was read", text
    if name.startswith("NCCL_DEBUG") and around.nccl_log:
        return "effective", "NCCL writes its log", None
    family = family_of(name)
    who = "nothing tells whether it is read" if family is None else family.reader
    return "unreadable", f"it still holds this; {who}", None


def _visible(text: str, memory: tuple[AllocatorNumbers, ...]) -> Answer:
    count, listed = len(memory), len([item for item in text.split(",") if item.strip()])
    return (
        ("effective" if count == listed else "unreadable"),
        f"it names {listed}, and this process has {count} GPUs",
        str(count),
    )


READERS: dict[str, Callable[[str, tuple[AllocatorNumbers, ...]], Answer]] = {
    **dict.fromkeys(FRACTION_NAMES, verified_fraction),
    PREALLOCATE: verified_preallocation,
    ALLOCATOR: verified_allocator,
    VISIBLE: _visible,
}
