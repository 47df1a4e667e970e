"""The period of a loop, told from the moments at which its step was called. Pure, and loaded by the observer too.

A program runs ahead of the device: ten calls may be stamped within a millisecond, and the eleventh waits for all of
them. Or four, until the device takes no more, so that the next ones wait for a step each. So gaps are cut into bursts, at each call from
which on calls run ahead, and only whole bursts count: from the first call of one to the first call of the next.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from statistics import fmean, median, pstdev
from typing import NamedTuple

__all__ = ["ENOUGH_BURSTS", "FEWEST_GAPS", "Period", "percentile", "period"]

ENOUGH_BURSTS = 10
"""Fewer whole bursts than this leave an error of 5 % and more (measured on programs that synchronise every tenth step)."""
AGREEING, FINE, ROUGH = 4, 0.003, 0.05
"""So few bursts are enough where the error is at most FINE; many are not where it is above ROUGH."""
FEWEST_GAPS = 3
LONG, HEAVY = 5.0, 0.2
"""A gap ends a burst if it is longer than LONG usual ones and than HEAVY times the gap that half of all time is spent in."""
PAUSE = 3.0
"""A burst that takes this many times the usual per call holds a pause: a checkpoint, an evaluation."""
AHEAD = 1 / 3
"""A gap below this share of one in which the device was waited for is a call that ran ahead of it."""
SHORTEST = 1e-9
"""Seconds; what a clock that stands still tells."""
MOSTLY = 0.15
"""Where this share of the time is spent inside bursts, the program does not run ahead, and the long gaps are pauses."""
ALIKE, LONGEST_TURN = 0.2, 100
"""Gaps repeat themselves after so many calls, at most LONGEST_TURN, if they differ from those by this share of what they differ from their mean."""
RARE = 50
"""What comes more often than once in so many calls is part of the loop, no pause."""


class Period(NamedTuple):
    """Seconds from step to step, and how it was found.

    ``calls`` and ``bursts`` counted (where each call waits for the device, each is a burst of one); ``pauses`` taken out
    and how long they were together; ``error``: the standard error of ``seconds`` as a share of it; ``values``: seconds a call, burst by burst.
    """

    seconds: float
    calls: int
    bursts: int
    pauses: int
    paused_seconds: float
    error: float
    values: tuple[float, ...]

    @property
    def sure(self) -> bool:
        """Whether enough whole bursts were counted: fewer, where they agree."""
        many = self.bursts >= ENOUGH_BURSTS and self.error <= ROUGH
        return many or (self.bursts >= AGREEING and self.error <= FINE)

    @property
    def each(self) -> bool:
        """Whether each call is its own burst, so that percentiles over calls mean something."""
        return self.calls == self.bursts


def period(stamps: Sequence[float]) -> Period | None:
    """The period of calls at these moments (seconds, ascending); None for fewer than four."""
    return _period([list(stamps)], [])


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least ``share`` percent of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = -(-len(ordered) * share // 100)
    return ordered[max(0, min(len(ordered), int(rank)) - 1)]


def _usual(gaps: Sequence[float]) -> float:
    """The median, a little to the short side: of a program that waits at every second call half of the gaps are short."""
    return sorted(gaps)[int(0.49 * (len(gaps) - 1))]


def _weighty(gaps: Sequence[float]) -> float:
    """The gap length such that half of all time is spent in gaps at least that long: single pauses do not move it."""
    left = sum(gaps) / 2
    for gap in sorted(gaps, reverse=True):
        left -= gap
        if left <= 0:
            return gap
    return max(gaps)


def _period(pieces: list[list[float]], pauses: list[float]) -> Period | None:
    """The period within the pieces that pauses cut the stamps into."""
    runs = [_gaps(piece) for piece in pieces]
    gaps = [gap for run in runs for gap in run]
    if len(gaps) < FEWEST_GAPS:
        return None
    longest = max(LONG * _usual(gaps), HEAVY * _weighty(gaps))
    long = [gap for gap in gaps if gap > longest]
    least = _waited(gaps)
    if _ahead(runs, least) and not (long and _waits(runs, longest)):
        whole = [burst for piece in pieces for burst in _whole(_begun(piece, least))]
        return _bursts(whole, pauses) if whole else _rough(gaps)
    if not long:
        return _single(runs, pauses)
    if _waits(runs, longest):
        return _period([part for piece in pieces for part in _cut(piece, longest)], [*pauses, *long])
    whole = [burst for piece in pieces for burst in _whole(_cut(piece, longest))]
    return _bursts(whole, pauses) if whole else _rough(gaps)


def _waited(gaps: Sequence[float]) -> float:
    """The shortest gap in which a call waited for the device: those of calls that ran ahead are much shorter, with nothing between; 0 if there are none."""
    ordered = [max(gap, SHORTEST) for gap in sorted(gaps)]
    jump, longer = max((after / before, after) for before, after in itertools.pairwise(ordered))
    return longer if jump * AHEAD > 1 else 0.0


def _ahead(runs: list[list[float]], least: float) -> bool:
    """Whether calls run ahead of the device again and again, not only until its queue is full for the first time."""
    later = [gap for run in runs for gap in _queued(run, least)]
    return sum(gap < least for gap in later) * RARE > len(later)


def _begun(stamps: list[float], least: float) -> list[list[float]]:
    """The stamps, cut at each call that was waited for and from which on calls run ahead."""
    pairs = enumerate(itertools.pairwise(_gaps(stamps)), 1)
    return _split(stamps, [number for number, (before, after) in pairs if before >= least > after])


def _gaps(stamps: Sequence[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(stamps)]


def _cut(stamps: list[float], longest: float) -> list[list[float]]:
    """The stamps, cut at the gaps that are longer."""
    return _split(stamps, [number for number, gap in enumerate(_gaps(stamps), 1) if gap > longest])


def _split(stamps: list[float], cuts: list[int]) -> list[list[float]]:
    return [stamps[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(stamps)])]


def _whole(bursts: list[list[float]]) -> list[tuple[float, int]]:
    """Seconds from the first call to the next burst's, and calls, of all bursts but the first and the last, of which a part may be missing."""
    return [(after[0] - burst[0], len(burst)) for burst, after in itertools.pairwise(bursts[1:])]


def _waits(runs: list[list[float]], longest: float) -> bool:
    """Whether each call waits for the device and long gaps are rare pauses: most time is inside the bursts, and few calls after a gap ran ahead."""
    gaps = [gap for run in runs for gap in run]
    usual, inside = _usual(gaps), sum(gap for gap in gaps if gap <= longest)
    after = [later for run in runs for gap, later in itertools.pairwise(run) if gap > longest]
    if len(after) * RARE > len(gaps):
        return False
    return inside >= MOSTLY * sum(gaps) and sum(gap < AHEAD * usual for gap in after) * 2 <= len(after)


def _single(runs: list[list[float]], pauses: list[float]) -> Period:
    """Each call is a burst of one; those that ran ahead until the queue of the device was full do not count."""
    usual = _usual([gap for run in runs for gap in run])
    runs = [_queued(run, AHEAD * usual) for run in runs]
    kept = [gap for run in runs for gap in run]
    if _error(kept) > FINE and (turn := _turn(max(runs, key=len)[: 3 * LONGEST_TURN])):
        return _bursts([(sum(gaps), turn) for run in runs for gaps in _parts(run, turn)], pauses)
    return Period(fmean(kept), len(kept), len(kept), len(pauses), sum(pauses), _error(kept), tuple(kept))


def _turn(gaps: Sequence[float]) -> int | None:
    """After how many calls the gaps repeat themselves; None: they do not, were not seen to do it twice, or are like their neighbours and only drift.

    A host that needs a part of a step for each call runs ahead by one or two, and so by gaps of any length.
    """
    usual = fmean(gaps)
    apart = ALIKE * fmean(abs(gap - usual) for gap in gaps)
    longest = min(len(gaps) // 3, LONGEST_TURN)
    turn = next((lag for lag in range(1, longest + 1) if _distance(gaps, lag) <= apart), 1)
    return turn if turn > 1 else None


def _distance(gaps: Sequence[float], lag: int) -> float:
    return fmean(abs(after - before) for before, after in zip(gaps, gaps[lag:], strict=False))


def _parts(gaps: Sequence[float], size: int) -> Iterable[Sequence[float]]:
    """Whole parts of this size, one after the other."""
    return (gaps[place : place + size] for place in range(0, len(gaps) - size + 1, size))


def _queued(gaps: list[float], least: float) -> list[float]:
    return gaps[next((number for number, gap in enumerate(gaps) if gap >= least), 0) :]


def _bursts(whole: list[tuple[float, int]], pauses: list[float]) -> Period:
    usual = median(took / calls for took, calls in whole)
    kept = [(took, calls) for took, calls in whole if took <= PAUSE * usual * calls]
    lost = [*pauses, *(took - usual * calls for took, calls in whole if took > PAUSE * usual * calls)]
    calls = sum(calls for _, calls in kept)
    values = tuple(took / calls for took, calls in kept)
    seconds = sum(took for took, _ in kept) / calls
    return Period(seconds, calls, len(kept), len(lost), sum(lost), _error(values), values)


def _rough(gaps: Sequence[float]) -> Period:
    """No whole burst: all that can be told is the mean, and that it is one of less than a burst."""
    return Period(fmean(gaps), len(gaps), 0, 0, 0.0, 1.0, ())


def _error(values: Sequence[float]) -> float:
    return pstdev(values) / len(values) ** 0.5 / fmean(values) if len(values) > 1 and fmean(values) else 1.0
