"""What will be in force, read off the plan itself, once; and what derived settings hang on: the "auto" fraction, whether JAX is for the CPU. Pure.

Never from raw text: a flag may come from a preset, need a repair, or be written in another release's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..knowledge.pool import registering
from ..values import EMPTY, Value
from ..wording import MIB, count_of
from .base.wish import Wish
from .settings.pool_variables import COLLECTIVE_POOL, UNIFIED, has_unified_memory
from .settings.setting_names import PLATFORMS_OPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model import Finding


__all__ = ["InForce", "Settled", "in_force"]


class Settled(Value):
    """Each setting that will be in force by its name: flags and variables as text, options typed. ``inherited``: those that are set already."""

    flags: Mapping[str, str]
    variables: Mapping[str, str]
    options: Mapping[str, Any]
    inherited: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is."""
        return not (self.flags or self.variables or self.options)

    @classmethod
    def of(cls, wishes: Iterable[Wish]) -> Settled:
        """The merged wishes by kind and name; of a flag that is given several times the last."""
        held = [wish for wish in wishes if wish.value is not None]
        return cls(
            flags={wish.name: str(wish.value) for wish in held if wish.kind == "xla_flag"},
            variables={wish.name: str(wish.value) for wish in held if wish.kind == "env"},
            options={wish.name: wish.value for wish in held if wish.kind == "jax_config"},
            inherited=frozenset(wish.name for wish in held if wish.origin == "existing"),
        )


class InForce(Value):
    """``platforms``: those that JAX is told to start, none where it chooses; ``unified``: memory may exceed the GPU's; ``registers``: NCCL registers XLA's buffers.

    ``collective_bytes``: of the second pool, from which registered buffers come; 0 where none is asked for. ``clashing``: settings of
    the preset that are dangerous beside what else is set, and what is said of each.
    """

    platforms: tuple[str, ...] = ()
    unified: bool = False
    registers: bool = False
    collective_bytes: int = 0
    clashing: Mapping[str, Finding] = EMPTY

    @property
    def cpu(self) -> bool:
        """Whether JAX will start on the CPU alone."""
        return self.platforms == ("cpu",)


def in_force(found: Settled) -> InForce:
    """As the plan has it."""
    pool = found.variables.get(COLLECTIVE_POOL, "").strip()
    return InForce(
        platforms=_platforms(
            str(found.options.get(PLATFORMS_OPTION) or found.variables.get(PLATFORMS_OPTION.upper()) or "")
        ),
        unified=has_unified_memory({UNIFIED: found.variables.get(UNIFIED)}),
        registers=bool(registering(found.flags)),
        collective_bytes=(count_of(pool) or 0) * MIB,
    )


def _platforms(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    from .settings.platforms import names_of

    return names_of(text)
