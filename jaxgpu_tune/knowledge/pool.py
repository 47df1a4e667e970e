"""What is known of the GPU memory pool (``data/memory.toml``): allocators, releases, reserves, and who else uses a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..values import Value
from ..wording import GIB
from .tables import read_table, with_tuples
from .versions import matches

__all__ = [
    "Neighbour",
    "allocator_alias",
    "allocators",
    "default_fraction",
    "differs",
    "integers",
    "is_integrated",
    "left_bytes",
    "most",
    "neighbours",
    "pages_from",
    "reads_new_fraction",
    "registering",
]


class Neighbour(Value):
    """A library that uses the GPU beside JAX: how it is imported and installed, what it ``does``, and the ``advice``.

    ``used_by``: what is seen in a process once it really uses a GPU; empty where importing it is enough.
    """

    module: str
    name: str
    distributions: tuple[str, ...]
    does: str
    advice: str
    used_by: str = ""


def default_fraction() -> float:
    """The fraction of each GPU's total memory that JAX takes where nothing is said."""
    return float(read_table("memory")["default_fraction"])


def reads_new_fraction(jaxlib: str | None) -> bool:
    """Whether a release reads XLA_CLIENT_MEM_FRACTION; an unknown one counts as new."""
    return jaxlib is None or matches(f">={read_table('memory')['new_fraction_since']}", jaxlib)


def allocators(jaxlib: str | None) -> tuple[str, ...]:
    """The names that a release's reader takes."""
    known: Mapping[str, str] = read_table("memory")["allocators"]
    return tuple(name for name, since in known.items() if jaxlib is None or matches(f">={since}", jaxlib))


def allocator_alias(name: str) -> str:
    """The allocator that people mean by this name; the name itself where nothing else is known."""
    return str(read_table("memory")["allocator_aliases"].get(name, name))


def integers() -> Mapping[str, Mapping[str, str | int]]:
    """The variables that int() reads: what an empty text does ("unset", "fails"), and the highest number."""
    return read_table("memory")["integers"]  # type: ignore[no-any-return]


def differs(what: str, jaxlib: str | None) -> bool:
    """Whether a release is one of those in which something (a key of [releases]) is different; unknown ones are not."""
    return jaxlib is not None and matches(read_table("memory")["releases"][what], jaxlib)


def most(what: str) -> float:
    """The most of a GPU's total memory that may be taken, by a key of [most]."""
    return float(read_table("memory")["most"][what])


def left_bytes(what: str) -> int:
    """Bytes to leave free on each GPU, by a key of [left_gib]."""
    return int(read_table("memory")["left_gib"][what] * GIB)


def is_integrated(compute_capability: str | None) -> bool:
    """Whether such GPUs have no memory of their own but the host's."""
    return compute_capability in read_table("memory")["integrated"]["compute_capabilities"]


def pages_from() -> str:
    """The compute capability from which on unified memory may be more than the GPU has."""
    return str(read_table("memory")["unified"]["pages_from"])


def registering(flags: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the flags that give NCCL registered buffers, which lie outside the fraction: switches that are on, lists that name a collective."""
    table = read_table("memory")["registers"]
    return tuple(name for name in table["flags"] if flags.get(name, "").strip().lower() not in table["off"])


@cache
def neighbours() -> tuple[Neighbour, ...]:
    """Every library that is known to use the GPU beside JAX."""
    return tuple(Neighbour(**with_tuples(entry)) for entry in read_table("memory")["neighbour"])
