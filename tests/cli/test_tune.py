"""``tune`` and ``bisect`` over real programs, as they are typed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import jaxgpu_tune
from tests.child import ROOT, Ended, clean_environ
from tests.child import run as run_child

PROGRAM = ROOT / "tests" / "measure" / "programs" / "tunable.py"


def typed(folder: Path, *words: str, timeout: float = 2000, **environ: str) -> Ended:
    """One command line, in ``folder``."""
    code = "import sys\nfrom jaxgpu_tune.cli import main\nmain(sys.argv[1:])"
    return run_child(code, argv=words, cwd=folder, timeout=timeout, **environ)


def program(*words: str) -> tuple[str, ...]:
    return ("--", sys.executable, str(PROGRAM), *(words or ("100000",)))


@pytest.mark.slow
def test_tune_finds_what_pays_and_survives_what_crashes_hangs_and_lies(tmp_path: Path) -> None:
    tried = ("FAST=1", "SLOW=1", "CRASH=1", "WRONG=1", "NAN=1", "HANG=1")
    options = [word for one in tried for word in ("--try-env", one)]
    ended = typed(
        *(tmp_path, "tune", "--only", "--budget", "12m", "--seconds", "0.4", "--timeout", "12s", "--json", *options),
        *program(),
    )
    assert ended.status == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["settings"] == [["env", "FAST", "1"]]
    assert 1.5 < told["gain"] < 2.2
    outcomes = {one["name"].split()[0]: one["why"].split(":")[0] for one in told["did"]}
    assert outcomes["CRASH=1"] == "died"
    assert outcomes["WRONG=1"] == "wrong-numbers"
    assert outcomes["NAN=1"] in ("wrong-numbers", "nan")
    assert outcomes["HANG=1"] == "hang"
    here = jaxgpu_tune.environ(str(tmp_path / "tuned.toml"), base=clean_environ(JAX_PLATFORMS="cpu"))
    assert here["FAST"] == "1"
    again = typed(tmp_path, "tune", "--only", "--budget", "12m", "--seconds", "0.4", "--json", *options, *program())
    assert json.loads(again.stdout)["trials"] == told["trials"]


def test_wrong_use_is_told_before_anything_runs(tmp_path: Path) -> None:
    for words, said in (
        (("--budget", "soon"), "--budget 'soon'"),
        (("--metric", "("), "regular expression"),
        (("--kind", "loop"), "Did you mean 'loops'?"),
        (("--tolerance", "2"), "--tolerance '2'"),
        (("--try-flag", "xla_gpu_autotune_leve=3"), "xla_gpu_autotune_level"),
    ):
        ended = typed(tmp_path, "tune", *words, "--", "true")
        assert ended.status == 2, words
        assert said in ended.stderr, words
    assert list(tmp_path.iterdir()) == []


def preset(folder: Path, *names: str) -> str:
    """A preset of variables that the program reads, and of some that it does not."""
    tables = [f'[[set]]\nenv = "{name}"\nvalue = "1"\n' for name in names]
    (folder / "suspects.toml").write_text("\n".join(tables))
    return "suspects.toml"


def bisected(folder: Path, *words: str, status: int = 0) -> tuple[list[list[str]], int, str]:
    """The names of each guilty set, how many runs it took, and the answer."""
    ended = typed(folder, "bisect", "--seconds", "0.3", "--json", *words, *program())
    assert ended.status == status, ended.stderr
    told = json.loads(ended.stdout)
    return [[name for _, name, _ in one] for one in told["guilty"]], len(told["trials"]), told["answer"]


@pytest.mark.slow
def test_bisect_finds_one_that_crashes_and_a_pair_that_hangs(tmp_path: Path) -> None:
    names = [f"JAXTEST_{letter}" for letter in "ABCDE"]
    file = preset(tmp_path, *names, "CRASH")
    found, runs, answer = bisected(tmp_path, "--preset", file)
    assert found == [["CRASH"]]
    assert runs <= 12
    assert "confirmed by fresh runs" in answer
    assert bisected(tmp_path, "--preset", file)[1] == runs
    file = preset(tmp_path, *names[:2], "CLASH", "FAST")
    found, _, answer = bisected(tmp_path, "--preset", file, "--timeout", "9s", "--folder", "pair")
    assert found == [["CLASH", "FAST"]]
    assert "together" in answer


@pytest.mark.slow
def test_bisect_finds_what_is_slower_and_what_makes_it_nan(tmp_path: Path) -> None:
    file = preset(tmp_path, "JAXTEST_A", "SLOW", "JAXTEST_B", "JAXTEST_C")
    found, _, answer = bisected(tmp_path, "--preset", file, "--slower", "20%")
    assert found == [["SLOW"]]
    assert "slower" in answer and "confirmed" in answer
    file = preset(tmp_path, "JAXTEST_A", "NAN")
    found, _, _ = bisected(tmp_path, "--preset", file, "--nan", "--folder", "nan")
    assert found == [["NAN"]]


@pytest.mark.slow
def test_bisect_of_flags_takes_them_as_they_are_written(tmp_path: Path) -> None:
    """One that this build does not know ends the process; without a fault nothing is found."""
    flags = "--xla_cpu_multi_thread_eigen=true --xla_no_such_flag=1"
    found, runs, answer = bisected(tmp_path, "--flags", flags)
    assert found == [["xla_no_such_flag"]]
    assert runs <= 7
    assert "xla_no_such_flag" in answer
    none, _, answer = bisected(tmp_path, "--flags", flags, "--nan", "--folder", "none", status=1)
    assert none == []
    assert "do not show it" in answer


@pytest.mark.slow
def test_ctrl_c_gives_the_answer_so_far_and_a_later_start_goes_on(tmp_path: Path) -> None:
    words = ["tune", "--only", "--budget", "12m", "--seconds", "0.3", "--try-env", "FAST=1", *program()]
    code = "import sys\nfrom jaxgpu_tune.cli import main\nmain(sys.argv[1:])"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=tmp_path, env=clean_environ(), stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    lines = [child.stderr.readline() for _ in range(2)]
    child.send_signal(signal.SIGINT)
    rest = child.communicate(timeout=300)[1]
    assert child.returncode == 130
    assert "every finished run is kept" in rest
    before = json.loads((tmp_path / "tuned.json").read_text())["trials"]
    assert len(before) >= len(lines)
    done = typed(tmp_path, *words[:-4], "--json", *words[-4:])
    told = json.loads(done.stdout)
    assert told["trials"][: len(before)] == before
    assert told["path"] == "tuned.toml"
