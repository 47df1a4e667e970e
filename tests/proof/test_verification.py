"""What verify() answers, as a value."""

from __future__ import annotations

import json

import pytest

from jaxgpu_tune.model import Finding
from jaxgpu_tune.proof.verification import Verification, Verified
from jaxgpu_tune.values import jsonable

ITEM = Verified("env", "A", "1", "effective", "It is so.", "1")


@pytest.mark.parametrize(
    ("severities", "ok"), [((), True), (("note", "note"), True), (("note", "warning"), False), (("error",), False)]
)
def test_nothing_more_than_a_note_is_well(severities: tuple[str, ...], ok: bool) -> None:
    """Whatever could not be read; JSON says so, too."""
    findings = tuple(Finding(f"{n}", severity, "Told.") for n, severity in enumerate(severities))  # type: ignore[arg-type]
    found = Verification((ITEM, ITEM._replace(status="unreadable")), findings, "gpu", 8)
    assert found.ok is ok
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["ok"], told["platform"], told["devices"]) == (ok, "gpu", 8)
    assert told["items"][0] == jsonable(ITEM) and len(told["findings"]) == len(severities)
