"""What hung, crashed or changed the numbers: which sets of settings are never tried again."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .trials import Config

__all__ = ["Failures"]


class Failures(NamedTuple):
    """``known``: sets that failed, and pairs that may have been why; whatever holds one of them is not tried.

    ``own``: how the program fails as it is, too; that blames no setting.
    """

    known: frozenset[Config] = frozenset()
    own: frozenset[str] = frozenset()

    def of_program(self, failure: str) -> Failures:
        """After the program failed as it is."""
        return self._replace(own=self.own | {failure})

    def learnt(self, failed: Config, good: Collection[Config]) -> Failures:
        """After ``failed``, given what ran well.

        Where it is one setting more than something that ran well, that setting is to blame, alone or together with one of the others.
        So the setting and each such pair are given up, unless they are part of something that ran well. A hang costs more than a lost setting.
        """
        bases = [base for base in good if base < failed]
        base = max(bases, key=len, default=None)
        if base is None:
            return self._replace(known=self.known | {failed})
        new = failed - base
        blamed = [new, *(new | {other} for other in base)] if len(new) == 1 else []
        suspects = {one for one in blamed if not any(one <= sound for sound in good)}
        return self._replace(known=self.known | {failed} | suspects)

    def forbid(self, config: Config) -> bool:
        """Whether it holds what failed."""
        return any(one <= config for one in self.known)
