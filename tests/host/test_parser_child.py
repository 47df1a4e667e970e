"""What the child makes of a parser's words, by parsers whose flags are known; and where a plugin's parser stands in its file."""

from __future__ import annotations

import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgpu_tune.host import parser_child as child

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and reads ELF files"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # by jax, where other tests have imported it
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # by Python, for its threads
]


def parser(ends: str, stream: int = 2) -> child.Parse:
    """A parser that knows --good*, refuses the value of --bad* and names what is unknown, as releases do."""

    def parse() -> None:
        flags = os.environ["XLA_FLAGS"].split()
        unknown = [flag for flag in flags if not flag.startswith(("--good", "--bad"))]
        if any(flag.startswith("--bad") for flag in flags):
            if ends != "logs":
                os.kill(os.getpid(), signal.SIGKILL)
            return
        known = "  --good=1" if ends == "names known" else ""
        os.write(
            stream, f"F0000 Unknown flags in XLA_FLAGS: {' '.join(unknown)}{known}\nand \xff more".encode("latin-1")
        )
        if ends == "goes on":
            return
        os._exit(1)

    return parse


NAMES = st.sampled_from(["good", "good2", "bad", "odd", "strange"])


@settings(max_examples=12)
@given(st.lists(NAMES, max_size=5), st.sampled_from(["ends", "logs", "names known"]), st.sampled_from([1, 2]))
def test_what_is_refused_is_what_is_unknown_or_has_a_bad_value(names: list[str], ends: str, stream: int) -> None:
    """Whatever a bad value hides, and on whichever stream it is said."""
    refused = child.refused_flags(parser(ends, stream), [f"--{name}={number}" for number, name in enumerate(names)])
    assert refused == sorted({name for name in names if not name.startswith("good")})


def test_a_parser_that_says_nothing_or_goes_on_is_not_believed() -> None:
    for parse in (lambda: None, lambda: os._exit(1), parser("goes on")):
        with pytest.raises(child.Unanswered, match="does not read XLA_FLAGS as known") as raised:
            child.refused_flags(parse, ["--good=1"])
        assert not raised.value.lasting


def test_a_parser_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "LIMIT", 1)
    with pytest.raises(child.Unanswered, match="did not read XLA_FLAGS within 1 seconds"):
        child.refused_flags(signal.pause, ["--good=1"])


def test_work_apart_tells_how_it_ended_and_what_it_wrote() -> None:
    """Bytes that are no text are replaced; what is changed there stays there."""
    assert child.apart(lambda pipe: os.write(pipe, b"a\xff")) == (0, "a\ufffd")
    assert child.apart(lambda _: os._exit(3)) == (3, "")
    assert child.apart(lambda _: os.abort())[0] == -signal.SIGABRT
    assert child.apart(lambda _: os.environ.update(APART="1")) == (0, "") and "APART" not in os.environ


def test_an_answer_that_is_none_says_why() -> None:
    """And whether it will ever be one."""
    task = {"flags": ["--odd=1", "--good=2"]}

    def missing() -> Any:
        raise ImportError("no such library")

    def stripped() -> Any:
        raise child.Unanswered("it has no symbol table", lasting=True)

    assert child._answer(lambda: parser("ends"), task) == {"refused": ["odd"]}
    assert child._answer(missing, task) == {"unanswered": "ImportError: no such library", "lasting": False}
    assert child._answer(stripped, task) == {"unanswered": "it has no symbol table", "lasting": True}


def elf(*symbols: tuple[bytes, int], tables: tuple[int, ...] = (2, 3), before: bytes = b"") -> bytes:
    """A 64-bit ELF file with a symbol table of these names and places. ``before``: in the names, before them."""
    names = b"\0" + before + b"".join(name + b"\0" for name, _ in symbols)
    at, entries = len(names) - sum(len(name) + 1 for name, _ in symbols), bytes(24)
    for name, value in symbols:
        entries += struct.pack("<IBBHQQ", at, 0, 0, 0, value, 8)
        at += len(name) + 1
    start = 64 + len(entries) + len(names)
    sections = {2: (2, 64, len(entries)), 3: (3, 64 + len(entries), len(names))}
    headers = [struct.pack("<IIQQQQIIQQ", 0, *[0] * 9)]
    for number, kind in enumerate(tables, start=1):
        known, offset, size = sections[kind]
        link = tables.index(3) + 1 if kind == 2 and 3 in tables else number
        headers.append(struct.pack("<IIQQQQIIQQ", 0, known, 0, 0, offset, size, link, 0, 8, 24))
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 0x28, start)
    struct.pack_into("<HH", head, 0x3A, 64, len(headers))
    return bytes(head) + entries + names + b"".join(headers)


@pytest.mark.parametrize("tables", [(2, 3), (3, 2)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_symbols_place_is_found(tables: tuple[int, ...], place: int, tmp_path: Path) -> None:
    """Whichever it is; a longer name that ends, or begins, with it is another."""
    wanted = b"_Zwanted"
    symbols = [(b"_Zother", 7), (wanted + b"x", 8), (b"x" + wanted, 9)]
    symbols.insert(place, (wanted, 0x1234567890))
    (tmp_path / "lib.so").write_bytes(elf(*symbols, tables=tables))
    assert child._offset_of(str(tmp_path / "lib.so"), wanted) == 0x1234567890


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (elf((b"_Zother", 7)), "its parser is not in its symbol table"),
        (elf((b"_Zwanted", 7), tables=(3,)), "it has no symbol table"),
        (b"nonsense", "it is no 64-bit ELF file"),
        (b"\x7fELF" + b"\xff" * 200, "it is no 64-bit ELF file"),
    ],
)
def test_a_file_without_it_never_will_have_it(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(content)
    with pytest.raises(child.Unanswered, match=why) as raised:
        child._offset_of(str(tmp_path / "lib.so"), b"_Zwanted")
    assert raised.value.lasting


def test_what_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(elf((child.SYMBOL, 7)))
    with pytest.raises(child.Unanswered, match=r"lib\.so") as raised:
        child.load_plugin(str(tmp_path / "lib.so"))
    assert not raised.value.lasting
