"""Promise 1 on real wheels: whatever is emitted for a release, the parser in that release's own wheel takes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.child import ROOT
from tests.oracle import Oracle
from tools import check_plans

RELEASES = ("0.4.30", "0.5.3", "0.8.1", "0.10.2", "0.11.2", "0.12.0.1")
"""The installed one answers for itself."""


def test_the_installed_jaxlib_takes_every_planned_text() -> None:
    with Oracle() as oracle:
        texts = sorted({*check_plans.planned(oracle.version), *check_plans.translated(oracle.version)})
        answers = dict(zip(texts, oracle.ask(texts), strict=True))
    assert len(texts) > 20
    assert not {text: answer.message for text, answer in answers.items() if not answer.accepted}


def test_this_check_can_fail() -> None:
    with Oracle() as oracle:
        (answer,) = oracle.ask(["--xla_gpu_enable_async_collectives=true"])
    assert not answer.accepted


@pytest.mark.slow
@pytest.mark.parametrize("release", [release for release in RELEASES if release != version("jaxlib")])
def test_the_wheel_of_a_release_takes_every_planned_text(release: str) -> None:
    command = [sys.executable, "-m", "tools.check_plans", release]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
