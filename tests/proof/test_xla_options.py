"""The options that XLA compiles with, as they are dumped."""

from __future__ import annotations

from pathlib import Path

from jaxgpu_tune.proof import xla_options


def test_the_text_that_xla_dumps_reads_as_the_message_does() -> None:
    text = 'xla_gpu_autotune_level: 2\nxla_dump_to: "a \\"b\\""\nkinds: ONE\nkinds: TWO\nxla_dump_hlo_as_text: true\nnested {\n  key: 1\n}\n'
    assert xla_options.read_text(text) == {
        "xla_gpu_autotune_level": 2,
        "xla_dump_to": 'a "b"',
        "kinds": ["ONE", "TWO"],
        "xla_dump_hlo_as_text": True,
    }
    assert xla_options.read_text("") is None


def test_what_is_nested_is_no_field_and_a_repeated_one_is_a_list() -> None:
    """However often; a value that is no JSON is kept as it stands."""
    assert xla_options.read_text("a: 1\na: 2\na: 3\nb: ONE\n  c: 4\nd {\n}\n") == {"a": [1, 2, 3], "b": "ONE"}


def test_the_options_that_were_dumped_are_found_by_the_name_of_their_file(tmp_path: Path) -> None:
    """None is an empty text."""
    (tmp_path / "module_0001.jit_f.txt").write_text("a: 1")
    assert xla_options._dumped(str(tmp_path)) == ""
    (tmp_path / "module_0001.jit_f.debug_options").write_bytes(b"b: 2\xff")
    assert xla_options._dumped(str(tmp_path)) == "b: 2\ufffd"
