"""A profile of one process or of several: what is told, what is advised, which rank is slow, and how it is shown."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from jaxgpu_tune.knowledge.advice import MEASURES
from jaxgpu_tune.measure.assembly import profile_of
from jaxgpu_tune.measure.profile import HostTimes, Profile, Watched
from jaxgpu_tune.measure.timeline import timeline_of
from jaxgpu_tune.measure.trace.events import Event
from jaxgpu_tune.measure.trace.reduction import reduce_trace
from jaxgpu_tune.render.profile import profile_text
from jaxgpu_tune.render.profile_html import profile_page
from tests.traces import instruction, nccl, ran, repeated, trace


def step(own: float = 6.0, gathered: float = 4.0) -> list[Event]:
    """Ten milliseconds of which a loop's all-gathers are exposed for some."""
    half = gathered / 2
    return [ran("dot", 0, own), nccl("all-gather-start", own, half), nccl("all-gather-start", own + half, half)]


def watched(events: list[Event], gpus: int = 1, **more: Any) -> Watched:
    """A process that ran such steps."""
    found = trace(*repeated(events), gpus=gpus)
    reduction = reduce_trace(found)
    seen: dict[str, Any] = {"step_s": 0.0095, "clock": "calls", "function": "train_step", **more}
    return Watched(reduction=reduction, timeline=timeline_of(found, reduction), **seen)


def both() -> Profile:
    """Of two GPUs in one process."""
    other = [event._replace(plane="/device:GPU:1") for event in step()]
    return profile_of([watched([*step(), *other], gpus=2)], ["python", "train.py"])


def test_the_step_is_the_one_without_the_tracer() -> None:
    """Both are told, and what the tracer costs."""
    found = profile_of([watched(step())])
    assert (found.step_ms, found.traced_ms) == (pytest.approx(9.5), pytest.approx(10))
    assert found.tracer_cost == pytest.approx(0.5 / 9.5)
    assert sum(found.parts.values()) == pytest.approx(10)


def test_advice_follows_from_what_was_seen() -> None:
    """Exposed all-gathers of a loop on two GPUs; not on one, and not where they are pipelined already."""
    assert {"gathers-exposed"} == {advice.code for advice in both().advice}
    assert profile_of([watched(step())]).advice == ()
    set_already = "--xla_gpu_pipeline_all_gather=on"
    other = [event._replace(plane="/device:GPU:1") for event in step()]
    assert profile_of([watched([*step(), *other], gpus=2, xla_flags=set_already)]).advice == ()


def test_every_measure_is_taken() -> None:
    """What rules may speak of is what a profile measures, both ways."""
    assert set(both().measures) == set(MEASURES)


def test_the_tracers_own_time_leads_to_no_advice() -> None:
    """Three idle milliseconds are the host's, unless the step is three milliseconds longer for the tracer's sake."""
    late = [ran("dot", 0, 7), ran("fusion", 7, 0.001)]
    assert {"host-late"} == {advice.code for advice in profile_of([watched(late, step_s=0.01)]).advice}
    assert profile_of([watched(late, step_s=0.007)]).advice == ()


def test_recompiling_and_full_memory_are_told_without_a_trace() -> None:
    """As on a CPU."""
    host = HostTimes(first_step_s=2.0, compiled=9, compile_s=8.0, recompiled=3, recompile_s=6.0)
    found = profile_of([Watched(step_s=0.01, clock="calls", host=host, peak_bytes=97, limit_bytes=100)])
    assert {advice.code for advice in found.advice} == {"recompiles", "memory-nearly-full"}
    assert "6.0 s" in str(found) and "97%" in str(found)


def test_the_slow_rank_is_named() -> None:
    """The one that works longest; the others wait inside their collectives."""
    ranks = [watched(step(8.0 if rank == 2 else 6.0, 2.0 if rank == 2 else 4.0), rank=rank) for rank in (3, 2, 1, 0)]
    found = profile_of(ranks)
    assert [one.rank for one in found.ranks] == [0, 1, 2, 3]
    assert (found.slow_rank, found.skew_ms) == (2, pytest.approx(2))
    assert found.ranges["exposed_communication"] == (pytest.approx(2), pytest.approx(4))
    assert found.parts["exposed_communication"] == pytest.approx(4), "rank 0 is told of"
    assert "Rank 2 is slow" in str(found)


def test_the_slow_gpu_of_one_process_is_named() -> None:
    """Its collective begins last; the other one's waits for it."""
    late = [ran("dot", 0, 9, gpu=1), nccl("all-reduce", 9, 1, gpu=1)]
    found = profile_of([watched([ran("dot", 0, 6), nccl("all-reduce", 6, 4), *late], gpus=2)])
    assert found.slow_gpu == "/device:GPU:1" and both().slow_gpu is None
    assert "GPU:1 is slow: the others wait up to 3.00 ms" in str(found)


def test_equal_ranks_have_no_slow_one() -> None:
    """A difference of a hundredth is noise."""
    found = profile_of([watched(step(6.0 + rank / 100, 4.0 - rank / 100), rank=rank) for rank in range(2)])
    assert found.slow_rank is None and found.skew_ms == pytest.approx(0.01)


def test_what_could_not_be_seen_is_said() -> None:
    """No device, no trace, nothing that repeats, CUDA graphs without kernels."""
    graph = ran("CudaGraphExec:5", 0, 8, cuda_graph_exec_id=5)
    assert "--names" in " ".join(profile_of([watched([graph, ran("fusion", 8, 2)])]).notes)
    nothing = Watched(reduction=reduce_trace(trace(gpus=0)), step_s=0.01)
    assert "no device part" in " ".join(profile_of([nothing]).notes)
    assert "the program's own profiler" in " ".join(
        profile_of([Watched(why_not_traced="the program's own profiler")]).notes
    )
    once = Watched(reduction=reduce_trace(trace(ran("dot", 0, 1), ran("fusion", 1, 1))))
    assert "Nothing repeats" in " ".join(profile_of([once]).notes)
    assert "No steady state" in " ".join(profile_of([]).notes)


def test_a_run_without_cuda_graphs_says_what_they_are_worth() -> None:
    """As with --names: the step with them, and how much longer it is without."""
    late = [*step(6.0, 1.0), ran("fusion", 9, 0.001)]
    assert {advice.code for advice in profile_of([watched(late, step_s=0.01)]).advice} == {"host-late"}
    assert profile_of([watched(late, step_s=0.01)], unnamed_s=0.005).advice == (), (
        "launching kernel by kernel is not the program's"
    )
    found = profile_of([watched(step())], unnamed_s=0.005)
    assert "with them a step takes 5.00 ms (without: 1.90 times as long)" in " ".join(str(found).split())


def test_its_json_is_whole_and_plain() -> None:
    """Every part, every collective; no timeline, which a page shows."""
    told = json.loads(json.dumps(both().to_dict()))
    assert sum(told["parts"].values()) == pytest.approx(told["traced_ms"])
    assert told["collectives"][0]["kind"] == "all-gather"
    assert told["advice"][0]["evidence"] and "timeline" not in told and told["tracer_cost"] > 0


@pytest.mark.parametrize("width", [80, 100, 200])
def test_its_text_fits_the_screen(width: int) -> None:
    """In width; the parts, the collectives with their bytes and line, and the advice with its evidence."""
    gather = instruction("all-gather-start", "all-gather-start", result_bytes=64_000_000, source="model.py:12")
    found = trace(*repeated(step()), gpus=1, instructions=[gather])
    text = profile_text(profile_of([Watched(step_s=0.0095, clock="calls", reduction=reduce_trace(found))]), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "exposed communication" in text and "64 MB" in text and "model.py:12" in text
    assert len(text.splitlines()) < 60


class Page(HTMLParser):
    """What a page loads from elsewhere, and whether its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.loads += [value or "" for name, value in attrs if name == "src" or (tag == "link" and name == "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_its_page_stands_alone() -> None:
    """Closed tags, nothing loaded from elsewhere, every placeholder filled, names that look like tags harmless."""
    odd = ran("</script><b>dot", 0, 6)
    page = profile_page(profile_of([watched([odd, ran("fusion", 6, 4)])], ["python", "<train>.py"]))
    parser = Page()
    parser.feed(page)
    assert parser.open == [] and parser.loads == []
    assert "@" not in page.split("<style>")[0] and "@DATA@" not in page and "<train>" not in page
    assert page.count("</script>") == 1
