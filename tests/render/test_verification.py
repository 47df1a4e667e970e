"""A verification as text: how it ended and where, then each setting, the worst first."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.model import Finding
from jaxgpu_tune.proof.verification import Verification, Verified
from jaxgpu_tune.render.verification import render_verification, render_verification_html

BAD_FIRST = ("ignored", "overwritten", "overridden", "unreadable", "effective")
ITEMS = st.lists(
    st.builds(
        Verified,
        kind=st.sampled_from(["env", "xla_flag"]),
        name=st.sampled_from("ab"),
        value=st.sampled_from([None, "", "1"]),
        status=st.sampled_from(BAD_FIRST),
        why=st.just("Why."),
        found=st.sampled_from([None, "1", "2"]),
    ),
    max_size=5,
)


@settings(max_examples=20)
@given(ITEMS, st.sampled_from([None, "gpu"]), st.sampled_from([None, "note", "warning"]))
def test_each_setting_the_worst_first(items: list[Verified], platform: Any, severity: Any) -> None:
    """What was read back is shown where it is another value."""
    findings = () if severity is None else (Finding("code", severity, "Mind <this>."),)
    found = Verification(tuple(items), findings, platform, 2)
    text = render_verification(found, 200).splitlines()
    statuses = [item.status for item in items]
    counts = ", ".join(f"{statuses.count(one)} {one}" for one in BAD_FIRST[::-1] if one in statuses)
    ok = "not ok" if severity == "warning" else "ok"
    where = " on 2 x gpu" if platform else ""
    assert text[0] == f"jaxgpu_tune verify: {ok}{where}; {counts or 'no settings'}"
    shown = [line for line in text[1:] if line.endswith(")") and " = " in line]
    in_order = sorted(items, key=lambda item: BAD_FIRST.index(item.status))
    values = {None: "(removed)", "": "(empty)", "1": "1"}
    dashes = {"env": "", "xla_flag": "--"}
    assert shown == [f"  {dashes[one.kind]}{one.name} = {values[one.value]} ({one.status})" for one in in_order]
    reasons = [line for line in text if line.startswith("      Why.")]
    assert reasons == [
        "      Why." + (f" [read back: {one.found}]" if one.found not in (None, one.value) else "") for one in in_order
    ]
    page = render_verification_html(found)
    assert page.count("<tr>") >= len(items) and ("Mind &lt;this&gt;." in page) is (severity is not None)
    assert page.count("[read back:") == sum("[read back" in line for line in reasons)
