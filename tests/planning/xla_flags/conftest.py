"""The parser of a real jaxlib, which is asked about texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flag_texts import Build, build_of
from tests.oracle import Oracle


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(cwd=tmp_path_factory.mktemp("flags")) as asked:
        yield asked


@pytest.fixture(scope="module")
def build(oracle: Oracle) -> Build:
    return build_of(oracle)
