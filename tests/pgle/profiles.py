"""Any profile, for laws over both of its forms."""

from __future__ import annotations

from hypothesis import strategies as st

from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile, Latency

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: "::" not in name)
MICROSECONDS = st.floats(0, 1e12)
BOUND = st.one_of(st.just(""), st.from_regex(r"[0-9a-f]{32}", fullmatch=True))
PROFILES = st.builds(
    CostProfile,
    st.lists(st.builds(Cost, NAMES, MICROSECONDS, BOUND), max_size=6).map(tuple),
    st.lists(st.builds(Latency, NAMES, NAMES, MICROSECONDS), max_size=3).map(tuple),
)
