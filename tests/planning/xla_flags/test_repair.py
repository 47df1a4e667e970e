"""What was meant by a damaged XLA_FLAGS: files, what stays, laws, and the real parser's word on what results."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jaxgpu_tune import plan
from jaxgpu_tune.planning.base.wish import Repaired
from jaxgpu_tune.planning.xla_flags.grammar import scan
from tests.flag_texts import VALUED, Build, good_pairs, render, text
from tests.fleet import machine
from tests.grammar import repairs
from tests.oracle import Oracle
from tests.planning.xla_flags.damaged import (
    DAMAGE,
    DUMP,
    LEVEL,
    LHS,
    PASSES,
    TO,
    codes,
    read,
    texts,
)

RANDOMS = st.randoms(use_true_random=False)


class TestFile:
    def test_is_inlined(self) -> None:
        result = read("flags.txt", f"--{LHS}=true\n# note\n--{TO}='a b'\n")
        assert texts(result) == [f"--{LHS}=true", f"--{TO}='a b'"]
        assert codes(result) == ["flag-file-inlined", "comment"] and "'flags.txt'" in result.findings[0].message

    def test_missing_is_an_error(self) -> None:
        result = read("flags.txt")
        assert codes(result) == ["flag-file-missing"] and result.findings[0].severity == "error"
        assert result.flags == () and "'flags.txt'" in result.findings[0].message

    def test_a_file_name_before_flags_is_a_stray_word(self) -> None:
        result = read(f"flags.txt --{LHS}")
        assert (texts(result), codes(result)) == ([f"--{LHS}"], ["stray-word"])

    @pytest.mark.parametrize("blanks", [" ", "\n\t"])
    def test_blanks_alone_are_no_flags(self, blanks: str) -> None:
        result = read(blanks)
        assert (result.flags, codes(result)) == ((), ["blank-xla-flags"])

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
    @settings(max_examples=150, deadline=None)
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


SPEAKS_FOR_ITSELF = {"backslash-newline", "blank-in-list", "flag-name", "lone-dashes", "missing-dashes", "odd-blank"}
SPEAKS_FOR_ITSELF |= {"quote-within", "separator", "text-behind-quote", "unclosed-quote", "variable-in-value"}
SPEAKS_FOR_ITSELF |= {"wrapped-in-quotes", "wrong-dashes"}


@pytest.mark.parametrize(("code", "given_text", "_"), DAMAGE)
def test_what_does_not_speak_for_itself_says_what_to_do(code: str, given_text: str, _: list[str]) -> None:
    """In a sentence."""
    for finding in read(given_text).findings:
        assert bool(finding.hint) is (code not in SPEAKS_FOR_ITSELF) and finding.hint[-1:] in ("", ".", '"')
