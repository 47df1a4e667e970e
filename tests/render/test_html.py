"""A report as HTML: sound, escaped, with what matters open."""

from __future__ import annotations

from html.parser import HTMLParser

from jaxgpu_tune.model import Gpu, Machine
from jaxgpu_tune.render.html import folded, machine_html, render_html, table_html, value_html
from tests.render.written import EMPTY, FULL, LONG


class _Balance(HTMLParser):
    """Checks that every tag that opens is closed, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_well_formed_and_escapes_everything() -> None:
    """Markup in values and messages shows as text."""
    page = render_html(FULL)
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    assert "<b>unknown</b>" in parser.text and "--xla_<typo>" in parser.text and "right & well" in parser.text
    assert "<typo>" not in page


def test_html_folds_the_details_and_tells_findings_first() -> None:
    """What changes is open; reasons, notes, what is not emitted, the environment and the machine are folded."""
    page = render_html(FULL)
    assert page.index("This is wrong") < page.index(LONG) < page.index("<details>") < page.index("xla_unmet")
    assert page.count("<details>") == 5 and page.index("<details>") < page.index("Something to know")
    assert "<details>" not in render_html(EMPTY).replace("<details><summary>Machine", "")


def test_what_there_is_not_is_said_in_words() -> None:
    """No value, an empty one; a table or a fold without content is none at all."""
    assert (value_html(None), value_html(""), value_html("<x>")) == (
        "<em>nothing</em>",
        "<em>empty</em>",
        "<code>&lt;x&gt;</code>",
    )
    assert table_html(("a",), []) == folded("a", "") == ""
    assert (
        table_html(("a",), [("b",)])
        == "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>"
    )


def test_a_machine_has_a_row_for_each_gpu() -> None:
    """What a GPU does not tell is unknown; without one the facts alone are told."""
    unknown = Machine(gpus=(Gpu(0, name="NVIDIA <H100>", compute_capability="9.0"), Gpu(1)))
    page = machine_html(unknown)
    assert page.count("<tr>") == 3 and "NVIDIA &lt;H100&gt;" in page and page.count("<em>unknown</em>") >= 2
    assert "<tr>" not in machine_html(Machine(gpus=())) and "no GPU" in machine_html(Machine(gpus=()))


def test_a_secret_is_in_no_page() -> None:
    """Of the environment and of the settings."""
    page = render_html(FULL._replace(environ={**FULL.environ, "WANDB_API_KEY": "abc123"}))
    assert "WANDB_API_KEY" in page and "abc123" not in page
