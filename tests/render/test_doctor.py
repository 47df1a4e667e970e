"""doctor's screen: the verdict by its findings, then what a bug report needs."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.render.doctor import doctor_text

FINDINGS = st.lists(st.sampled_from(["error", "warning", "note"]), max_size=4)
START = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"platform": st.sampled_from([None, "gpu"]), "devices": st.integers(0, 2), "seconds": st.just(1.5)}
    ),
)
NAMES = st.lists(st.sampled_from(["A", "B"]), unique=True)


@settings(max_examples=20)
@given(FINDINGS, START, NAMES, NAMES, NAMES)
def test_the_screen(severities: list[str], start: Any, mended: list[str], environ: list[str], sets: list[str]) -> None:
    """One error is one reason; what is empty is said, or left out."""
    findings = [{"code": f"c{n}", "severity": it, "message": "Wrong."} for n, it in enumerate(severities)]
    told = {"findings": findings, "facts": ["one GPU"], "software": ["jax 1"], "start": start, "mended": mended}
    told |= {"environ": dict.fromkeys(environ, "1"), "preset": "auto", "sets": sets, "presets": ["fsdp", "debug"]}
    lines = doctor_text(told, 100).splitlines()
    errors = severities.count("error")
    reasons = f"here, for {errors} reason{'' if errors == 1 else 's'}."
    assert lines[0].endswith(reasons) if errors else lines[0] == "Nothing keeps JAX from the GPU here."
    assert sum("Wrong." in line for line in lines) == len(severities)
    assert (f"configure() and jaxgpu-tune run repair {', '.join(mended)} as" in "\n".join(lines)) is bool(mended)
    started = [line for line in lines if "JAX started on" in line]
    shown = start is not None and start["platform"] is not None
    plural = "" if start and start["devices"] == 1 else "s"
    assert started == ([f"  JAX started on gpu with {start['devices']} device{plural} in 1.5 s"] if shown else [])
    place = lines.index("Environment")
    assert lines[lines.index("Machine") :][:3] == ["Machine", "  one GPU", "  jax 1"]
    assert lines[place + 1 : lines.index("Presets")] == (
        [f"  {name}=1" for name in environ] or ["  nothing that JAX reads is set"]
    )
    after = lines[lines.index("Presets") + 1 :]
    assert after[:2] == [f"  auto sets here: {', '.join(sets) or 'nothing'}", "  all of them: jaxgpu-tune presets"]
    assert [line.split(" -- ")[0] for line in after[2:]] == (
        [] if errors else ["Slow all the same?", "  jaxgpu-tune profile"]
    )
