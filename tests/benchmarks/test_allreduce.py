"""The benchmark of AllReduce runs where there is no GPU, through lax.psum; what it held on GPUs is what is claimed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.comms.choice import TESTED_JAXLIBS
from jaxgpu_tune.knowledge.presets import load_preset
from tests.child import FAST, ROOT, clean_environ, compiled_once


@pytest.mark.slow
def test_it_runs_without_a_gpu(tmp_path: Path) -> None:
    """At small sizes, on four devices, in one process and in two of two; the sums are right, and no stage ends badly."""
    stages = ("correct", "stress", "cutover", "decode", "together")
    command = [sys.executable, "-m", "benchmarks.allreduce", "--out", str(tmp_path), "--devices", "4"]
    command += ["--backend", "ffi", "--fence"]
    environ = clean_environ(CUDA_VISIBLE_DEVICES="", **compiled_once(JAX_PLATFORMS="cpu", XLA_FLAGS=FAST))
    subprocess.run(
        [*command, "--stages", *stages], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=280, check=True
    )
    found = json.loads((tmp_path / "allreduce.json").read_text())
    assert found["options"] == {"backend": "ffi", "fence": True}
    told = [rank for stage in stages for one in (found[stage],) for rank in one.get("ranks", [one])]
    assert len(told) == 6 and all(one["found"] and "status" not in one for one in told), told
    assert found["stress"]["found"]["result"]["wrong by type"] == {"bfloat16": 0, "float16": 0, "float32": 0}
    assert set(found["cutover"]["found"]["result"]) == {"one-shot", "two-shot"}
    assert all(one["found"]["right"] and "4 ranks" in one["found"]["explained"] for one in found["together"]["ranks"])
    decode = {way: times["1"]["mean square"] for way, times in found["decode"]["found"]["result"].items()}
    assert decode["ours, padded"] == pytest.approx(decode["ours"], rel=0.02)
    correct = found["correct"]["found"]["result"]
    assert all(one["nan right"] and one["ranks alike"] and one["error"] < 0.01 for one in correct["sums"])
    assert all(max(one["errors"]) < 0.01 and one["ranks alike"] for one in correct["rows"])


RESULTS = ROOT / "benchmarks" / "results"
HELD, AGAIN, FFI, FENCE, NEWER = (
    json.loads((RESULTS / f"allreduce-{name}.json").read_text())
    for name in ("h200x2-0.11.2", "again-h200x2-0.11.2", "ffi-h200x2-0.11.2", "fence-h200x2-0.11.2", "h200x2-0.12.0.1")
)
DECODED = {
    "0.11.2": HELD["decode"],
    "0.11.2, another": HELD["decode, on the machine of the other stages"],
    "0.11.2, again": AGAIN["decode"],
    "0.11.2, ffi": FFI["decode"],
    "0.12.0.1": NEWER["decode"],
    "0.12.0.1, another": NEWER["decode, on another machine"],
}
"""Every run of the decoder by every way, with the release and the machine."""


WAYS = ("shipped", "nccl", "ours, sum alone", "ours", "none")


def median(runs: list[float]) -> float:
    """Of several runs."""
    return sorted(runs)[len(runs) // 2]


@pytest.mark.parametrize("held", [HELD, AGAIN, FFI, NEWER], ids=["0.11.2", "again", "ffi", "0.12.0.1"])
def test_every_sum_that_was_measured_was_right(held: Any) -> None:
    """To rounding, the same on all ranks, NaN and -0.0 included; a million calls under stress; by kernels, not lax.psum."""
    assert "kernels for messages" in held["correct"]["found"]["comm"]
    correct = held["correct"]["found"]["result"]
    worst = {"bfloat16": 4e-3, "float16": 5e-4, "float32": 1e-6}
    assert all(one["nan right"] and one["minus zero right"] and one["ranks alike"] for one in correct["sums"])
    assert all(one["error"] < worst[one["dtype"]] for one in correct["sums"])
    assert all(max(one["errors"]) < worst[one["dtype"]] and one["ranks alike"] for one in correct["rows"])
    stress = held["stress"]["found"]["result"]
    assert stress["calls"] >= 1_000_000 and stress["wrong"] == 0
    assert all(rank["found"]["right"] for rank in held.get("together", {"ranks": []})["ranks"])


def test_every_release_that_is_allowed_was_measured() -> None:
    """Its sums right, its decoding faster than by any flags; with the fused kernel three quarters of what sums cost are gone."""
    assert {held["machine"]["jaxlib"] for held in (HELD, NEWER)} == set(TESTED_JAXLIBS)
    for held in DECODED.values():
        decode = held["found"]["result"]
        flags = [way for way in decode if way.startswith(("shipped", "nccl")) and "padded" not in way]
        for batch in ("1", "8", "32"):
            times = {way: median(decode[way][batch]["ms"]) for way in ("shipped", "ours", "none")}
            assert times["ours"] < 0.9 * min(median(decode[way][batch]["ms"]) for way in flags)
            assert times["shipped"] - times["ours"] > 0.75 * (times["shipped"] - times["none"])


def test_through_the_ffi_every_batch_took_a_fifth_less() -> None:
    """Than jaxlib as shipped, on two H200, on the same machine."""
    decode = FFI["decode"]["found"]["result"]
    assert all(
        median(decode["ours"][batch]["ms"]) < 0.8 * median(decode["shipped"][batch]["ms"]) for batch in ("1", "8", "32")
    )


def test_a_dead_peer_was_an_error_in_the_time_that_is_stated() -> None:
    """Not a number: within four seconds of the limits of 2 and 5."""
    alone, killed = [held["dead"]["found"]["result"] for held in (HELD, NEWER)], HELD["left_alone"]["ranks"][0]["found"]
    assert {one["type"] for one in (*alone, killed)} == {"JaxRuntimeError"}
    assert all(2 < one["seconds"] < 6 for one in alone) and 5 < killed["seconds"] < 9


MACHINES = {
    "0.11.2": [DECODED[name]["found"]["result"] for name in ("0.11.2", "0.11.2, another", "0.11.2, again")],
    "0.12.0.1": [DECODED[name]["found"]["result"] for name in ("0.12.0.1", "0.12.0.1, another")],
}
"""By release, the decoder on each machine that ran it by the default back end."""


def test_the_page_states_what_was_measured() -> None:
    """The decode table, number by number, and what the fused kernel takes."""
    page = (ROOT / "docs" / "comms.md").read_text()
    lines = [line for release, machines in MACHINES.items() for line in decode_lines(release, machines)]
    assert [line for line in lines if line not in page] == []
    traces = [held["trace"]["found"]["result"] for held in (HELD, NEWER)]
    fused, sums = (
        [trace[f"{kind}, {size} bytes"][kernel][1] for trace in traces for size in (8192, 65536)]
        for kind, kernel in (("fused", "jaxgpu_tune_add_rmsnorm"), ("sum alone", "jaxgpu_tune_all_reduce"))
    )
    assert "| sum, addition and norm | {:.1f} | {:.1f} | {:.1f} | {:.1f} |".format(*fused) in page
    assert "| sum alone | {:.1f} | {:.1f} | {:.1f} | {:.1f} |".format(*sums) in page
    assert all(at_8 <= 4.0 and at_64 <= 5.2 for at_8, at_64 in zip(fused[::2], fused[1::2], strict=True))


def span(values: list[float], digits: int) -> str:
    """Such as 3.29 to 3.34."""
    return " to ".join(dict.fromkeys(f"{value:.{digits}f}" for value in (min(values), max(values))))


def decode_lines(release: str, machines: list[Any]) -> list[str]:
    """A table's rows: from the fastest machine to the slowest, by batch, and one sequence padded; nothing that a single machine says."""

    def cell(way: str, batch: str) -> str:
        found = [one for one in machines if way in one]
        times = [median(one[way][batch]["ms"]) for one in found]
        if len(times) < 2:
            return ""
        parts = [100 * (1 - time / median(one["shipped"][batch]["ms"])) for time, one in zip(times, found, strict=True)]
        less = f" ({span(parts, 0)} % less)" if way.startswith("ours") and "alone" not in way else ""
        return span(times, 2) + less

    rows = {batch: (batch, "") for batch in ("1", "8", "32")} | {"1, padded to 8 rows": ("1", ", padded")}
    cells = {label: [cell(way + suffix, batch) for way in WAYS] for label, (batch, suffix) in rows.items()}
    return [
        " ".join(f"| {release} | {label} | {' | '.join(found)} |".split())
        for label, found in cells.items()
        if any(found)
    ]


@pytest.mark.parametrize(
    ("label", "held", "way"),
    [
        ("shipped", HELD, "shipped"),
        ("NCCL in the CUDA graph", HELD, "nccl in graph"),
        ("`psum`", HELD, "ours"),
        ('`psum`, `backend="ffi"`', FFI, "ours"),
        ("`psum`, `fence=True`", FENCE, "ours"),
        ("shipped, 0.12.0.1", NEWER, "shipped"),
        ("NCCL in the CUDA graph, 0.12.0.1", NEWER, "nccl in graph"),
        ("`psum`, 0.12.0.1", NEWER, "ours"),
    ],
)
def test_the_page_states_the_time_of_each_size(label: str, held: Any, way: str) -> None:
    """In microseconds, of 4 KiB to 4 MiB."""
    times = held["latency"]["found"]["result"][way]
    told = " | ".join(f"{median(times[str(1 << power)]):.1f}" for power in range(12, 23, 2))
    assert f"| {label} | {told} |" in (ROOT / "docs" / "comms.md").read_text()


@pytest.mark.parametrize(("held", "release"), [(HELD, ""), (NEWER, ", 0.12.0.1")], ids=["0.11.2", "0.12.0.1"])
def test_the_page_states_the_time_of_two_processes(held: Any, release: str) -> None:
    """As the first of them took it."""
    times = held["together"]["ranks"][0]["found"]["us"]
    told = " | ".join(f"{median(times[size]['ours']):.1f}" for size in ("4096", "16384", "65536"))
    assert f"| `psum`, two processes{release} | {told} |" in (ROOT / "docs" / "comms.md").read_text()


def test_padding_one_sequence_pays_as_the_preset_says() -> None:
    """By every way that was measured; the advice names the page of the figures."""
    decode = HELD["decode"]["found"]["result"]
    times = {way: median(by_batch["1"]["ms"]) for way, by_batch in decode.items() if "1" in by_batch}
    padded = [way for way in times if way.endswith(", padded")]
    assert len(padded) == 4 and all(times[way] < 0.9 * times[way.removesuffix(", padded")] for way in padded)
    (advice, _), *_ = load_preset("decode").advice
    assert "--pad-to 8" in advice and "docs/comms.md" in advice


@pytest.mark.parametrize("batch", ["1", "8"])
def test_without_pdl_other_programs_cost_nothing(batch: str) -> None:
    """Before they ran and after: what they take away is what PDL gains."""
    decode = json.loads((RESULTS / "decode-pdl-h200x2-0.11.2.json").read_text())["decode"][batch]
    ways = [decode[f"{way}, as is"] for way in ("none, no pdl", "ptx, no pdl")]
    assert all(median(way["ms"]) < 1.02 * median(way["first"][1:]) for way in ways)
