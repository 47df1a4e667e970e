"""Whole texts and pages as they are shown, against the files in golden/: GOLDEN=write writes those anew; look at the difference."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.measure.profile import HostTimes, Profile
from jaxgpu_tune.model import Finding
from jaxgpu_tune.proof.verification import Verification, Verified
from jaxgpu_tune.render.comparison import comparison_html, comparison_text
from jaxgpu_tune.render.profile import profile_text
from jaxgpu_tune.render.profile_html import profile_html, profile_page
from jaxgpu_tune.render.tuned import tuned_html, tuned_page, tuned_text
from jaxgpu_tune.render.verification import render_verification, render_verification_html
from tests.goldens import golden
from tests.render import comparisons, profiles
from tests.render.test_tuned import TOLD, trial

GOLDEN = Path(__file__).with_name("golden")
BARE = Profile()
ONE = profiles.WHOLE._replace(
    gpus=profiles.WHOLE.gpus[:1],
    ranks=(),
    slow_rank=None,
    collectives=profiles.WHOLE.collectives[:2],
    host=HostTimes(compiled=1, compile_s=0.25),
    limit_bytes=None,
    memory=profiles.WHOLE.memory._replace(largest=()) if profiles.WHOLE.memory else None,
    communicating_ms=0.0,
    device="NVIDIA T4",
    step_ms=9.5,
    unnamed_ms=None,
    error=None,
    advice=(),
)
SEARCHED: dict[str, Any] = {
    **TOLD,
    "settings": [["env", "X", "<x>"], ["xla_flag", "xla_a", "1"]],
    "trials": [*TOLD["trials"], trial("slow", 40.0, "prune"), trial("fast", 5.0, "toggle")],
}
UNPROVED = {**TOLD, "path": None, "hazards": [], "findings": [], "did": TOLD["did"][:1], "settings": [], "contests": []}
READ_BACK = Verification(
    (
        Verified("xla_flag", "xla_a", "1", "effective", "XLA's options hold it", "1"),
        Verified("env", "NCCL_ALGO", None, "overwritten", "set to 'Ring' after configure()"),
        Verified("jax_config", "jax_enable_x64", "true", "ignored", "too <late>", "false"),
    ),
    (Finding("setting-ignored", "warning", "jax_enable_x64 (ignored): too <late>.", "Call configure() first."),),
    "gpu",
    8,
)
SHOWN: dict[str, Callable[[], str]] = {
    "profile.txt": lambda: profile_text(profiles.WHOLE, 100),
    "profile-narrow.txt": lambda: profile_text(profiles.WHOLE, 72),
    "profile-one.txt": lambda: profile_text(ONE, 100),
    "profile-bare.txt": lambda: profile_text(BARE, 100),
    "profile.html": lambda: profile_page(profiles.WHOLE).partition("<body>")[2].partition("<script>")[0],
    "profile-one.html": lambda: profile_html(ONE),
    "profile-bare.html": lambda: profile_html(BARE),
    "timeline.txt": lambda: next(line for line in profile_page(profiles.WHOLE).splitlines() if '"lanes"' in line),
    "comparison.txt": lambda: comparison_text(comparisons.WHOLE, 100),
    "comparison-failed.txt": lambda: comparison_text(comparisons.FAILED, 100),
    "comparison-alone.txt": lambda: comparison_text(comparisons.ALONE, 100),
    "comparison-equal.txt": lambda: comparison_text(comparisons.EQUAL, 100),
    "comparison.html": lambda: comparison_html(comparisons.WHOLE),
    "comparison-equal.html": lambda: comparison_html(comparisons.EQUAL),
    "verification.txt": lambda: render_verification(READ_BACK, 100),
    "verification.html": lambda: render_verification_html(READ_BACK),
    "tuned.txt": lambda: tuned_text(SEARCHED, 100),
    "tuned-unproved.txt": lambda: tuned_text(UNPROVED, 100),
    "tuned.html": lambda: tuned_page(SEARCHED),
    "tuned-unproved.html": lambda: tuned_html(UNPROVED),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(name: str) -> None:
    """A tag a line; the style is left out."""
    text = re.sub(r"<style>.*?</style>", "", SHOWN[name](), flags=re.DOTALL)
    text = text.replace("><", ">\n<").rstrip() + "\n"
    assert text == golden(GOLDEN / name, text)


def test_every_golden_file_is_shown() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == set(SHOWN)
