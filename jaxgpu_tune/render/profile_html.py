"""A profile for a notebook, and as one page with a timeline to zoom into: no server, no script from elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from html import escape

from ..own_files import PACKAGE, own_text
from .html import boxed, folded, table_html
from .profile import PART_NAMES, collective_rows, head_lines, host_lines, kernel_rows, part_remark, rank_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..knowledge.advice import Advice
    from ..measure.profile import Profile
    from ..measure.timeline import Timeline


__all__ = ["COLOURS", "profile_html", "profile_page"]

COLOURS = {
    "computing": "#4c78a8",
    "copies": "#72b7b2",
    "exposed_communication": "#e45756",
    "cuda_graphs": "#9d7fc1",
    "idle_host": "#bab0ac",
    "idle_launches": "#d8d0cb",
    "idle_peer": "#f2cf5b",
}
"""The parts'; each name stands beside its colour everywhere."""
ROWS = 12
BAR = "display:flex;height:22px;max-width:60em;border-radius:3px;overflow:hidden;margin:.5em 0"


def profile_html(profile: Profile) -> str:
    """One ``<div>`` with its own style: the parts as a bar and a table, collectives, kernels, advice."""
    tables = [
        folded("What is communicated", _table(collective_rows(profile, ROWS))),
        folded("Kernels", _table(kernel_rows(profile, ROWS))),
    ]
    heads = "<br>".join(
        f"<strong>{escape(line)}</strong>" if n == 0 else escape(line) for n, line in enumerate(head_lines(profile))
    )
    told = [f"<p>{escape(text)}</p>" for text in (*rank_lines(profile), *host_lines(profile), *profile.notes)]
    return boxed(heads, _bar(profile), _parts(profile), *map(_advice, profile.advice), *tables, *told)


def profile_page(profile: Profile) -> str:
    """A whole HTML page: what ``profile_html`` shows, everything unfolded, and the timeline."""
    template = own_text(os.path.join(PACKAGE, "render", "timeline.html"))
    title = " ".join(profile.command) or profile.function or "profile"
    data = json.dumps(_drawn(profile.timeline), separators=(",", ":")).replace("<", "\\u003c")
    body = profile_html(profile).replace("<details>", "<details open>")
    return template.replace("@TITLE@", escape(title)).replace("@BODY@", body).replace("@DATA@", data)


def _bar(profile: Profile) -> str:
    if not profile.parts or not profile.traced_ms:
        return ""
    shares = {name: value / profile.traced_ms for name, value in profile.parts.items() if value > 0}
    pieces = (
        f'<span title="{PART_NAMES[name]}: {profile.parts[name]:.2f} ms" style="width:{share:.3%};background:{COLOURS[name]}"></span>'
        for name, share in shares.items()
    )
    return f'<div style="{BAR}">{"".join(pieces)}</div>'


def _parts(profile: Profile) -> str:
    if not profile.traced_ms:
        return ""
    return table_html(("part", "ms", "share", "min to max over GPUs", ""), list(_part_rows(profile, profile.traced_ms)))


def _part_rows(profile: Profile, whole: float) -> Iterable[tuple[str, ...]]:
    for name, value in profile.parts.items():
        low, high = profile.ranges.get(name, (value, value))
        if high > 0:
            square = f'<span style="color:{COLOURS[name]}">&#9632;</span> {escape(PART_NAMES[name])}'
            yield (
                square,
                f"{value:.2f}",
                f"{value / whole:.0%}",
                f"{low:.2f} to {high:.2f}",
                escape(part_remark(profile, name)),
            )
    yield "together, as traced", f"{whole:.2f}", "", "", ""


def _table(rows: list[tuple[str, ...]]) -> str:
    return table_html(rows[0], [tuple(map(escape, row)) for row in rows[1:]]) if rows else ""


def _advice(one: Advice) -> str:
    source = f'<a href="{escape(one.source)}">source</a>'
    parts = f"{escape(one.message)} <code>{one.code}</code><br>{escape(one.do)}<br><em>Measured: {escape(one.evidence)}</em> {source}"
    return f'<p class="note">{parts}</p>'


def _drawn(timeline: Timeline) -> dict[str, Any]:
    """The timeline with each text once: a block is [start, length, name, detail] in microseconds and numbers of texts."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    lanes = [
        {
            "gpu": lane.gpu.removeprefix("/device:"),
            "name": lane.name,
            "kind": lane.name.split(" ")[0],
            "blocks": [
                [round(b.start_us, 3), round(b.length_us, 3), number(b.name), number(b.detail)] for b in lane.blocks
            ],
        }
        for lane in timeline.lanes
    ]
    edges = {gpu.removeprefix("/device:"): [round(edge, 3) for edge in found] for gpu, found in timeline.edges_us}
    return {"lanes": lanes, "edges": edges, "texts": list(texts), "leftOut": timeline.left_out}
