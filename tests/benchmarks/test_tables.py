"""Tables and plots say what the results say, and ``--check`` tells when they do not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import jaxgpu_tune
from benchmarks import steps, tables
from benchmarks.outcome import Row, outcome_of, outcomes, tally, worth_telling
from benchmarks.page import page
from benchmarks.told import without_root
from benchmarks.variants import DEFAULT
from benchmarks.workloads import WORKLOADS
from jaxgpu_tune.knowledge.advice import advice_rules
from jaxgpu_tune.knowledge.presets import load_preset
from tests.child import ROOT, clean_environ


def run(variant: str, step_ms: float, *, machine: int = 0, **more: Any) -> dict[str, Any]:
    """A result, as the suite writes it; without a turn, as it wrote it before there were turns."""
    told = {"losses": [5.0, 4.5], "compile_seconds": 6.0, "peak_bytes": [2**33, 2**32], "settings": {}, "round": 0}
    place = {"workload": "fsdp_comm", "variant": variant, "machine": machine, "device": "2 x NVIDIA H200", **more}
    return {**told, **place, "step_ms": [step_ms, step_ms + 1, step_ms - 1]}


def in_turns(*pairs: tuple[float, float], variant: str = "fsdp", lane: int = 0) -> list[dict[str, Any]]:
    """Pairs of a default and a variant, the milliseconds of each."""
    turns = [{"turn": 1, "round": number, "lane": lane} for number in range(len(pairs))]
    return [
        run(name, ms, **turn)
        for turn, pair in zip(turns, pairs, strict=True)
        for name, ms in zip((DEFAULT, variant), pair, strict=True)
    ]


MACHINE = json.loads((ROOT / "tests" / "machines" / "h200x2_captured.json").read_text())
ERROR = "status 1: Traceback\n  x\nRuntimeError: no peer\n----\nFor simplicity, JAX has removed its frames"
RUNS = [
    *(run("default", one) for one in (50.0, 52.0)),
    *(run("fsdp", one) for one in (40.0, 50.0)),
    run("default", 100.0, machine=1),
    run("jax-toolbox", 80.0, machine=1),
    run("default", 30.0, alone=True),
    {"workload": "decode", "variant": "decode", "machine": 0, "alone": False, "round": 0, "error": ERROR},
]
RESULTS = {"size": "full", "machines": [MACHINE, MACHINE], "same": {"fsdp_comm": {"O1": "default"}}, "runs": RUNS}


def test_a_ratio_is_over_all_pairs_of_one_machine() -> None:
    """Its interval holds the smallest and the largest; another machine's default is not compared with."""
    outcome = outcome_of("x", RESULTS)
    fsdp, toolbox = outcome.row("fsdp_comm", "fsdp"), outcome.row("fsdp_comm", "jax-toolbox")
    assert fsdp is not None and toolbox is not None
    assert fsdp.speed[:3] == pytest.approx(((50 / 40 + 52 / 50) / 2 - 0.0, 50 / 50, 52 / 40), abs=0.02)
    assert toolbox.speed[:3] == pytest.approx((1.25, 1.25, 1.25))
    assert (fsdp.pairs, fsdp.step_ms, fsdp.peak_gib) == (2, 45.0, 8.0)
    assert fsdp.speed.word == toolbox.speed.word == "undecided"


def test_what_has_no_default_on_its_machine_is_left_out() -> None:
    """Its default failed there, say: there is nothing to compare it with."""
    outcome = outcome_of("x", {**RESULTS, "runs": [one for one in RUNS if one.get("step_ms") != [100.0, 101.0, 99.0]]})
    assert outcome.row("fsdp_comm", "jax-toolbox") is None and outcome.row("fsdp_comm", "fsdp") is not None


def test_a_variant_with_the_settings_of_another_is_that_one() -> None:
    """It was not measured by itself."""
    outcome = outcome_of("x", RESULTS)
    assert outcome.row("fsdp_comm", "O1") is outcome.row("fsdp_comm", "default")
    assert outcome.row("fsdp_comm", "auto") is None


def rowed(runs: list[dict[str, Any]]) -> Row:
    """What the results say of fsdp."""
    row = outcome_of("x", {**RESULTS, "runs": runs}).row("fsdp_comm", "fsdp")
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("pairs", "word"),
    [
        ([(50.0, 45.0)] * 6, "faster"),
        ([(50.0, 45.0)] * 5, "undecided"),
        ([*[(50.0, 45.0)] * 5, (50.0, 50.5)], "no-difference"),
        ([(50.0, 49.9)] * 6, "no-difference"),
        ([(50.0, 51.0)] * 6, "slower"),
    ],
)
def test_a_verdict_takes_six_pairs_that_agree(pairs: list[tuple[float, float]], word: str) -> None:
    """And half a percent: the rule of the command compare."""
    assert rowed(in_turns(*pairs)).speed.word == word


def test_a_pair_is_what_ran_in_turns_on_the_same_gpus() -> None:
    """A slow second half, which hits both, makes no difference; another lane's default is not compared with."""
    row = rowed([*in_turns(*[(50.0, 40.0)] * 3, *[(100.0, 80.0)] * 3), *in_turns((10.0, 10.0), lane=1, variant="auto")])
    assert row.speed == (1.25, 1.25, 1.25, "faster") and row.pairs == 6


def test_the_page_says_how_often_a_preset_gains() -> None:
    """By verdicts alone; what has too few pairs does not count."""
    outcome = outcome_of("x", {**RESULTS, "runs": in_turns(*[(50.0, 40.0)] * 6)})
    assert tally("fsdp", outcome).faster == (f"{WORKLOADS['fsdp_comm'].title} 1.25",)
    assert tally("fsdp", outcome_of("x", RESULTS)) == ((), (), ())
    assert f"| `fsdp` | 1: {WORKLOADS['fsdp_comm'].title} 1.25 | 0 | 0 |" in page([outcome], [])


def test_the_page_says_where_a_step_goes() -> None:
    """As the trace does: the parts add up to the traced step."""
    traced = steps.read(ROOT / "benchmarks" / "results")
    assert traced and all(sum(one.parts.values()) == pytest.approx(one.step, rel=1e-6) for one in traced)
    assert "exposed communication" in page([], traced)


def test_runs_that_began_with_other_flags_are_not_compared() -> None:
    """Neither in ratios nor in losses."""
    runs = [*RUNS, {**run("jax-docs", 25.0), "flags": "--xla_x=1", "losses": [9.0, 9.0]}]
    assert outcome_of("x", {**RESULTS, "runs": runs}).row("fsdp_comm", "jax-docs") is None


def test_one_pair_of_processes_has_no_range() -> None:
    """A number that was measured once does not look exact."""
    outcome = outcome_of("x", RESULTS)
    fsdp, toolbox = outcome.row("fsdp_comm", "fsdp"), outcome.row("fsdp_comm", "jax-toolbox")
    assert fsdp is not None and toolbox is not None
    assert (str(fsdp.speed), str(toolbox.speed)) == ("1.145 (1.000 to 1.300)", "1.250")


def written(folder: Path, results: dict[str, Any]) -> Path:
    """A tree with results, and a README with markers."""
    (folder / "suite-x.json").write_text(json.dumps(results))
    (folder / "README.md").write_text(f"before\n{tables.START}\nold\n{tables.END}\nafter\n")
    return folder


def command(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The one that makes everything."""
    given = ["--results", str(folder), "--root", str(folder), *more]
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.tables", *given],
        env=clean_environ(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_check_tells_what_is_not_up_to_date(tmp_path: Path) -> None:
    """README, page and plots, by name; it writes nothing."""
    before = written(tmp_path, RESULTS).joinpath("README.md").read_text()
    done = command(tmp_path, "--check")
    assert done.returncode == 1
    assert all(name in done.stdout for name in ("README.md", "measured.md", "measured-x.svg"))
    assert (tmp_path / "README.md").read_text() == before and not (tmp_path / "docs").exists()


def test_one_command_makes_all(tmp_path: Path) -> None:
    """After it ``--check`` is content, until a number changes."""
    pytest.importorskip("matplotlib")
    written(tmp_path, RESULTS)
    assert command(tmp_path).returncode == 0
    assert command(tmp_path, "--check").returncode == 0
    written(tmp_path, {**RESULTS, "runs": [run("default", 60.0), *RUNS[1:]]})
    assert "measured-x.svg" in command(tmp_path, "--check").stdout


def test_only_what_is_between_the_markers_changes(tmp_path: Path) -> None:
    """The rest of README is its author's; what has no verdict is not there."""
    written(tmp_path, {**RESULTS, "runs": [*in_turns(*[(50.0, 40.0)] * 6), *RUNS[-1:]]})
    text = tables.stale_texts(tmp_path, outcomes(tmp_path))[tmp_path / "README.md"]
    assert text.startswith(f"before\n{tables.START}\n| program") and text.endswith(f"{tables.END}\nafter\n")
    assert "old" not in text and "| `fsdp` | 50.00 ms | 40.00 ms | 1.250 |" in text
    written(tmp_path, RESULTS)
    assert "fsdp" not in tables.stale_texts(tmp_path, outcomes(tmp_path))[tmp_path / "README.md"]


def test_what_decides_nothing_is_not_told() -> None:
    """A single pair, what is no preset for the program, and what was decided since on the same GPUs and jaxlib; another jaxlib's pairs are."""
    newer = outcome_of("newer", {**RESULTS, "runs": in_turns(*[(50.0, 40.0)] * 6)})
    text = page(worth_telling([newer, outcome_of("older", RESULTS)]), [])
    title = f"| {WORKLOADS['fsdp_comm'].title} | 2 x H200"
    assert [line.split(" | ")[2] for line in text.splitlines() if line.startswith(title)] == ["`fsdp`"]
    assert ", earlier, by fewer pairs" not in text and "none yet" not in text.partition("## ")[2]
    other = {**MACHINE, "jaxlib": "0.12.0.1"}
    apart = page(worth_telling([newer, outcome_of("older", {**RESULTS, "machines": [other, other]})]), [])
    assert sum(line.startswith(title) for line in apart.splitlines()) == 2 and "none yet (2 pairs)" in apart


def test_failed_runs_are_told(tmp_path: Path) -> None:
    """A variant that did not run is no gap in a table."""
    written(tmp_path, RESULTS)
    assert "decode with decode failed: `RuntimeError: no peer`" in page(outcomes(tmp_path), [])


def test_the_committed_tables_are_what_the_results_say() -> None:
    """README, the page and the plots, as CI checks them."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.tables", "--check"],
        env=clean_environ(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


COMMITTED = outcomes(ROOT / "benchmarks" / "results")
MAINTAINED = [
    (outcome, workload, preset, row)
    for outcome in COMMITTED
    for workload in outcome.rows
    for preset in WORKLOADS[workload].presets
    if (row := outcome.row(workload, preset)) and row.variant != DEFAULT
]
"""What was measured of every maintained preset that sets something, on the workloads it is for."""
IDS = [f"{outcome.name}, {workload}, {preset}" for outcome, workload, preset, _ in MAINTAINED]


LOSS_OFF = {"ppo": 0.01, "ppo_visible": 0.01, "transformer": 0.03, "pipeline": 0.005}
"""Where actions are drawn by chance, a sum in another order leads to another game; that it learns is what counts. The equinox
transformer's loss leaps in its first ten steps, from 6 to 43 and back: two runs of the default differ by 1.1 % at the tenth. So
does that of the stages: two runs of the default differ by 0.7 %."""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks" / "results").glob("suite-*.json")), ids=lambda path: path.stem
)
def test_no_variant_keeps_a_program_from_what_it_computes(path: Path) -> None:
    """Wherever the default of a pair came to the number that a program is checked by, so did the other."""
    runs = [run for run in json.loads(path.read_text())["runs"] if run.get("check")]
    right = {_pair(run) for run in runs if run["variant"] == DEFAULT and run["check"].endswith(": yes")}
    assert [
        (run["workload"], run["variant"]) for run in runs if _pair(run) in right and not run["check"].endswith(": yes")
    ] == []


def _pair(run: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(run.get(name) for name in ("workload", "machine", "turn", "round", "lane"))


@pytest.mark.parametrize(("outcome", "workload", "preset", "row"), MAINTAINED, ids=IDS)
def test_no_maintained_preset_is_slower(outcome: Any, workload: str, preset: str, row: Row) -> None:
    """At least 0.99 of the default, and not slower in all pairs of processes; its losses are the default's."""
    assert row.speed.value >= 0.99
    assert row.speed.high >= 1
    assert row.loss_off < LOSS_OFF.get(workload, 0.003)


@pytest.mark.parametrize(("outcome", "workload", "preset", "row"), MAINTAINED, ids=IDS)
def test_a_preset_states_what_was_measured_of_it(outcome: Any, workload: str, preset: str, row: Row) -> None:
    """In its evidence: the times, and the speed with its range."""
    evidence = " ".join(load_preset(preset).evidence)
    assert str(row.speed) in evidence, f"{row.default_ms:.2f} and {row.step_ms:.2f} ms, {row.speed}"
    assert f"{row.default_ms:.2f}" in evidence


@pytest.mark.parametrize(("outcome", "workload", "preset", "row"), MAINTAINED, ids=IDS)
def test_what_was_measured_is_what_is_set_today(outcome: Any, workload: str, preset: str, row: Row) -> None:
    """A preset that has changed since is to be measured anew."""
    one = WORKLOADS[workload].devices == "one"
    machine = {**outcome.machine, "gpus": outcome.machine["gpus"][: 1 if one else None]}
    base = {"XLA_FLAGS": row.flags}
    made = jaxgpu_tune.environ(preset, base=base, machine=machine, prefer="preset")
    today = {name: text for name, text in made.items() if base.get(name) != text and not name.startswith("JAXGPU_TUNE")}
    assert _in_any_order(row.settings) == _in_any_order(today)


def _in_any_order(settings: Mapping[str, str | None]) -> dict[str, set[str]]:
    return {name: set((text or "").split()) for name, text in settings.items()}


def test_no_published_set_beats_a_maintained_preset_on_its_own_program() -> None:
    """Where both have a verdict, the preset's range reaches that of every published set, or is above it."""
    published = [preset.name for preset in jaxgpu_tune.presets() if preset.kind == "published"]
    beaten = [
        (outcome.name, workload, preset, other)
        for outcome, workload, preset, row in MAINTAINED
        for other in published
        if (rival := outcome.row(workload, other)) and "undecided" not in (row.speed.word, rival.speed.word)
        if rival.speed.low > row.speed.high
    ]
    assert beaten == []


def test_fsdp_simulation_and_while_loop_gain_what_they_are_for() -> None:
    """On every release that was measured: FSDP with few tokens a GPU, PPO and the RL scan, loops of unknown length, 10 %."""
    gains = [
        row.speed.value
        for _, workload, _, row in MAINTAINED
        if workload in ("fsdp_comm", "fsdp_first", "ppo", "rl_scan", "ode", "mcmc")
    ]
    assert len(gains) >= 7 and min(gains) >= 1.10


def test_no_result_names_a_path_of_the_machine_that_it_came_from() -> None:
    """Tracebacks of failed runs begin at the repository's root."""
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        assert re.findall(r"(?<![\w.~])/(?:home|root|work|Users|mnt|workspace)/\S*", path.read_text("utf-8")) == [], (
            path.name
        )
    assert without_root(f'File "{ROOT}/benchmarks/measure.py", line 1') == 'File "benchmarks/measure.py", line 1'


def test_the_fsdp_preset_states_what_its_trace_says() -> None:
    """Exposed communication, by how weights are cut."""
    last, last_fsdp, first, first_fsdp = steps.read(ROOT / "benchmarks" / "results")
    evidence = " ".join(load_preset("fsdp").evidence)
    for before, after in ((last, last_fsdp), (first, first_fsdp)):
        assert f"from {before.parts['exposed']:.1f} to {after.parts['exposed']:.1f} ms" in evidence


NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eleven": 11}
RANGE = re.compile(r"\d\.\d{3} \(\d\.\d{3} to \d\.\d{3}\)")


@pytest.mark.parametrize("preset", jaxgpu_tune.presets(), ids=lambda preset: preset.name)
def test_evidence_claims_what_the_results_hold(preset: Any) -> None:
    """Each speed with its range is in the file that its line names, by as many pairs as the line says; fewer than six decide nothing, and say so."""
    for line in preset.evidence:
        names = re.findall(r"results/suite-(\S+)\.json", line)
        said = [NUMBERS[word.lower()] for word in re.findall(rf"(?i)\b({'|'.join(NUMBERS)}) pairs", line)]
        rows = [row for one in COMMITTED if one.name in names for these in one.rows.values() for row in these]
        held = {(str(row.speed), row.pairs) for row in rows}
        assert [speed for speed in RANGE.findall(line) if (speed, *said[:1]) not in held] == [], line
        assert not said or min(said) >= 6 or "fewer than a verdict takes" in line or "bisect" in line


def test_no_text_claims_a_speed_by_a_single_run() -> None:
    """Neither what presets, notes, hazards, advice and the search say, nor the pages that are written by hand."""
    data = ROOT / "jaxgpu_tune" / "knowledge" / "data"
    texts = [*data.glob("*.toml"), *data.glob("presets/*.toml"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    single = re.compile(
        r"(?i)\b(?:single (?:runs?|pairs?)|one (?:process|run|pair) each|one or two (?:runs|pairs)|by one pair|H100[^\n]{0,40}\b[01]\.\d\d)"
    )
    assert {path.name: found for path in texts if (found := single.findall(path.read_text("utf-8")))} == {}


STARTS = {
    "no settings": DEFAULT,
    "a filled compilation cache": "compilation cache, second start",
    "`fast_compile`": "fast_compile",
    "a filled autotune cache": "autotune cache, second start",
    "`xla_gpu_experimental_enable_fusion_autotuner=false`": "no autotuning of fusions",
    "`xla_gpu_blas_max_algorithms=16`": "16 algorithms",
}
"""The rows of the table of starts, and the variants that they are of."""


def _start_seconds(workload: str, variant: str) -> tuple[str, int]:
    """The shortest and the longest start in words, and how many there were."""
    found = json.loads((ROOT / "benchmarks" / "results" / "suite-h200-0.11.2.json").read_text())["runs"]
    these = [run for run in found if (run["workload"], run["variant"]) == (workload, variant) and run["round"] >= 0]
    seconds = sorted(run["step_ms"][0] / 1e3 for run in these)
    digits = 0 if seconds[0] >= 10 else 1
    return f"{seconds[0]:.{digits}f} to {seconds[-1]:.{digits}f}", len(seconds)


def test_the_table_of_starts_is_what_they_took() -> None:
    page = (ROOT / "docs" / "use.md").read_text("utf-8")
    for title, variant in STARTS.items():
        cells = [_start_seconds(name, variant) for name in ("vit_start", "diffusion_start", "stencil_start")]
        assert f"| {title} | {' | '.join(f'{took} ({count})' for took, count in cells)} |" in page


def test_what_is_said_of_the_first_step_is_what_its_starts_took() -> None:
    evidence = " ".join(load_preset("fast_compile").evidence)
    advised = next(one.evidence for one in advice_rules() if one.code == "slow-start")
    for name, program in (("vit_start", "vision transformer"), ("diffusion_start", "diffusion net")):
        (default, starts), (fast, fewer) = _start_seconds(name, DEFAULT), _start_seconds(name, "fast_compile")
        assert f"{program} {fast} s with it ({fewer} starts), {default} s by default ({starts} starts)" in evidence
        cached, again = _start_seconds(name, "compilation cache, second start")
        assert f"{starts} starts took {default} s by default, {again} starts" in advised
        assert f"{cached} s" in advised and cached in evidence
    assert f"and {_start_seconds('stencil_start', 'compilation cache, second start')[0]} s." in evidence


def test_fast_compile_states_what_it_did_to_eleven_workloads() -> None:
    """Compilation and steps of the default by those with it, the least, the most and the median over workloads."""
    found = json.loads((ROOT / "benchmarks" / "results" / "suite-h200x2-0.11.2.json").read_text())["runs"]
    good = [run for run in found if "error" not in run and not run.get("alone")]
    compiled, faster = [], []
    for mine in (run for run in good if run["variant"] == "fast_compile"):
        place = ("workload", "machine", "flags")
        others = [run for run in good if run["variant"] == DEFAULT and all(run.get(k) == mine.get(k) for k in place)]
        compiled.append(mine["compile_seconds"] / max(run["compile_seconds"] for run in others))
        faster.append(median(median(run["step_ms"]) for run in others) / median(mine["step_ms"]))
    assert len(compiled) == 11
    (line, *_) = load_preset("fast_compile").evidence
    for values, words in ((compiled, "of the default's time"), (faster, "of its speed")):
        assert f"{min(values):.2f} to {max(values):.2f} {words}, in the median {median(values):.2f}" in line


def test_what_is_said_of_one_process_a_gpu_is_what_was_measured() -> None:
    """Data parallel in milliseconds, FSDP by how many times as fast as the default; beside one process for all."""
    outcome = next(one for one in COMMITTED if one.name == "h200-0.11.2")
    page = " ".join((ROOT / "docs" / "use.md").read_text("utf-8").split())
    plain = outcome.row("data_parallel", "default, one process a GPU")
    apart, together = (outcome.row("fsdp_first", name) for name in ("fsdp, one process a GPU", "fsdp"))
    assert plain and apart and together and plain.speed.word == "no-difference"
    assert (
        f"took {plain.step_ms:.2f} ms with one process per GPU, and {plain.default_ms:.2f} ms with one process" in page
    )
    assert f"was {apart.speed.value:.3f} and {together.speed.value:.3f} times as fast" in page


@pytest.mark.parametrize("preset", ["fsdp", "data_parallel", "pipeline_parallel", "decode"])
def test_readme_says_by_how_much_a_preset_gains(preset: str) -> None:
    """Of programs on several GPUs: the least and the most of those that it makes faster, by a verdict."""
    gains = sorted(row.speed.value for _, _, name, row in MAINTAINED if name == preset and row.speed.word == "faster")
    told = f"{gains[0]:.2f}" + (f" to {gains[-1]:.2f}" if len(gains) > 1 else "")
    assert f"| `{preset}` | {told} |" in (ROOT / "README.md").read_text("utf-8")
