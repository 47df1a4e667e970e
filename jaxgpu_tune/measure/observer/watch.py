"""A thread that waits for the steady state, measures it, records a trace if one is asked for, and goes away.

What is asked comes in ``request.json``: ``seconds`` of steady state to measure, the name of a ``function`` to go by,
``trace`` (``steps`` of it, ``options`` of the profiler). Each state is written down, so that a program that is killed has told it.
"""

from __future__ import annotations

import atexit
import os
import threading
from time import perf_counter
from typing import Any

from ..clock import Period, period
from . import facts, heard_marks, tracing
from .calls import Calls
from .compiled import Compiled
from .compiles import Compiles
from .report import report_of
from .run_folder import Notes, read_request

__all__ = ["Watch"]

LOOK = 0.25
WRITE = 1.0
SETTLE = 0.5
"""Seconds after a compilation that are no steady state yet."""
PATIENCE = 10
"""How many times the asked seconds it is waited for enough whole bursts before few are taken."""
FEW_BURSTS = 3
STILL, STILL_CALLED = 0.5, 20
"""A function that was not called for so many seconds, or periods, belongs to the preparations: its loop is over."""
SEARCH = 1.5
"""Seconds without any call seen after which they are looked for everywhere."""
LONGEST_TRACE = 20.0
LONGEST_END = 5.0
"""Seconds that the end of the program waits at most for a trace that is being recorded."""
BLIND = 4
"""How many times the asked seconds no call, or none but of jax's own operations, is seen before that is taken for the steady state."""
MAIN = threading.main_thread().ident
OTHER_THREAD = "the step runs in another thread than the main one, where a trace on a GPU cannot end safely"


class Watch:
    """The observer of one process."""

    def __init__(self, folder: str, notes: Notes, started: float, words: dict[str, Any]) -> None:
        self.folder, self.notes, self.started, self.words = folder, notes, started, words
        self.settings, self.knows_start = facts.settings(facts.AT_IMPORT), False
        self.request = read_request(folder)
        self.state = "waiting"
        self.calls = Calls()
        self.compiles = Compiles(self.calls.compiled_in, self.begin)
        self.compiled = Compiled()
        self.found: Period | None = None
        self.clock, self.function = "", ""
        self.window: list[float] = []
        self.first_step: float | None = None
        self.imported = perf_counter() - started
        self.trace: dict[str, Any] = {}
        self.host_trace: str | None = None
        self.blind = False
        self._next_try = self._provided = 0.0
        self._searching = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen from now on. The thread begins with the first compilation or mark: a program that forks before has none but its own."""
        self.compiles.listen()
        heard_marks.begins.append(self.begin)
        self.blind = not self.calls.start()
        atexit.register(self.finish)

    def backend_starts(self) -> None:
        """It reads its settings now, and never again."""
        self.knows_start = True
        self.settings |= facts.settings(facts.AT_START)

    def begin(self) -> None:
        """There is something to look at. Called in the program's own threads, often: must not raise."""
        if self._thread is None:
            if not self.knows_start:  # a mark came first, or this jax starts otherwise
                self.backend_starts()
            self.settings |= facts.settings(facts.AT_COMPUTATION)
            self._thread = threading.Thread(target=self._run, name="jaxgpu_tune observer", daemon=True)
            self._thread.start()

    def forked(self, notes: Notes) -> None:
        """In a forked child, which has no thread but its own: begin anew, with a report of its own."""
        self.notes, self.state, self.found, self._thread = notes, "waiting", None, None
        self.words = {**self.words, "pid": os.getpid(), "forked": True}
        heard_marks.stamps.clear()
        self.calls.stamps.clear()
        self.calls.counts.clear()
        self.compiles.all.clear()
        self._stop = threading.Event()

    def finish(self) -> None:
        """At the end of the program: what was seen, steady or not."""
        self._stop.set()
        self._wait_for_thread()
        try:
            if self.state in ("waiting", "measuring"):
                self._take_what_there_is()
                self.state = "ended"
        except Exception as error:  # noqa: BLE001 - the program ends as it would without us
            self.notes.log(repr(error))
        try:
            self.notes.write({**report_of(self), "ended": True, "error": facts.shown_exception()})
        except Exception as error:  # noqa: BLE001 - as above
            self.notes.log(repr(error))

    def _wait_for_thread(self) -> None:
        """Let a recording end; what it asks of this thread is done between the short waits."""
        end = perf_counter() + LONGEST_END
        while self._thread is not None and self._thread.is_alive() and perf_counter() < end:
            tracing.end_now()
            self._thread.join(0.05)

    def _run(self) -> None:
        written = 0.0
        while not self._stop.wait(LOOK):
            try:
                before = self.state
                self._look()
                self._provide()
                if not self._stop.is_set() and (self.state != before or perf_counter() - written > WRITE):
                    self.notes.write(report_of(self))
                    written = perf_counter()
            except Exception as error:  # noqa: BLE001 - the program goes on without being watched
                self.notes.log(repr(error))
                return
            if self.state == "done":
                return

    def _look(self) -> None:
        self.compiles.listen()
        now = perf_counter()
        self._search(now)
        if self.state == "measured":
            self._record()
        elif self._sees_nothing(now):
            self._trace_host(now)
        elif now >= self._next_try and self._is_steady(now):
            self.state = "measuring"
            self._measure(now)
        if self.request.get("program"):
            self._look_at_programs(now)

    def _look_at_programs(self, now: float) -> None:
        """What is called was compiled to; told at once where that is new. Never while it is measured: it takes the interpreter's lock."""
        settles = self.compiles.last + SETTLE / 5 < now < self._begin() and not self.compiles.is_busy(now)
        if not settles and self.state != "done":
            return
        since = self.compiles.last if settles else self._begin()
        called = {key[0] for key, stamps in list(self.calls.stamps.items()) if stamps[-1:] > [since]}
        of_jax = {name for name, _ in self.calls.of_jax}
        try:
            if self.compiled.look(called - of_jax, len(self.compiles.all)):
                self.notes.write(report_of(self))
        except Exception as error:  # noqa: BLE001 - a backend that shows no programs
            self.request["program"] = False
            self.notes.log(f"programs: {error!r}")

    def _search(self, now: float) -> None:
        """Calls that are not seen where something was compiled are looked for everywhere, for a moment, less and less often."""
        if self._searching and (self.calls.stamps or now > self._searching + SEARCH / 2):
            self.calls.everywhere(False)
            self._searching = -now
        quiet = now - self.compiles.last
        unseen = self.compiles.all and not self.calls.stamps and not heard_marks.stamps
        if unseen and self._searching <= 0 and quiet > SEARCH and now + 2 * self._searching > quiet - SEARCH:
            self.calls.everywhere(True)
            self._searching = now

    def _sees_nothing(self, now: float) -> bool:
        """Whether something was compiled and yet no call is seen: before Python 3.12, or where calls come from C."""
        if heard_marks.stamps or self.calls.stamps or not self.compiles.all or now < self._next_try:
            return False
        return now > self._begin() + self.seconds * (1 if self.blind else BLIND)

    def _trace_host(self, now: float) -> None:
        """The last resort: a trace, whose events on the host the parent counts."""
        self._next_try = now + self.seconds
        if facts.pgle() or tracing.session_of_the_program():
            return
        try:
            content, cut = tracing.record(self.seconds, (self.request.get("trace") or {}).get("options", {}))
        except Exception as error:  # noqa: BLE001 - as in _record
            self.notes.log(f"host trace: {error!r}")
            return
        if not cut:
            self.clock, self.host_trace = "trace", self.notes.write_file("host.xplane.pb", content)
            self.state = "done"
            if self.request.get("trace"):  # it holds the device's events as well
                self.trace = {"path": self.host_trace, "begin_s": now - self.started, "seconds": self.seconds}

    def _is_steady(self, now: float) -> bool:
        """Nothing was traced or compiled for as long as is to be measured; AutoPGLE has compiled the function again.

        While nothing but jax's own operations is called, the program may still be preparing, so it is waited longer.
        """
        prepares = not heard_marks.stamps and self.calls.of_jax.issuperset(self.calls.stamps)
        early = now < self._begin() + self.seconds * (BLIND if prepares else 1)
        if early or self.compiles.is_busy(now) or not (self.compiles.all or heard_marks.stamps):
            return False
        again = sum(one.name == self._best()[1] for one in self.compiles.all)
        return not facts.pgle() or again > 1

    @property
    def seconds(self) -> float:
        """How much of the steady state is to be measured."""
        return float(self.request.get("seconds", 3.0))

    def _begin(self) -> float:
        return max(self.compiles.last, self.started) + SETTLE

    def _measure(self, now: float) -> None:
        clock, function, stamps = self._best()
        window = [stamp for stamp in stamps if stamp >= self._begin()]
        found = period(window)
        self._next_try = now + max(LOOK, (now - self._begin()) / 5)
        if found is None or now - window[-1] > max(STILL, STILL_CALLED * found.seconds):
            return
        late = now > self._begin() + PATIENCE * self.seconds and found.bursts >= FEW_BURSTS
        if (found.sure and window[-1] - window[0] >= self.seconds * 0.8) or late:
            self._keep(clock, function, found, window)
            self.state = "measured" if self.request.get("trace") else "done"
            if self.state == "done":
                self.calls.stop()

    def _keep(self, clock: str, function: str, found: Period, window: list[float]) -> None:
        self.clock, self.function, self.found = clock, function, found
        self.window = [window[0] - self.started, window[-1] - self.started]

    def _best(self) -> tuple[str, str, list[float]]:
        """The program's own marks; else the function with the most calls, each weighed by how much there was to compile."""
        if len(heard_marks.stamps) > 1:
            return "marks", "", list(heard_marks.stamps)
        wanted = self.request.get("function")
        keys = [key for key in list(self.calls.stamps) if wanted in (None, key[0])]
        if not keys:
            return "", "", []
        key = max([key for key in keys if key not in self.calls.of_jax] or keys, key=self.weight)
        stamps = list(self.calls.stamps[key])
        if self.first_step is None:
            compiled = min((one.at for one in self.compiles.all if one.name == key[0]), default=0.0)
            self.first_step = next((stamp for stamp in stamps if stamp > compiled), None)
        return "calls", key[0], stamps

    def weight(self, key: tuple[str, int]) -> float:
        """How much of the program's work a function's calls are."""
        return self.calls.counts.get(key, 0) * (self.compiles.work.get(key[0], 0.0) + 1e-6)

    def _provide(self) -> None:
        """Now and then what there is so far, in case the program is ended before it is steady."""
        age = perf_counter() - self.started
        if self.state in ("waiting", "measuring") and age > self._provided * 1.5 + 5:
            self._provided = age
            self._take_what_there_is()

    def _take_what_there_is(self) -> None:
        """The longest stretch without compilation, if there is one; else all calls, compilations between them included."""
        clock, function, stamps = self._best()
        ends = [0.0, *sorted(one.at for one in self.compiles.all), float("inf")]
        parts = [[s for s in stamps if begin < s <= end] for begin, end in zip(ends, ends[1:])]  # noqa: B905, RUF007
        longest = max(parts, key=len, default=[])
        found = period([stamp for stamp in longest if stamp >= self._begin()]) or period(longest) or period(stamps)
        self.function = function
        if found is not None:
            self._keep(clock, function, found, longest or stamps)

    def _record(self) -> None:
        """The trace that is asked for, once the program's own is over."""
        wanted = self.request["trace"]
        if tracing.session_of_the_program():
            self.trace = {"why_not": "the program's own profiler session is running"}
            return
        if self.calls.threads.get(self.function, MAIN) != MAIN and facts.on_gpu():
            self.trace, self.state = {"why_not": OTHER_THREAD}, "done"
            return
        assert self.found is not None
        seconds = min(LONGEST_TRACE, max(0.2, (wanted.get("steps", 5) + 1) * self.found.seconds))
        begin = perf_counter()
        try:
            content, cut = tracing.record(seconds, wanted.get("options", {}))
        except Exception as error:  # noqa: BLE001 - whatever the profiler raises is told
            self.trace = {"why_not": f"{type(error).__name__}: {error}"[:500]}
        else:
            path, took = self.notes.write_file("trace.xplane.pb", content), perf_counter() - begin
            self.trace = {"path": path, "begin_s": begin - self.started, "seconds": took, "cut": cut}
        self.calls.stop()
        self.state = "done"
