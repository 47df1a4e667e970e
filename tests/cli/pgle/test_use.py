"""``pgle use``: a command with a profile, and what XLA said of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jaxgpu_tune.pgle.profile_files import write_profile
from jaxgpu_tune.pgle.sidecar import Sidecar, write_sidecar
from tests.cli.pgle.examples import PROFILE, pgle
from tests.cli.typed import call

HEAD = "1128 21:46:04.400022   13661"
SAYS = f"""
import os, sys
print(os.environ.get("XLA_FLAGS"), os.environ.get("JAX_COMPILATION_CACHE_DIR"))
say = sys.stderr.write
say("I{HEAD} gpu_hlo_schedule.cc:537] Found profile for module jit_f, using profile guided latency estimator\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:192] Found 9 instructions from the profile.\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:194] Missing 1 instructions from the profile.\\n")
say("W{HEAD} profile_guided_latency_estimator.cc:197]   all-gather-start\\n")
sys.exit(7)
"""


def test_use_sets_the_profile_and_tells_what_xla_said(tmp_path: Path) -> None:
    """The command's exit code stays; the cache is this profile's own, since the key holds its path and not its content."""
    path = write_profile(PROFILE, tmp_path / "p.pb")
    write_sidecar(path, Sidecar(PROFILE.digest, jaxlib="0.0.1", command=("python", "other.py")))
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "says.py").write_text(SAYS)
    done = pgle("use", str(path), "--", sys.executable, str(tmp_path / "says.py"), **cache)
    assert done.returncode == 7
    flags, folder = done.stdout.split()
    assert flags == f"--xla_gpu_pgle_profile_file_or_directory_path={path}"
    assert folder == str(tmp_path / "cache" / f"pgle-{PROFILE.digest}")
    assert "pgle-stale" in done.stderr and "jaxlib 0.0.1, now" in done.stderr and "other.py" in done.stderr
    assert "pgle-collectives-missing" in done.stderr and "9 costs of jit_f" in done.stderr
    assert "Found profile for module" not in done.stderr and "Found 9 instructions" in done.stderr


def test_use_in_json(tmp_path: Path) -> None:
    path = write_profile(PROFILE, tmp_path / "p.pb")
    done = pgle("use", str(path), "--json", "--", sys.executable, "-c", SAYS)
    told = json.loads(done.stderr[done.stderr.index("{") :])
    assert [one["code"] for one in told["findings"]] == ["pgle-used", "pgle-collectives-missing"]


KEEPS = f"""
import os, sys
open(os.path.join(os.environ["JAX_COMPILATION_CACHE_DIR"], "jit_f-0a-cache"), "w").close()
sys.stderr.write("I{HEAD} gpu_hlo_schedule.cc:537] Found profile for module jit_f, using profile guided latency estimator\\n")
"""


def test_what_was_recorded_is_used(tmp_path: Path) -> None:
    """By the same command, with the folder that the recording left; the plan's own warnings are told before it runs."""
    words = ("--store", str(tmp_path), "--json", "--", sys.executable, "-c", KEEPS)
    environ = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_gpu_enable_async_collectives=true"}
    done, used = (pgle(name, *words, **environ) for name in ("record", "use"))
    (mark,) = tmp_path.glob("*/recorded.json")
    for ended in (done, used):
        before, brace, after = ended.stderr.partition("{\n")
        told = json.loads(brace + after)
        assert (ended.returncode, told["folder"]) == (0, str(mark.parent))
        assert "warning (flag-translated)" in before and "Found profile for module jit_f" not in before
    assert [HEAD in line for line in told["lines"]] == [True]


@pytest.mark.usefixtures("this_jaxlib")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("absent.pb", "--", "true"), "absent.pb: No such file"),
        (("p.pb",), "-- COMMAND"),
        (("", "--", "true"), "the profile is empty"),
    ],
)
def test_what_cannot_be_used_is_refused(words: tuple[str, ...], told: str) -> None:
    """Before anything runs."""
    done = call("pgle", "use", *words)
    assert done.exit_code in (1, 2) and told in " ".join(done.stderr.split()) and not done.stdout
