"""XLA_FLAGS in YAML, in every style of scalar."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings

from jaxgpu_tune.planning.files.yaml import yaml_sites
from tests.planning.files.flags_in_files import FLAGS, expected, rewritten


@pytest.mark.parametrize("style", ["'", '"', "|", ">", None])
@pytest.mark.parametrize("form", ["kubernetes", "map", "item"])
@settings(max_examples=15, deadline=None)
@given(flags=FLAGS.filter(lambda flags: not any("$" in flag for flag in flags)))
def test_yaml_reads_what_was_meant(style: str | None, form: str, flags: list[str]) -> None:
    """In every style of scalar, as PyYAML writes and reads them."""
    said = " ".join(flags)
    data: dict[str, object] = {
        "kubernetes": {"env": [{"name": "XLA_FLAGS", "value": said}, {"name": "B", "value": "x"}]},
        "map": {"environment": {"XLA_FLAGS": said, "B": "x"}},
        "item": {"environment": [f"XLA_FLAGS={said}", "B=x"]},
    }[form]

    class Dumper(yaml.SafeDumper):
        def represent(self, data: object) -> None:
            super().represent(data)

    def styled(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        chosen = style if "--xla" in text and not (form == "item" and style in ("|", ">")) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=chosen)

    Dumper.add_representer(str, styled)
    source = yaml.dump(data, Dumper=Dumper, width=40, allow_unicode=True, sort_keys=False)
    found = yaml.safe_load(rewritten(source, "yaml"))
    values = {
        "kubernetes": lambda: found["env"][0]["value"],
        "map": lambda: found["environment"]["XLA_FLAGS"],
        "item": lambda: found["environment"][0].removeprefix("XLA_FLAGS="),
    }
    assert (values[form]() or "").split() == expected(flags)


def test_a_value_in_single_quotes_of_yaml_may_go_over_lines() -> None:
    """The end of a line is a blank there, so flags on two lines stay two."""
    text = "env:\n  XLA_FLAGS: '--xla_gpu_graph_level=0\n    --xla_gpu_autotune_level=2'\n"
    assert yaml.safe_load(rewritten(text, "yaml"))["env"]["XLA_FLAGS"].split() == [
        "--xla_gpu_enable_command_buffer=",
        "--xla_gpu_autotune_level=2",
    ]
    kept = "env:\n  XLA_FLAGS: '--xla_dump_to=a\n\n    --xla_gpu_graph_level=1'\n"
    assert yaml.safe_load(rewritten(kept, "yaml"))["env"]["XLA_FLAGS"].split() == [
        "--xla_dump_to=a",
        "--xla_gpu_enable_command_buffer=FUSION",
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"--xla_a=\x31", "--xla_a=1"),
        (r"--xla_a=\u0031\U00000031", "--xla_a=11"),
        (r"--xla_a=\xZZ", "--xla_a=xZZ"),
        (r"--xla_a=\U00110000", "--xla_a=U00110000"),
        (r"--xla_a=\ud800", "--xla_a=ud800"),
        (r"--xla_a=\x00\q", "--xla_a=x00q"),
        ("--xla_a=1\n      --xla_b=2", "--xla_a=1 --xla_b=2"),
        ("--xla_a=1\\\n      2", "--xla_a=12"),
    ],
)
def test_escapes_in_double_quotes_are_read_and_what_is_none_stands_for_itself(written: str, meant: str) -> None:
    """One that no variable can hold, or that is broken, does not keep the rest of the file from being judged."""
    (site,) = yaml_sites(f'env:\n- name: XLA_FLAGS\n  value: "{written}"\n')
    assert "".join(piece.text for piece in site.pieces) == meant
    assert len(list(yaml_sites(f'env:\n- name: XLA_FLAGS\n  value: "{written}\\'))) == 1
