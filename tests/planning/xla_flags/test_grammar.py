"""XLA's grammar: facts, laws, and what a real jaxlib says to generated texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jaxgpu_tune.planning.xla_flags.grammar import quote, scan, scan_file_text
from tests.flag_texts import Build, render, text
from tests.grammar import scans, scans_files
from tests.oracle import Oracle

VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
AWKWARD = st.text("ab\"'\\ \n\t\r=-,;#\xa0\u2013\u201c").filter(lambda value: "\0" not in value)
NAMES = st.from_regex(r"xla_[a-z0-9_]{1,20}", fullmatch=True)
PAIRS = st.lists(st.tuples(NAMES, VALUES | AWKWARD), max_size=6)
TEXTS = st.lists(st.randoms(use_true_random=False).map(text), min_size=25, max_size=25)
ASKING = settings(
    max_examples=4,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # a batch of texts does not shrink well: the verdict names the text
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def pairs(given_text: str) -> list[tuple[str | None, str | None]]:
    return [(token.name, token.value) for token in scan_file_text(given_text).tokens]


class TestScan:
    @pytest.mark.parametrize(
        ("given_text", "expected"),
        [
            ("", []),
            ("--a=1 --b", [("a", "1"), ("b", None)]),
            (" \t\r\n--a=1\n\n--b=2 ", [("a", "1"), ("b", "2")]),
            ("--a=", [("a", "")]),
            ("--a=''", [("a", "")]),
            ("--a=x=y", [("a", "x=y")]),
            ("--a='x y' --b=\"x y\"", [("a", "x y"), ("b", "x y")]),
            ("--a='x'--b=1", [("a", "x"), ("b", "1")]),
            (r'--a="\"\n\\"', [("a", '"n\\')]),
            (r"--a='\'", [("a", "\\")]),
            (r"--a=x\y\ ", [("a", "x\\y\\")]),
            ('--a="x\ny', [("a", "x\ny")]),
            ('--a="x\\', [("a", "x\\")]),
            ("--a=1\xa0--b=1\x0c", [("a", "1\xa0--b=1\x0c")]),
            ("-a=1 ---b=1 -- --=c", [(None, None)] * 4),
            ("--a,--b=1", [("a,--b", "1")]),
        ],
    )
    def test_tokens(self, given_text: str, expected: list[tuple[str | None, str | None]]) -> None:
        assert pairs(given_text) == expected

    @pytest.mark.parametrize(
        ("given_text", "stop"),
        [
            ("--a=true foo --b=1", "foo --b=1"),
            ("--a --b 5 --c=1", "5 --c=1"),
            ("--a= v --b=1", "v --b=1"),
            ("--a=1 # note\n--b=1", "# note\n--b=1"),
            ("--a=1 \\\n--b=1", "\\\n--b=1"),
            ('--a=pre"x y" --b=1', 'y" --b=1'),
            ("--a='x'y --b=1", "y --b=1"),
            ("--a=1 '--b=1'", "'--b=1'"),
            ("--a=1 \u2013\u2013b=1", "\u2013\u2013b=1"),
        ],
    )
    def test_where_it_stops_and_what_is_lost(self, given_text: str, stop: str) -> None:
        read = scan(given_text)
        assert (read.stopped_at, read.lost) == (given_text.index(stop), stop)

    def test_nothing_is_lost_where_it_does_not_stop(self) -> None:
        assert scan("--a=1 --b") == scan("--a=1 --b")._replace(stopped_at=None, lost="", file=None, fatal=None)

    @pytest.mark.parametrize("name", ["flags.txt", " flags.txt", "/a b/c\n", "'--a=1'", "\xa0--a=1", "\ufeff--a"])
    def test_a_file_name_is_the_whole_text(self, name: str) -> None:
        assert scan(name).file == name

    @pytest.mark.parametrize("blanks", [" ", "\n", " \t\r\n "])
    def test_blanks_alone_are_fatal(self, blanks: str) -> None:
        assert scan(blanks).fatal

    def test_in_a_file_blanks_are_no_flags_and_files_are_not_followed(self) -> None:
        assert scan_file_text(" \n").tokens == () and scan_file_text("other.txt").lost == "other.txt"

    def test_a_token_knows_its_place_and_its_argument(self) -> None:
        token = scan('--a=1 --b="x y"').tokens[1]
        assert (token.text, token.start, token.end, token.argument) == ('--b="x y"', 6, 15, "--b=x y")

    @pytest.mark.parametrize(
        ("given_text", "closed"), [("--a='x", False), ("--a='", False), ("--a='x'", True), ("--a=x'", True)]
    )
    def test_an_open_quote_is_told(self, given_text: str, closed: bool) -> None:
        assert scan(given_text).tokens[0].closed is closed

    def test_a_nul_ends_an_argument_of_a_file_and_cannot_be_in_a_variable(self) -> None:
        assert pairs("--a=x\0y --b=1") == [("a", "x"), ("b", "1")]
        with pytest.raises(ValueError, match="NUL"):
            scan("--a=\0")

    @given(st.text("-ab=\"'\\ \n\xa0"))
    def test_the_tokens_stand_where_they_say_and_nothing_else_is_read(self, given_text: str) -> None:
        read = scan_file_text(given_text)
        rest = given_text[: read.stopped_at]
        for token in reversed(read.tokens):
            assert given_text[token.start : token.end] == token.text
            rest = rest[: token.start] + rest[token.end :]
        assert rest.strip(" \n") == ""


class TestQuote:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("true", "--a=true"),
            ("", "--a="),
            ("FUSION,CUBLAS", "--a=FUSION,CUBLAS"),
            ("+A,-B", "--a=+A,-B"),
            ("/tmp/\u00fc", "--a=/tmp/\u00fc"),
            ("x y", '--a="x y"'),
            ('say "no"', "--a='say \"no\"'"),
            ("it's", '--a="it\'s"'),
            ("'\"\\", '--a="\'\\"\\\\"'),
            ("C:\\", "--a='C:\\'"),
        ],
    )
    def test_quotes_only_where_they_serve(self, value: str, expected: str) -> None:
        assert quote("a", value) == expected

    @pytest.mark.parametrize("name", ["", "--a", "a b", "a=b", "\u00fc", "-"])
    def test_what_is_no_name_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="name of a flag"):
            quote(name, "1")

    def test_a_nul_is_refused(self) -> None:
        with pytest.raises(ValueError, match="NUL"):
            quote("a", "\0")

    @given(PAIRS)
    def test_scan_gives_the_pairs_back(self, given_pairs: list[tuple[str, str]]) -> None:
        read = scan(render(given_pairs))
        assert [(token.name, token.value) for token in read.tokens] == given_pairs
        assert (read.lost, read.file, read.fatal) == ("", None, None)

    @given(PAIRS)
    def test_rendering_again_changes_nothing(self, given_pairs: list[tuple[str, str]]) -> None:
        written = render(given_pairs)
        assert render([(str(t.name), str(t.value)) for t in scan(written).tokens]) == written

    def test_r05_an_empty_value_is_a_value(self) -> None:
        assert pairs(quote("xla_gpu_enable_command_buffer", "")) == [("xla_gpu_enable_command_buffer", "")]


class TestAgainstTheRealParser:
    @ASKING
    @given(texts=TEXTS)
    def test_texts(self, oracle: Oracle, build: Build, folder: Path, texts: list[str]) -> None:
        assert [verdict for verdict in scans(oracle, build, texts, folder) if verdict.problem] == []

    @ASKING
    @given(texts=TEXTS)
    def test_files(self, oracle: Oracle, build: Build, folder: Path, texts: list[str]) -> None:
        assert [verdict for verdict in scans_files(oracle, build, texts, folder) if verdict.problem] == []

    @ASKING
    @given(values=st.lists(VALUES | AWKWARD, min_size=25, max_size=25))
    def test_any_value_arrives(self, oracle: Oracle, values: list[str]) -> None:
        answers = oracle.ask([render([("xla_dump_to", value), ("xla_dump_hlo_as_text", "true")]) for value in values])
        for value, answer in zip(values, answers, strict=True):
            assert answer.accepted and value.encode() in answer.effect

    def test_r18_the_last_of_a_repeated_flag_wins(self, oracle: Oracle, build: Build) -> None:
        repeated = "--xla_gpu_autotune_level=1 --xla_dump_to=a --xla_gpu_autotune_level=2 --xla_dump_to=b"
        last, first = "--xla_gpu_autotune_level=2 --xla_dump_to=b", "--xla_gpu_autotune_level=1 --xla_dump_to=a"
        both, right, wrong = oracle.ask([repeated, last, first])
        assert both.effect == right.effect != wrong.effect

    def test_the_order_of_aliases_matters(self, oracle: Oracle) -> None:
        pairs = (
            ("--xla_gpu_enable_command_buffer=", "--xla_gpu_graph_level=3"),
            ("--xla_gpu_graph_enable_concurrent_region=true", "--xla_gpu_command_buffer_scheduling_mode=SERIALIZE"),
            ("--xla_gpu_enable_pipelined_all_gather=true", "--xla_gpu_pipeline_all_gather=off"),
        )
        aliases = next(pair for pair in pairs if oracle.ask([" ".join(pair)])[0].accepted)
        one, other = oracle.ask([" ".join(aliases), " ".join(reversed(aliases))])
        assert one.accepted and other.accepted and one.effect != other.effect

    def test_the_comparison_can_fail(self, oracle: Oracle, build: Build, folder: Path) -> None:
        wrong = Build(build.known | {"xla_typo"})
        assert scans(oracle, wrong, ["--xla_typo=1"], folder)[0].problem
        assert scans(oracle, build, ["--xla_dump_to=a"], folder)[0].outcome == "accepted"
