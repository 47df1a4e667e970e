"""What hung, crashed or changed the numbers: which sets of settings are never tried again."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .values import Config

__all__ = ["Failures"]


class Failures(NamedTuple):
    """``known``: sets that failed, and pairs that may have been why; whatever holds one of them is not tried."""

    known: frozenset[Config] = frozenset()

    def learnt(self, failed: Config, good: Collection[Config]) -> Failures:
        """After ``failed``, given what ran well.

        Where it is one step beyond something that ran well, the new part is to blame, alone or with one other setting; each such pair
        is given up, unless it stands in something that ran well.
        """
        bases = [base for base in good if base < failed]
        base = max(bases, key=len, default=None)
        if base is None:
            return Failures(self.known | {failed})
        new = failed - base
        pairs = (new | {other} for other in base)
        suspects = {pair for pair in pairs if not any(pair <= one for one in good)}
        return Failures(self.known | {failed} | (suspects if len(new) == 1 else set()))

    def forbid(self, config: Config) -> bool:
        """Whether it holds what failed."""
        return any(one <= config for one in self.known)
