"""What a search claims, and the fresh runs that check it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .contest import Contest
from .trials import NOTHING, Start, Trial
from .worth import CLEARLY, Worth

__all__ = ["Checks", "claims"]

IN_A_ROW = 3
"""The program may fail as it is, too. A run of a check that fails like that is made again; after so many in a row it counts."""


class Checks(NamedTuple):
    """The fresh runs so far.

    ``lost``: the contests up to the last one in which settings failed; ``runs``: what counts of the runs since then; ``in_a_row``: how
    many runs failed just now, one after the other; ``single``: whether only one claim can be paid for.
    """

    lost: tuple[Contest, ...] = ()
    runs: tuple[Trial, ...] = ()
    in_a_row: int = 0
    single: bool = False

    def told(self, trial: Trial, own_failures: Iterable[str]) -> Checks:
        """After one run more. ``own_failures``: how the program fails as it is."""
        in_a_row = 0 if trial.well else self.in_a_row + 1
        if not trial.well and trial.failure in own_failures and in_a_row < IN_A_ROW:
            return self._replace(in_a_row=in_a_row)
        single = self.single if self.runs else trial.config == NOTHING  # the first run is the reference's
        return Checks(self.lost, (*self.runs, trial), in_a_row, single)

    def anew(self, contests: Iterable[Contest]) -> Checks:
        """After settings failed in the last of these contests: what is claimed next begins with runs of its own."""
        return self._replace(lost=tuple(one for one in contests if one.over), runs=())

    def contests(self, claimed: Iterable[Contest]) -> tuple[Contest, ...]:
        """The claims with their runs. A claim is checked only if the one before it was not won."""
        found, left = list(self.lost), list(self.runs)
        for claim in claimed:
            contest, left = claim.held(left)
            found.append(contest)
            if contest.won or not contest.over:
                break
        return tuple(found)


def claims(starts: Sequence[Start], worth: Worth, single: bool) -> Iterator[Contest]:
    """The winner against the best of the starts; then that start against the program as it is.

    A winner that is not clearly faster than that start is claimed against the program as it is at once; so is a ``single`` claim. All this follows from
    the search's own runs only: what a check finds must not choose what it checks.
    """
    winner, sound = worth.winner, set(worth.sound)
    known = [one.config for one in starts if one.config in sound and one.config != winner]
    if winner == NOTHING or not known:
        return
    reference = min(known, key=worth.estimate.mean)
    clearly = not single and worth.estimate.difference(reference, winner)[0] >= CLEARLY
    if reference == NOTHING or NOTHING not in known or clearly:
        yield Contest(reference, winner)
        winner = reference
    if winner != NOTHING and NOTHING in known:
        yield Contest(NOTHING, winner)
