"""Damaged texts of XLA_FLAGS, each with what was meant, and how they are read."""

from __future__ import annotations

from jaxgpu_tune.planning.base.wish import Repaired
from jaxgpu_tune.planning.xla_flags.repair import repair
from jaxgpu_tune.planning.xla_flags.spelling import Vocabulary
from tests.flag_texts import BOOLS, GOOD

LHS, DUMP = "xla_gpu_enable_latency_hiding_scheduler", "xla_dump_hlo_as_text"
LEVEL, TO, PASSES = "xla_gpu_autotune_level", "xla_dump_to", "xla_disable_hlo_passes"


def read(given_text: str, flag_file: str | None = None) -> Repaired:
    words = Vocabulary(GOOD.__contains__, lambda name: LHS if "latency" in name else None, BOOLS.__contains__)
    return repair(given_text, words, flag_file)


def texts(result: Repaired) -> list[str]:
    return [flag.text for flag in result.flags]


def codes(result: Repaired) -> list[str]:
    return [finding.code for finding in result.findings]


def assert_repaired(code: str, given_text: str, expected: list[str]) -> None:
    """What was meant is read, with a warning of this code alone."""
    result = read(given_text)
    assert texts(result) == expected
    assert set(codes(result)) == {code} and {finding.severity for finding in result.findings} == {"warning"}


def assert_stays(expected: list[str]) -> None:
    """What was repaired is sound."""
    again = read(" ".join(expected))
    assert texts(again) == expected and again.findings == ()


BETWEEN_FLAGS = [
    ("typographic-dash", f"\u2013\u2013{LHS}=true \u2014{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("typographic-dash", f"--{LHS}=true \u2212\u2212{DUMP}", [f"--{LHS}=true", f"--{DUMP}"]),
    ("odd-blank", f"--{LHS}=true\xa0--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("odd-blank", f"--{LHS}=true\x0c--{DUMP}=1\u3000", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("odd-blank", f"\ufeff--{LHS}=true", [f"--{LHS}=true"]),
    ("wrapped-in-quotes", f"'--{LHS}=true --{DUMP}=1'", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("wrapped-in-quotes", f'"--{LHS}=true" \u201c--{DUMP}=1\u201d', [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("wrapped-in-quotes", f"'--{LHS}=true' --{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("wrapped-in-quotes", f"--{DUMP}=1 '--{TO}=/tmp/a b'", [f"--{DUMP}=1", f'--{TO}="/tmp/a b"']),
    ("wrapped-in-quotes", f"\"--{TO}='/tmp/a b' --{LHS}\"", [f"--{TO}='/tmp/a b'", f"--{LHS}"]),
    ("backslash-newline", f"--{LHS}=true \\\n  --{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("backslash-newline", f"--{LHS}=true\\\r\n--{DUMP}=1 \\\n", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("backslash-newline", f"--{LHS}=true\\n--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("stray-word", f"--{LHS}=true foo --{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("stray-word", f"--{LHS} foo --{DUMP}=1", [f"--{LHS}", f"--{DUMP}=1"]),
    ("unexpanded-variable", f"$OTHER --{LHS}=true", [f"--{LHS}=true"]),
    ("unexpanded-variable", f"--{LHS}=true ${{XLA_FLAGS}}", [f"--{LHS}=true"]),
    ("blank-before-value", f"--{LEVEL} 2 --{LHS} false", [f"--{LEVEL}=2", f"--{LHS}=false"]),
    ("blank-before-value", f"--{LEVEL}= 2 --{LHS}", [f"--{LEVEL}=2", f"--{LHS}"]),
    ("blank-before-value", f"--{LEVEL} = -1 --{LHS}", [f"--{LEVEL}=-1", f"--{LHS}"]),
    ("blank-before-value", f"--{TO} '/tmp/a b' --{LHS}", [f'--{TO}="/tmp/a b"', f"--{LHS}"]),
    ("comment", f"--{LHS}=true # why not\n--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("comment", f"--{LHS}=true #--{DUMP}=1", [f"--{LHS}=true"]),
    ("wrong-dashes", f"-{LHS}=true ---{DUMP}", [f"--{LHS}=true", f"--{DUMP}"]),
    ("missing-dashes", f"{LHS}=true {DUMP} {LEVEL}=2", [f"--{LHS}=true", f"--{DUMP}", f"--{LEVEL}=2"]),
    ("flag-name", f"--{LHS.upper()}=true", [f"--{LHS}=true"]),
    ("flag-name", f"--{LHS.replace('_', '-')}=true", [f"--{LHS}=true"]),
    ("flag-name", f"--xla\u2011{LHS[4:]}=true --xla_\u200b{DUMP[4:]}", [f"--{LHS}=true", f"--{DUMP}"]),
    ("flag-name", f"--no{LHS} --no-{DUMP}", [f"--{LHS}=false", f"--{DUMP}=false"]),
    ("flag-name", f"--{LHS}-true --{DUMP}:false", [f"--{LHS}=true", f"--{DUMP}=false"]),
    ("separator", f"--{LHS}=true,--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("separator", f"--{LHS}=true; --{DUMP}=1;", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("separator", f"--{PASSES}=a,b , --{LHS},--{DUMP}=1", [f"--{PASSES}=a,b", f"--{LHS}", f"--{DUMP}=1"]),
    ("lone-dashes", f"-- --{LHS}=true \u2013", [f"--{LHS}=true"]),
    ("help-flag", f"--help --{LHS}=true", [f"--{LHS}=true"]),
    ("variable-in-value", f"XLA_FLAGS=--{LHS}=true", [f"--{LHS}=true"]),
    ("tensorflow-flag", f"--tf_xla_auto_jit=2 --{LHS}=true", [f"--{LHS}=true"]),
]
"""(code, text, the flags that are meant): what stands between flags, and their names."""
IN_VALUES = [
    ("typographic-dash", f"--{LEVEL}=\u22121", [f"--{LEVEL}=-1"]),
    ("typographic-quote", f"--{TO}=\u201c/tmp/a b\u201d --{LHS}", [f'--{TO}="/tmp/a b"', f"--{LHS}"]),
    ("missing-blank", f"--{LHS}=true--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("missing-blank", f"--{LHS}--{DUMP}=1", [f"--{LHS}", f"--{DUMP}=1"]),
    ("blank-in-list", f"--{PASSES}=a, b, c --{LHS}", [f"--{PASSES}=a,b,c", f"--{LHS}"]),
    ("quote-within", f'--{TO}=/tmp/"a b"/c --{LHS}', [f'--{TO}="/tmp/a b/c"', f"--{LHS}"]),
    ("text-behind-quote", f'--{TO}="/tmp/a b"/c --{LHS}', [f'--{TO}="/tmp/a b/c"', f"--{LHS}"]),
    ("unclosed-quote", f"--{LHS} --{TO}='/tmp/a b", [f"--{LHS}", f'--{TO}="/tmp/a b"']),
]
"""The same of their values."""
DAMAGE = [*BETWEEN_FLAGS, *IN_VALUES]
