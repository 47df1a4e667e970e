"""The kernels' protocol as a machine of small steps that an adversary schedules: what kernels.cu argues, to be explored.

Each rank runs its calls one after the other, a call ends when all its blocks have, and a store reaches memory at any time after
it was issued: those to a peer whenever the adversary likes, in any order; a rank's own at the latest when its kernel ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

EMPTY = None


class Rules(NamedTuple):
    """What of the protocol can be got wrong. ``slots`` in turn; the emptied slot is that of call ``number - behind``; whether a
    kernel's own stores are in memory when it ends."""

    slots: int = 3
    behind: int = 1
    flushed: bool = True


class Step(NamedTuple):
    """What a block does next: "send" a word of a call to ``peer``, "empty" one of its own of ``peer``'s region, "await" one."""

    kind: str
    peer: int
    slot: int
    word: int
    value: object = EMPTY


class State(NamedTuple):
    """``calls``, ``places``: of each rank, the call it is in and where in it each block is. ``memory``: of each rank, what its
    words hold. ``underway``: stores (rank that issued, rank whose memory, address, value) that have not arrived."""

    calls: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    memory: tuple[frozenset[tuple[object, object]], ...]
    underway: frozenset[tuple[int, int, object, object]]


class Machine:
    """``sizes``: words of each call's message. ``two_shot``: of each call, whether it goes in two steps."""

    def __init__(
        self, world: int, blocks: int, sizes: tuple[int, ...], two_shot: tuple[bool, ...], rules: Rules
    ) -> None:
        self.world, self.blocks, self.sizes, self.two_shot, self.rules = world, blocks, sizes, two_shot, rules
        self.programs = {
            (rank, call, block): tuple(self._program(rank, call, block))
            for rank in range(world)
            for call in range(len(sizes))
            for block in range(blocks)
        }

    def start(self) -> State:
        """Before the first call: all memory is empty."""
        return State((0,) * self.world, ((0,) * self.blocks,) * self.world, (frozenset(),) * self.world, frozenset())

    def ended(self, state: State) -> bool:
        """Whether all ranks have done all calls."""
        return all(call == len(self.sizes) for call in state.calls)

    def moves(self, state: State) -> Iterator[State]:
        """Every state that can follow. Raises AssertionError where a block reads a word that is not what it waits for."""
        for store in state.underway:
            yield self._arrived(state, store)
        for rank in range(self.world):
            if state.calls[rank] == len(self.sizes):
                continue
            programs = [self.programs[rank, state.calls[rank], block] for block in range(self.blocks)]
            places = state.places[rank]
            for block in range(self.blocks):
                if places[block] < len(programs[block]):
                    yield from self._step(state, rank, block, programs[block][places[block]])
            if all(place == len(program) for place, program in zip(places, programs, strict=True)):
                yield from self._end(state, rank)

    def _program(self, rank: int, call: int, block: int) -> Iterator[Step]:
        slot = call % self.rules.slots
        peers = [(rank + after) % self.world for after in range(1, self.world)]
        mine = [word for word in range(self.sizes[call]) if word % self.blocks == block]
        steps = 2 if self.two_shot[call] else 1
        for word in mine:
            yield from (Step("send", peer, slot, word, (call, rank, word)) for peer in peers)
        yield from self._emptying(call, block, peers)
        for step in range(steps):
            at = step * self.sizes[call]
            if step:
                for word in mine:
                    yield from (Step("send", peer, slot, at + word, (call, rank, at + word)) for peer in peers)
            for word in mine:
                yield from (Step("await", peer, slot, at + word, (call, peer, at + word)) for peer in peers)

    def _emptying(self, call: int, block: int, peers: list[int]) -> Iterator[Step]:
        before = call - self.rules.behind
        if before < 0:
            return
        for word in range(self.sizes[before] * (2 if self.two_shot[before] else 1)):
            if (word + 1) % self.blocks == block:  # another block than the one that read it
                yield from (Step("empty", peer, before % self.rules.slots, word) for peer in peers)

    def _step(self, state: State, rank: int, block: int, step: Step) -> Iterator[State]:
        if step.kind == "await":
            held = dict(state.memory[rank]).get((step.slot, step.peer, step.word), EMPTY)
            if held is EMPTY:
                return
            assert held == step.value, f"rank {rank} reads {held} where it waits for {step.value}"
            yield self._advanced(state, rank, block)
        elif step.kind == "send":
            store = (rank, step.peer, (step.slot, rank, step.word), step.value)
            yield self._advanced(state._replace(underway=state.underway | {store}), rank, block)
        else:
            store = (rank, rank, (step.slot, step.peer, step.word), EMPTY)
            yield self._advanced(state._replace(underway=state.underway | {store}), rank, block)

    def _end(self, state: State, rank: int) -> Iterator[State]:
        if self.rules.flushed and any(store[0] == store[1] == rank for store in state.underway):
            return
        calls = _put(state.calls, rank, state.calls[rank] + 1)
        yield state._replace(calls=calls, places=_put(state.places, rank, (0,) * self.blocks))

    def _advanced(self, state: State, rank: int, block: int) -> State:
        places = _put(state.places[rank], block, state.places[rank][block] + 1)
        return state._replace(places=_put(state.places, rank, places))

    def _arrived(self, state: State, store: tuple[int, int, object, object]) -> State:
        _, rank, address, value = store
        kept = {held for held in state.memory[rank] if held[0] != address}
        memory = frozenset(kept if value is EMPTY else kept | {(address, value)})
        return state._replace(memory=_put(state.memory, rank, memory), underway=state.underway - {store})


def _put(values: tuple[Any, ...], at: int, value: object) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def explore(machine: Machine, most: int) -> int:
    """How many states there are, each with what can follow it. Raises AssertionError for a wrong value read, for a state from which
    nothing follows though calls are left, and for more than ``most`` states."""
    seen = {machine.start()}
    open_ = [machine.start()]
    while open_:
        state = open_.pop()
        following = list(machine.moves(state))
        assert following or machine.ended(state), f"nothing can follow: {state}"
        new = [one for one in following if one not in seen]
        seen.update(new)
        open_ += new
        assert len(seen) <= most, "more states than expected"
    return len(seen)


def walk(machine: Machine, choose: Callable[[list[State]], State]) -> State:
    """The end of one way through, by ``choose``. Raises AssertionError as ``explore`` does."""
    state = machine.start()
    while not machine.ended(state):
        following = list(machine.moves(state))
        assert following, f"nothing can follow: {state}"
        state = choose(following)
    return state
