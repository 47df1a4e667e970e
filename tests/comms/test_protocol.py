"""The argument of kernels.cu for using a slot again, tried: every interleaving of small cases, random ones of larger cases."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comms.protocol import Machine, Rules, explore, walk

KERNELS = Path(__file__).parents[2] / "jaxgpu_tune" / "comms" / "kernels.cu"
RULES = Rules()


@pytest.mark.parametrize(
    ("blocks", "sizes", "two_shot"),
    [
        (1, (1,) * 8, ()),
        (2, (2,) * 4, ()),
        (1, (2, 1, 3, 1, 2, 1), ()),
        (1, (1,) * 7, (1, 4)),
        (2, (1, 1, 2, 1, 1, 1), (4,)),
    ],
)
def test_no_interleaving_of_two_ranks_breaks_it(blocks: int, sizes: tuple[int, ...], two_shot: tuple[int, ...]) -> None:
    """All of them: no rank reads a word of another call, and none waits for one that was emptied."""
    steps = tuple(call in two_shot for call in range(len(sizes)))
    assert explore(Machine(2, blocks, sizes, steps, RULES), most=60_000) > 100


@settings(max_examples=30, deadline=None)
@given(
    world=st.sampled_from((2, 3, 4)),
    blocks=st.integers(1, 3),
    calls=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=4, max_size=8),
    seed=st.integers(0, 2**32),
)
def test_no_random_interleaving_breaks_it(world: int, blocks: int, calls: list[tuple[int, bool]], seed: int) -> None:
    """More ranks, blocks and sizes than can be explored."""
    sizes, two_shot = zip(*calls, strict=True)
    end = walk(Machine(world, blocks, sizes, two_shot, RULES), Random(seed).choice)
    assert end.calls == (len(calls),) * world


@pytest.mark.parametrize(
    "wrong",
    [
        RULES._replace(slots=1),
        RULES._replace(slots=2),
        RULES._replace(behind=0),
        RULES._replace(behind=2),
        RULES._replace(flushed=False),
    ],
    ids=["one slot", "two slots", "empties its own", "empties an older one", "kernels that overlap"],
)
def test_each_of_its_rules_is_needed(wrong: Rules) -> None:
    """With any of them changed an interleaving is found that reads a wrong word or waits without end: the tests above can fail."""
    with pytest.raises(AssertionError, match=r"waits for|nothing can follow"):
        explore(Machine(2, 1, (1,) * 6, (False,) * 6, wrong), most=60_000)


def test_the_kernels_follow_these_rules() -> None:
    """The numbers of slots and the slot that is emptied are those that were explored."""
    source = KERNELS.read_text()
    assert f"#define SLOTS {RULES.slots}\n" in source
    assert f"before = (slot + SLOTS - {RULES.behind}) % SLOTS;" in source
    assert "control[0] = (slot + 1) % SLOTS;" in source
