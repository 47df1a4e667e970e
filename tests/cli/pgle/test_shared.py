"""What the commands of pgle have in common: the plan, what is refused, and what is told at the end."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune.cli.pgle.shared import plan_of, refuse, told
from jaxgpu_tune.errors import JaxGpuTuneError
from jaxgpu_tune.model import Finding

NOTE, WARNING, ERROR = (Finding(f"a-{name}", name, "Said.") for name in ("note", "warning", "error"))  # type: ignore[arg-type]


@pytest.mark.usefixtures("this_jaxlib")
def test_the_flags_of_a_command_join_those_that_are_typed() -> None:
    """Those of the command win; without any the plan is the preset's alone."""
    typed = {"preset": "fsdp", "flag": ("xla_gpu_autotune_level=2", "xla_dump_to=x")}
    report, environ = plan_of(typed, flags={"xla_dump_to": "y"})
    assert "--xla_gpu_autotune_level=2" in report.xla_flags and "--xla_dump_to=y" in report.xla_flags
    assert environ["XLA_FLAGS"] == report.xla_flags
    assert "xla_dump_to" not in plan_of({"preset": "fsdp"})[0].xla_flags


def test_errors_are_raised_together_and_nothing_else_is() -> None:
    refuse([NOTE, WARNING])
    with pytest.raises(JaxGpuTuneError) as raised:
        refuse([NOTE, ERROR, WARNING, ERROR._replace(code="another")])
    assert [one.code for one in raised.value.findings] == ["a-error", "another"]


def test_notes_are_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr; as JSON with what else there is, and nothing where nothing was found."""
    told([NOTE], as_json=False)
    assert "note (a-note): Said." in capsys.readouterr().err
    told([NOTE], as_json=True, folder="x")
    shown = json.loads(capsys.readouterr().err)
    assert shown["folder"] == "x" and shown["findings"][0]["code"] == "a-note"
    told([], as_json=False)
    assert capsys.readouterr() == ("", "")
