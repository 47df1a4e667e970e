"""Outside links: each is there still. Asked of the net, so on demand only: ``python -m pytest -m links tests/test_links.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("*.md", "docs/**/*.md", "jaxgpu_tune/**/*.toml", "jaxgpu_tune/**/*.py")
LINK = r"https?://[^\s<>\"'`)\]}|\\]+"
PLACEHOLDERS = r"example\.(com|org)|localhost|127\.0\.0\.1|//user|…|\.\.\.|[{*$]"
GONE = (404, 410)
SECONDS = 20


def links() -> dict[str, set[str]]:
    """Each link without its fragment, and the files that have it."""
    found: dict[str, set[str]] = {}
    for path in sorted({path for pattern in FILES for path in ROOT.glob(pattern)}):
        for link in re.findall(LINK, path.read_text(encoding="utf-8")):
            plain = link.split("#")[0].rstrip(".,;:")
            if not re.search(PLACEHOLDERS, plain):
                found.setdefault(plain, set()).add(str(path.relative_to(ROOT)))
    return found


def status(link: str) -> int | None:
    """What the server answers; None: it could not be reached."""
    try:
        with urlopen(Request(link, headers={"User-Agent": "Mozilla/5.0"}), timeout=SECONDS) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code
    except (URLError, OSError, ValueError):
        return None


def dead(found: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """The links of which the server says that they are gone; skips where no server can be reached."""
    with ThreadPoolExecutor(8) as pool:
        answers = dict(zip(found, pool.map(status, found), strict=True))
    if all(answer is None for answer in answers.values()):
        pytest.skip("no server can be reached")
    return {link: sorted(found[link]) for link, answer in answers.items() if answer in GONE}


@pytest.mark.links
def test_no_outside_link_is_dead() -> None:
    assert dead(links()) == {}


class Server(BaseHTTPRequestHandler):
    """Has one page."""

    def do_GET(self) -> None:
        """200 for /here, 404 for anything else."""
        self.send_response(200 if self.path == "/here" else 404)
        self.end_headers()

    def log_message(self, *_given: object) -> None:
        """Say nothing."""


def test_a_dead_link_is_found() -> None:
    """Asked of a server of this process."""
    with HTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        try:
            assert dead({f"{at}/here": {"a"}, f"{at}/gone": {"b"}}) == {f"{at}/gone": ["b"]}
        finally:
            server.shutdown()


def test_links_are_read_off_the_documents_and_the_tables() -> None:
    """And none leads to where JAX-Toolbox had its pages until they moved."""
    found = links()
    toolbox = "https://github.com/NVIDIA/JAX-Toolbox/blob/main/docs/GPU_performance.md"
    assert {"jaxgpu_tune/knowledge/data/notes.toml", "docs/flags.md"} <= found[toolbox] and len(found) > 50
    assert not [link for link in found if "JAX-Toolbox/blob/main/rosetta/docs" in link]
