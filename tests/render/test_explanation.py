"""An explanation as text: the name, then a line for each fact that there is."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.model import Explanation
from jaxgpu_tune.render.explanation import explanation_text

TEXTS = {"does": "does", "trap": "traps", "here": "here", "type": "type", "source": "source"}
LISTS = {"values": ("values", ", "), "presets": ("presets", "; "), "elsewhere": ("translations", "; "), "hazards": ("hazards", " ")}  # fmt: skip
EACH = {"sets": "sets", "advice": "advice", "evidence": "evidence"}


@given(
    st.sampled_from(["xla_flag", "jax_config"]),
    st.fixed_dictionaries({}, optional={name: st.sampled_from(["", "a b"]) for name in TEXTS.values()}),
    st.fixed_dictionaries(
        {},
        optional={
            name: st.sampled_from([(), ("x",), ("x", "y")])
            for name in (*(name for name, _ in LISTS.values()), *EACH.values())
        },
    ),
    st.sampled_from([(), (("0.4.0", None),), (("0.4.0", "0.5.0"), ("0.6.0", None))]),
)
def test_a_line_for_each_fact(kind: Any, texts: dict[str, str], lists: dict[str, Any], life: Any) -> None:
    """Spans of jaxlib's releases are a flag's alone."""
    told = Explanation(kind, "name", life=life, **texts, **lists)
    first, *lines = explanation_text(told).splitlines()
    expected = {f"  {key}: {texts[name]}" for key, name in TEXTS.items() if texts.get(name)}
    expected |= {f"  {key}: {joint.join(lists[name])}" for key, (name, joint) in LISTS.items() if lists.get(name)}
    expected |= {f"  {key}: {one}" for key, name in EACH.items() for one in lists.get(name, ())}
    spans = {1: "0.4.0 on", 2: "0.4.0 to 0.5.0, 0.6.0 on"}
    expected |= {f"  in jaxlib: {spans[len(life)]}"} if life and kind == "xla_flag" else set()
    assert first == "name" and set(lines) == expected and len(lines) == len(expected)


def test_settings_of_one_place_are_one_line() -> None:
    """In the order of the first of each; a value may hold commas, and what says no place stands alone."""
    sets = ("--a=1, where devices >=2; measured", "--b=X, anywhere; unmeasured", "--c=Y,Z, where devices >=2; measured")
    lines = explanation_text(Explanation("preset", "name", sets=(*sets, "--d", "--e"))).splitlines()
    assert lines[1:] == [
        "  sets: --a=1, --c=Y,Z, where devices >=2; measured",
        "  sets: --b=X, anywhere; unmeasured",
        "  sets: --d",
        "  sets: --e",
    ]
