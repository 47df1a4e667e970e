"""``tune`` over real programs, as it is typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune.cli.tune import PARAMETERS, _how, wanted_candidates
from jaxgpu_tune.errors import BadSetting
from tests.child import clean_environ
from tests.cli.typed import call, measured, tunable


@pytest.mark.slow
def test_tune_finds_what_pays_and_survives_what_crashes_hangs_lies_and_ends_it(tmp_path: Path) -> None:
    """Ctrl-C gives the answer so far; a later start goes on there, and one after the end runs nothing."""
    tried = ("FAST=1", "SLOW=1", "CRASH=1", "WRONG=1", "NAN=1", "HANG=1")
    options = [word for one in tried for word in ("--try-env", one)]
    words = (
        "tune",
        "--only",
        "--budget",
        "12m",
        "--seconds",
        "0.4",
        "--timeout",
        "12s",
        "--json",
        *options,
        *tunable(),
    )
    before = interrupted(tmp_path, *words)
    ended = measured(tmp_path, *words)
    assert ended.status == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["trials"][: len(before)] == before and len(told["trials"]) > len(before)
    assert told["path"] == "tuned.toml"
    assert told["settings"] == [["env", "FAST", "1"]]
    assert 1.5 < told["gain"] < 2.2
    outcomes = {one["name"].split()[0]: one["why"].split(":")[0] for one in told["did"]}
    assert outcomes["CRASH=1"] == "died"
    assert outcomes["WRONG=1"] == "wrong-numbers"
    assert outcomes["NAN=1"] in ("wrong-numbers", "nan")
    assert outcomes["HANG=1"] == "hang"
    here = jaxgpu_tune.environ(str(tmp_path / "tuned.toml"), base=clean_environ(JAX_PLATFORMS="cpu"))
    assert here["FAST"] == "1"
    assert json.loads(measured(tmp_path, *words).stdout)["trials"] == told["trials"]


def interrupted(folder: Path, *words: str) -> list[dict[str, object]]:
    """The runs that are kept of a tuning which Ctrl-C ends after the first."""
    code = "import sys\nfrom jaxgpu_tune.cli import main\nmain(sys.argv[1:])"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=folder, env=clean_environ(), stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    heading, *runs = [child.stderr.readline() for _ in range(2)]
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=300)[1]
    assert child.returncode == 130
    assert "every finished run is kept" in rest
    kept = list(json.loads((folder / "tuned.json").read_text())["trials"])
    assert "settings" in heading and len(kept) >= len(runs)
    return kept


@pytest.mark.usefixtures("this_jaxlib")
def test_what_pays_is_proven_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program that tells a number; what is tried is what was asked for, and the answer names its files."""
    monkeypatch.chdir(tmp_path)
    words = (
        "tune",
        "--only",
        "--try-env",
        "FAST=1",
        "--try-env",
        "SLOW=1",
        "--metric",
        r"took (\d+)",
        "--out",
        "a/best.toml",
    )
    program = ("--", "sh", "-c", "echo took $((20 - ${FAST:-0} * 10 + ${SLOW:-0} * 5))")
    (tmp_path / "a").mkdir()
    done = call(*words, *program)
    assert done.exit_code == 0, done.output
    assert "2.000 times as fast as what you have (2.000 to 2.000 in 6 fresh pairs) with FAST=1" in done.stdout
    assert done.stdout.endswith("Every run: a/best.json, a/best.html\n") and "one change      FAST=1" in done.stderr
    assert (tmp_path / "a" / "best.html").stat().st_size > 1000
    ended = call(*words, "--json", *program)
    told = json.loads(ended.stdout)
    assert told["settings"] == [["env", "FAST", "1"]] and told["gain"] == 2.0 and "fresh pairs" not in ended.stderr
    assert {name for trial in told["trials"] for _, name, _ in trial["config"]} == {"FAST", "SLOW"}


@pytest.mark.usefixtures("this_jaxlib")
def test_wrong_use_is_told_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for words, said in (
        (("--budget", "soon"), "--budget 'soon'"),
        (("--metric", "("), "regular expression"),
        (("--kind", "loop"), "Did you mean 'loops'?"),
        (("--tolerance", "2"), "--tolerance '2'"),
        (("--only",), "--only leaves nothing to try. Say what to try: --preset"),
        (("--try-flag", "xla_gpu_autotune_leve=3"), "xla_gpu_autotune_level"),
    ):
        ended = call("tune", *words, "--", "true")
        assert ended.exit_code == 2, words
        assert said in " ".join(ended.stderr.split()), words
    assert list(Path().iterdir()) == []


def test_how_the_program_is_run_and_judged() -> None:
    """Beside the name of the preset, several at once unless that is refused or whole runs are timed; numbers within one percent."""
    absent = {one.name: one.absent for one in PARAMETERS}
    how = _how(("a",), {**absent, "out": "there/best.toml"})
    assert (how.command, how.tolerance, how.early, how.clock) == (("a",), 0.01, True, "steps")
    assert how.folder.parent.name == "there"
    assert [_how(("a",), {**absent, name: True}).early for name in ("whole", "alone")] == [False, False]
    for text, value in (("0", 0.0), ("5%", 0.05), ("0.99", 0.99)):
        assert _how(("a",), {**absent, "tolerance": text}).tolerance == value
    for text in ("1", "-0.1", "much"):
        with pytest.raises(BadSetting, match="--tolerance"):
            _how(("a",), {**absent, "tolerance": text})


def test_what_is_tried_beyond_what_is_known() -> None:
    """Each as it is typed, and checked; an option's value is a number where it reads as one."""
    typed = {
        "try_flag": ("xla_gpu_autotune_level=3",),
        "try_env": ("NCCL_ALGO=Ring",),
        "try_config": ("jax_enable_x64=true",),
    }
    found = wanted_candidates(typed)
    assert len(found) == 3 and all(name.partition("=")[0] in str(found) for names in typed.values() for name in names)
    assert wanted_candidates(dict.fromkeys(typed, ())) == ()
    for option, name in (("try_flag", "--try-flag"), ("try_env", "--try-env"), ("try_config", "--try-config")):
        with pytest.raises(BadSetting, match=name):
            wanted_candidates({**dict.fromkeys(typed, ()), option: ("word",)})
