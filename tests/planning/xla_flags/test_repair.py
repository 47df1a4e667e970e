"""What was meant by a damaged XLA_FLAGS: one test a kind of damage, laws, and the real parser's word on what results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.planning.base.wish import Repaired
from jaxgpu_tune.planning.xla_flags.grammar import scan
from jaxgpu_tune.planning.xla_flags.repair import repair
from tests.effort import examples
from tests.flag_texts import BOOLS, GOOD, VALUED, Build, build_of, good_pairs, render, text
from tests.fleet import machine
from tests.grammar import repairs
from tests.oracle import Oracle

LHS, DUMP = "xla_gpu_enable_latency_hiding_scheduler", "xla_dump_hlo_as_text"
LEVEL, TO, PASSES = "xla_gpu_autotune_level", "xla_dump_to", "xla_disable_hlo_passes"
RANDOMS = st.randoms(use_true_random=False)


def read(given_text: str, flag_file: str | None = None) -> Repaired:
    return repair(
        given_text,
        known=GOOD.__contains__,
        closest=lambda name: LHS if "latency" in name else None,
        flag_file=flag_file,
        boolean=BOOLS.__contains__,
    )


def texts(result: Repaired) -> list[str]:
    return [flag.text for flag in result.flags]


def codes(result: Repaired) -> list[str]:
    return [finding.code for finding in result.findings]


DAMAGE = [
    ("typographic-dash", f"\u2013\u2013{LHS}=true \u2014{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("typographic-dash", f"--{LHS}=true \u2212\u2212{DUMP}", [f"--{LHS}=true", f"--{DUMP}"]),
    ("typographic-dash", f"--{LEVEL}=\u22121", [f"--{LEVEL}=-1"]),
    ("odd-blank", f"--{LHS}=true\xa0--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("odd-blank", f"--{LHS}=true\x0c--{DUMP}=1\u3000", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("odd-blank", f"\ufeff--{LHS}=true", [f"--{LHS}=true"]),
    ("typographic-quote", f"--{TO}=\u201c/tmp/a b\u201d --{LHS}", [f'--{TO}="/tmp/a b"', f"--{LHS}"]),
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
    ("stray-word", f"$OTHER --{LHS}=true", [f"--{LHS}=true"]),
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
    ("missing-blank", f"--{LHS}=true--{DUMP}=1", [f"--{LHS}=true", f"--{DUMP}=1"]),
    ("missing-blank", f"--{LHS}--{DUMP}=1", [f"--{LHS}", f"--{DUMP}=1"]),
    ("blank-in-list", f"--{PASSES}=a, b, c --{LHS}", [f"--{PASSES}=a,b,c", f"--{LHS}"]),
    ("quote-within", f'--{TO}=/tmp/"a b"/c --{LHS}', [f'--{TO}="/tmp/a b/c"', f"--{LHS}"]),
    ("text-behind-quote", f'--{TO}="/tmp/a b"/c --{LHS}', [f'--{TO}="/tmp/a b/c"', f"--{LHS}"]),
    ("unclosed-quote", f"--{LHS} --{TO}='/tmp/a b", [f"--{LHS}", f'--{TO}="/tmp/a b"']),
    ("lone-dashes", f"-- --{LHS}=true \u2013", [f"--{LHS}=true"]),
    ("help-flag", f"--help --{LHS}=true", [f"--{LHS}=true"]),
    ("variable-in-value", f"XLA_FLAGS=--{LHS}=true", [f"--{LHS}=true"]),
    ("tensorflow-flag", f"--tf_xla_auto_jit=2 --{LHS}=true", [f"--{LHS}=true"]),
]


class TestDamage:
    @pytest.mark.parametrize(("code", "given_text", "expected"), DAMAGE)
    def test_is_repaired_with_a_finding(self, code: str, given_text: str, expected: list[str]) -> None:
        result = read(given_text)
        assert texts(result) == expected
        assert set(codes(result)) == {code} and {finding.severity for finding in result.findings} == {"warning"}

    @pytest.mark.parametrize(("code", "given_text", "expected"), DAMAGE)
    def test_once_repaired_it_stays(self, code: str, given_text: str, expected: list[str]) -> None:
        again = read(" ".join(expected))
        assert texts(again) == expected and again.findings == ()

    def test_the_code_point_is_named(self) -> None:
        message = read(f"\u2013\u2013{LHS}=true").findings[0].message
        assert "EN DASH (U+2013)" in message and f"`\u2013\u2013{LHS}=true` is read as `--{LHS}=true`" in message

    def test_a_stray_word_is_named(self) -> None:
        assert "`foo` is left out" in read(f"--{LHS} foo").findings[0].message

    def test_findings_that_say_the_same_are_one(self) -> None:
        assert len(read(f"\u2013\u2013{LHS} \u2013\u2013{DUMP}").findings) == 1

    def test_what_cannot_be_seen_is_escaped(self) -> None:
        assert r"`\xa0` is read as a blank: NO-BREAK SPACE (U+00A0)" in read(f"--{LHS}\xa0--{DUMP}").findings[0].message

    def test_repaired_flags_say_so(self) -> None:
        assert [flag.text == flag.argument for flag in read(f"--{LHS}=true -{DUMP}").flags] == [True, False]

    def test_two_kinds_at_once(self) -> None:
        result = read(f"\u2018\u2013{LHS}=true, foo\\\n\u2014{TO}=\u201ca b\u201d\u2019")
        assert texts(result) == [f"--{LHS}=true", f'--{TO}="a b"']


class TestAmbiguous:
    @pytest.mark.parametrize(
        ("code", "given_text"),
        [
            ("ambiguous-quote", f'--{TO}="/tmp/a --{LHS}=true'),
            ("ambiguous-quote", f"--{TO}=\u201c/tmp/a --{LHS}=true"),
            ("missing-value", f"--{LEVEL} --{LHS}=true"),
        ],
    )
    def test_is_left_out_with_an_error_and_the_rest_is_read(self, code: str, given_text: str) -> None:
        result = read(given_text)
        assert texts(result) == [f"--{LHS}=true"]
        assert [(finding.code, finding.severity) for finding in result.findings] == [(code, "error")]


class TestFile:
    def test_is_inlined(self) -> None:
        result = read("flags.txt", f"--{LHS}=true\n# note\n--{TO}='a b'\n")
        assert texts(result) == [f"--{LHS}=true", f"--{TO}='a b'"] and result.fatal is None
        assert codes(result) == ["flag-file-inlined", "comment"] and "'flags.txt'" in result.findings[0].message

    def test_missing_is_an_error(self) -> None:
        result = read("flags.txt")
        assert codes(result) == ["flag-file-missing"] and result.findings[0].severity == "error"
        assert result.flags == () and result.fatal and "'flags.txt'" in result.fatal

    def test_a_file_name_before_flags_is_a_stray_word(self) -> None:
        result = read(f"flags.txt --{LHS}")
        assert (texts(result), codes(result)) == ([f"--{LHS}"], ["stray-word"]) and result.fatal

    @pytest.mark.parametrize("blanks", [" ", "\n\t"])
    def test_blanks_alone_are_no_flags(self, blanks: str) -> None:
        result = read(blanks)
        assert (result.flags, codes(result)) == ((), ["blank-xla-flags"]) and result.fatal

    def test_nothing_is_nothing(self) -> None:
        assert read("") == Repaired()


class TestSound:
    @pytest.mark.parametrize(
        "flag",
        [
            f"--{LHS}",
            f"--{PASSES}=",
            f"--{PASSES}=''",
            f"--{PASSES}=a,b,--c",
            f'--{TO}="a\\"b"',
            f"--{TO}=it's",
            f"--{TO}=a#b",
            f"--{TO}=C:\\new",
            f"--{TO}='x, --{LHS}=1'",
            f"--{TO}=/a\xa0b/\u2013",
            f'--{TO}=a"b"c',
            "--xla_gpu_enable_command_buffer=+CUBLAS,-CUDNN",
        ],
    )
    def test_stays_as_written(self, flag: str) -> None:
        for given_text in (flag, f" {flag}\t--{LEVEL}=2\n", f"--{LEVEL}=2 {flag}"):
            result = read(given_text)
            assert flag in texts(result) and len(result.flags) == 1 + (LEVEL in given_text)
            assert result.findings == ()

    def test_two_flags_without_a_blank_behind_a_quote(self) -> None:
        assert texts(read(f"--{TO}='a'--{LHS}")) == [f"--{TO}='a'", f"--{LHS}"]

    @given(RANDOMS)
    def test_what_we_write_stays(self, random: Random) -> None:
        written = render(good_pairs(random))
        result = read(written)
        assert " ".join(texts(result)) == written and result.findings == ()

    @given(st.lists(st.tuples(st.sampled_from(VALUED), st.text("ab\"'\\ \n=-,;#x\xa0\u2013\u201c")), max_size=4))
    def test_what_we_write_stays_whatever_the_value(self, pairs: list[tuple[str, str]]) -> None:
        result = read(render(pairs))
        assert [(flag.name, flag.value) for flag in result.flags] == pairs and result.findings == ()


ATOMS = (
    "--",
    "-",
    "\u2013",
    "=",
    '"',
    "'",
    "\u201c",
    "\u201d",
    LHS,
    LEVEL,
    TO,
    " ",
    "\n",
    "\\",
    ",",
    ";",
    "#",
    "\xa0",
    "\ufeff",
    "\\n",
)
WORDS = ("foo", "1", "true", "no", "XLA_FLAGS=", f"--{TO}=", f"--{LHS}", "xla_q", "help", "'--", "\x0c")


class TestLaws:
    @settings(max_examples=examples(300), deadline=None)
    @given(st.lists(st.sampled_from(ATOMS + WORDS), max_size=14).map("".join))
    def test_the_result_is_sound_and_means_what_it_says(self, given_text: str) -> None:
        result = read(given_text)
        joined = " ".join(texts(result))
        assert [(t.name, t.value) for t in scan(joined).tokens] == [(flag.name, flag.value) for flag in result.flags]
        again = read(joined)
        assert texts(again) == texts(result) and again.findings == ()
        assert result.findings or texts(result) == [token.text for token in scan(given_text).tokens]


class TestReports:
    def test_r09_a_dash_for_the_equals_sign(self) -> None:
        result = read(f"--{DUMP}-false")
        assert texts(result) == [f"--{DUMP}=false"] and f"`--{DUMP}-false`" in result.findings[0].message

    def test_r09_an_unknown_token_comes_with_the_closest_name(self) -> None:
        report = plan("auto", machine=machine(), environ={"XLA_FLAGS": "--xla_gpu_enable_latency_hiding=true"})
        (unknown,) = [finding for finding in report.findings if finding.code == "unknown-flag"]
        assert (report.xla_flags, unknown.hint) == ("", f"Did you mean --{LHS}?")

    @pytest.mark.parametrize("flag", ["--xla_tpu_spmd_rng_bit_generator_unsafe=1", "--megascale_x=1"])
    def test_r10_tpu_flags_belong_in_libtpu_init_args(self, flag: str) -> None:
        result = read(f"{flag} --{LHS}")
        assert (texts(result), codes(result)) == ([f"--{LHS}"], ["tpu-flag"])
        assert flag in result.findings[0].message and "LIBTPU_INIT_ARGS" in result.findings[0].hint

    def test_r12_an_argument_of_the_program(self) -> None:
        result = read(f"--flash_attention_implementation=xla --model llama --{PASSES}=custom-kernel-fusion-rewriter")
        assert texts(result) == [f"--{PASSES}=custom-kernel-fusion-rewriter"] and set(codes(result)) == {
            "not-an-xla-flag"
        }
        message = result.findings[0].message
        assert "--flash_attention_implementation=xla" in message and "`--model llama`" in message
        assert "not an XLA flag; is it an argument of your program?" in message

    def test_r18_repeats_are_legal(self) -> None:
        result = read(f"--{LEVEL}=1 --{LEVEL}=2")
        assert texts(result) == [f"--{LEVEL}=1", f"--{LEVEL}=2"] and result.findings == ()

    def test_r19_the_host_device_count_stays(self) -> None:
        flag = "--xla_force_host_platform_device_count=4"
        assert texts(read(f"\u2013{LHS}=true {flag}"))[1] == flag

    def test_r21_an_entry_that_the_build_does_not_know_is_read_all_the_same(self) -> None:
        assert [flag.name for flag in read(f"--xla_gpu_gone=1 --{LHS}").flags] == ["xla_gpu_gone", LHS]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    with Oracle(cwd=tmp_path_factory.mktemp("flags")) as asked:
        yield asked


@pytest.fixture(scope="module")
def build(oracle: Oracle) -> Build:
    return build_of(oracle)


class TestAgainstTheRealParser:
    @settings(max_examples=4, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
    @given(batch=st.lists(RANDOMS.map(text), min_size=25, max_size=25))
    def test_what_results_is_accepted_and_takes_effect(self, oracle: Oracle, build: Build, batch: list[str]) -> None:
        assert [verdict for verdict in repairs(oracle, build, batch, Path()) if verdict.problem] == []

    def test_each_repair_has_the_effect_of_what_was_meant(self, oracle: Oracle, build: Build) -> None:
        damaged = [case for case in DAMAGE if all(f.name in build.known for f in read(case[1]).flags)]
        given_answers = oracle.ask([" ".join(texts(read(given_text))) for _, given_text, _ in damaged])
        meant = oracle.ask([" ".join(expected) for *_, expected in damaged])
        assert all(answer.accepted for answer in meant) and [a.effect for a in given_answers] == [
            a.effect for a in meant
        ]


@pytest.mark.parametrize(
    ("given_text", "expected", "found"),
    [
        (f'"--{TO} " --{LHS}', [f"--{LHS}"], {"wrapped-in-quotes", "missing-value"}),
        (f"'--{LEVEL} ' --{LHS}=true", [f"--{LHS}=true"], {"wrapped-in-quotes", "missing-value"}),
        (f"--{TO} '--{LHS}=true'", [f"--{LHS}=true"], {"missing-value", "wrapped-in-quotes"}),
        (f'"--{LEVEL} 2 --{TO} a"', [f"--{LEVEL}=2", f"--{TO}=a"], {"wrapped-in-quotes", "blank-before-value"}),
        (f"--{LEVEL} '2' --{LHS}", [f"--{LEVEL}=2", f"--{LHS}"], {"blank-before-value"}),
        (f"'--{TO}=a b' c", [f'--{TO}="a b"'], {"wrapped-in-quotes", "stray-word"}),
    ],
)
def test_a_quote_behind_a_blank_is_a_value_or_one_around_flags(
    given_text: str, expected: list[str], found: set[str]
) -> None:
    """It closes what an earlier one opened, or opens around the next flag: then the value is missing."""
    result = read(given_text)
    assert texts(result) == expected and set(codes(result)) == found


SPEAKS_FOR_ITSELF = {"backslash-newline", "blank-in-list", "flag-name", "lone-dashes", "missing-dashes", "odd-blank"}
SPEAKS_FOR_ITSELF |= {"quote-within", "separator", "text-behind-quote", "unclosed-quote", "variable-in-value"}
SPEAKS_FOR_ITSELF |= {"wrapped-in-quotes", "wrong-dashes"}


@pytest.mark.parametrize(("code", "given_text", "_"), DAMAGE)
def test_what_does_not_speak_for_itself_says_what_to_do(code: str, given_text: str, _: list[str]) -> None:
    """In a sentence."""
    for finding in read(given_text).findings:
        assert bool(finding.hint) is (code not in SPEAKS_FOR_ITSELF) and finding.hint[-1:] in ("", ".", '"')
