"""The flag data obey their laws, and say what the installed jaxlib's own parser says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from random import Random
from typing import TYPE_CHECKING

import pytest

from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.tables import read_generated
from jaxgpu_tune.knowledge.versions import version_key
from tests.effects import meaning
from tests.oracle import Oracle
from tools.read_flags.texts import random_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jaxgpu_tune.knowledge.flag_spec import FlagSpec

ALL = [(release, spec) for release in known.releases() for spec in known.flags(release).values()]
TYPES = {"bool", "int32", "int64", "float", "string"}


def told(name: str, text: str) -> str:
    return f'--{name}="{text}"'


class TestLaws:
    def test_covers_every_release_in_order(self) -> None:
        releases = known.releases()
        assert releases[0] == "0.4.18"
        assert len(releases) >= 44
        assert sorted(releases, key=version_key) == list(releases)

    @pytest.mark.parametrize(
        ("release", "count"),
        [("0.4.18", 149), ("0.4.30", 184), ("0.6.2", 231), ("0.10.2", 309), ("0.11.2", 339), ("0.12.0.1", 350)],
    )
    def test_counts(self, release: str, count: int) -> None:
        assert len(known.flags(release)) == count

    def test_plugins_are_covered(self) -> None:
        read = read_generated("builds.json")["plugin_releases"]
        assert len(read["jax-cuda12-pjrt"]) >= 39
        assert len(read["jax-cuda13-pjrt"]) >= 17

    def test_a_type_never_changes(self) -> None:
        types: dict[str, str] = {}
        for _, spec in ALL:
            assert spec.type in TYPES
            assert types.setdefault(spec.name, spec.type) == spec.type

    def test_the_effective_default_passes_and_is_the_default(self) -> None:
        stated = [(release, spec) for release, spec in ALL if spec.effective is not None]
        wrong = [(r, s.name) for r, s in stated if known.check_value(s, str(s.effective), r)]
        assert not wrong
        assert all(known.is_default(spec, str(spec.effective)) for _, spec in stated)

    def test_members_pass_in_their_spelling_and_junk_does_not(self) -> None:
        for release, spec in ALL:
            refused = [m for m in spec.members if known.check_value(spec, m, release)]
            assert not refused, (release, spec.name)
            assert len(spec.names) == len(spec.members)
            if spec.members:
                assert known.check_value(spec, "zz_junk", release)

    def test_lives_agree_with_the_releases(self) -> None:
        order = {release: at for at, release in enumerate(known.releases())}
        for name in known.names():
            spans = [(order[first], order[last] if last else len(order) - 1) for first, last in known.life(name)]
            there = {order[r] for r in order if known.flag(name, r)}
            assert {at for first, last in spans for at in range(first, last + 1)} == there

    def test_every_flag_ever_has_a_help_entry(self) -> None:
        assert all(known.help_text(name) for name in known.flags("0.12.0.1"))
        assert known.help_text("xla_no_such") == ""


class TestFacts:
    """Turning points that the library's decisions stand on."""

    @pytest.mark.parametrize(
        ("name", "span"),
        [
            ("xla_gpu_graph_level", (("0.4.18", "0.7.1"),)),
            ("xla_gpu_enable_async_collectives", (("0.4.18", "0.4.26"),)),
            ("xla_gpu_pipeline_all_gather", (("0.11.1", None),)),
            ("xla_gpu_enable_triton_softmax_fusion", (("0.4.18", "0.5.0"),)),
            ("xla_no_such", ()),
        ],
    )
    def test_life(self, name: str, span: object) -> None:
        assert known.life(name) == span

    def test_aliases_write_another_field_and_are_no_compile_option(self) -> None:
        alias = known.flags("0.12.0.1")["xla_gpu_enable_pipelined_all_gather"]
        assert alias.fields == ("xla_gpu_pipeline_all_gather",)
        assert not alias.compile_option

    def test_a_false_that_no_text_restates(self) -> None:
        region = known.flags("0.12.0.1")["xla_gpu_graph_enable_concurrent_region"]
        assert (region.default, region.effective) == ("false", None)
        assert not known.is_default(region, "false")

    def test_the_registered_default_may_be_refused(self) -> None:
        spec = known.flags("0.4.30")["xla_gpu_enable_command_buffer"]
        assert known.check_value(spec, spec.default, "0.4.30")
        assert spec.effective == "FUSION,CUBLAS,CUSTOM_CALL,CUDNN"

    def test_increments(self) -> None:
        old, new = (known.flags(r)["xla_gpu_enable_command_buffer"] for r in ("0.6.2", "0.7.0"))
        assert (old.incremental, old.first_only) == (True, True)
        assert (new.incremental, new.first_only) == (True, False)
        assert known.canonical(old, "-FUSION,-CUBLAS") == ("CUBLAS", "CUBLASLT", "CUSTOM_CALL", "CUDNN")
        assert known.canonical(new, "-FUSION,-CUBLAS") == ("CUBLASLT", "CUSTOM_CALL", "CUDNN")

    @pytest.mark.parametrize(
        ("name", "text", "release", "passes"),
        [
            ("xla_gpu_enable_triton_gemm", "1", "0.4.20", False),
            ("xla_gpu_enable_triton_gemm", "1", "0.4.21", True),
            ("xla_gpu_enable_triton_gemm", "TRUE", "0.4.18", True),
            ("xla_gpu_autotune_level", "2 ", "0.8.0", False),
            ("xla_gpu_autotune_level", "2 ", "0.8.1", True),
            ("xla_gpu_autotune_level", "99999999999", "0.8.0", False),
            ("xla_gpu_shape_checks", "runtime", "0.12.0.1", False),
            ("xla_gpu_detect_nan", "warning", "0.12.0.1", True),
            ("xla_gpu_all_gather_mode", "Peer", "0.12.0.1", True),
            ("xla_gpu_enable_command_buffer", "CONDITIONALS", "0.4.30", True),
            ("xla_gpu_enable_command_buffer", "CONDITIONALS", "0.5.0", False),
            ("xla_gpu_enable_command_buffer", "FUSION, CUBLAS", "0.6.2", False),
            ("xla_gpu_enable_command_buffer", "FUSION, CUBLAS", "0.7.0", True),
            ("xla_gpu_enable_libnvptxcompiler", "true", "0.10.2", False),
            ("xla_gpu_experimental_max_unroll_factor", "0", "0.12.0.1", False),
            ("xla_disable_hlo_passes", "a:b", "0.11.0", True),
            ("xla_disable_hlo_passes", "a:b", "0.11.2", False),
        ],
    )
    def test_values(self, name: str, text: str, release: str, passes: bool) -> None:
        assert (known.check_value(known.flags(release)[name], text, release) is None) == passes

    def test_a_refusal_says_what_is_allowed(self) -> None:
        spec = known.flags("0.12.0.1")["xla_gpu_shape_checks"]
        assert known.check_value(spec, "runtime", "0.12.0.1") == (
            "--xla_gpu_shape_checks does not take 'runtime': "
            "it takes one of IGNORE, RUNTIME, COMPILE_TIME (the case of letters counts)."
        )

    def test_the_word_none_does_not_take_a_flag_out(self) -> None:
        """As somebody types it on the command line who has read that None removes."""
        told = known.check_value(known.flags("0.12.0.1")["xla_gpu_autotune_level"], "None", "0.12.0.1") or ""
        assert told.endswith(" To take it out: --no-flag xla_gpu_autotune_level, or None without quotes.")

    def test_nearest_name(self) -> None:
        assert known.closest_flag("xla_gpu_autotune_levl", "0.12.0.1") == "xla_gpu_autotune_level"
        assert known.closest_flag("--autotune-level", "0.12.0.1") == "xla_gpu_autotune_level"
        assert known.closest_flag("qqqqqq", "0.12.0.1") is None

    def test_the_one_default_in_which_a_plugin_differs(self) -> None:
        found = read_generated("builds.json")["plugin_differences"]["jax-cuda12-pjrt"]
        level = {
            r: other["xla_gpu_mlir_emitter_level"]["default"]
            for r, other in found.items()
            if "xla_gpu_mlir_emitter_level" in other
        }
        assert level == {"0.4.30": "1", "0.4.31": "3", "0.4.33": "4", "0.4.34": "4", "0.4.35": "4"}


@pytest.mark.parametrize(
    ("version", "release", "exact", "neighbours"),
    [
        ("0.5.3", "0.5.3", True, ("0.5.3",)),
        ("0.5", "0.5.0", True, ("0.5.0",)),
        ("0.11+local", "0.11.0", True, ("0.11.0",)),
        ("0.4.25+cuda12.cudnn89", "0.4.25", True, ("0.4.25",)),
        ("0.9.1.post6", "0.9.1", True, ("0.9.1",)),
        ("0.6.1.dev20250514+abc", "0.6.1", False, ("0.6.0", "0.6.1")),
        ("0.8.1rc0", "0.8.1", False, ("0.8.0", "0.8.1")),
        ("0.4.32", "0.4.31", False, ("0.4.31", "0.4.33")),
        ("0.4.1", "0.4.18", False, ("0.4.18",)),
        ("99.0", known.releases()[-1], False, (known.releases()[-1],)),
        ("unknown", known.releases()[-1], False, (known.releases()[-1],)),
    ],
)
def test_resolve(version: str, release: str, exact: bool, neighbours: tuple[str, ...]) -> None:
    found = known.resolve(version)
    assert (found.release, found.exact, found.neighbours) == (release, exact, neighbours)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as asked:
        if asked.version not in known.releases():
            pytest.skip(f"jaxlib {asked.version} is in no table")
        yield asked


class TestInstalledJaxlib:
    def test_names(self, oracle: Oracle) -> None:
        there = known.flags(oracle.version)
        others = sorted(set(known.names()) - set(there))
        every = " ".join(
            f"--{name}={spec.effective}" for name, spec in there.items() if spec.type == "bool" and spec.effective
        )
        unknown, alive = oracle.ask([" ".join(f"--{name}=1" for name in others), every])
        assert set(unknown.unknown) == set(others)
        assert alive.accepted, alive.message[:500]

    def test_every_effective_default_changes_nothing(self, oracle: Oracle) -> None:
        stated = apart(spec for spec in known.flags(oracle.version).values() if spec.effective is not None)
        texts = [" ".join(told(spec.name, str(spec.effective)) for spec in group) for group in stated]
        nothing, *answers = (meaning(answer.effect) for answer in oracle.ask(["", *texts]))
        assert nothing and [text for text, found in zip(texts, answers, strict=True) if found != nothing] == []

    def test_random_values(self, oracle: Oracle) -> None:
        random = Random(oracle.version)
        specs = list(known.flags(oracle.version).values())
        rich = [spec for spec in specs if spec.form not in {"bool", "int32", "int64", "text"}]
        tried = [
            (spec, random_text(spec, random)) for spec in random.choices(specs, k=150) + random.choices(rich, k=350)
        ]
        refusals = [known.check_value(spec, text, oracle.version) for spec, text in tried]
        fine = [told(spec.name, text) for (spec, text), why in zip(tried, refusals, strict=True) if why is None]
        together = [" ".join(fine[at : at + 10]) for at in range(0, len(fine), 10)]
        assert [answer.message[:200] for answer in oracle.ask(together) if not answer.accepted] == []
        refused = [(spec, text, why) for (spec, text), why in zip(tried, refusals, strict=True) if why is not None]
        answers = oracle.ask([told(spec.name, text) for spec, text, _ in refused])
        assert [
            (spec.name, text, why)
            for (spec, text, why), answer in zip(refused, answers, strict=True)
            if answer.accepted and not wraps(spec, why, oracle.version)
        ] == []
        assert fine and refused

    def test_equal_values_have_equal_effects(self, oracle: Oracle) -> None:
        random = Random(oracle.version)
        rich = [
            spec for spec in known.flags(oracle.version).values() if spec.form in {"enum", "list", "float", "ranges"}
        ]
        for spec in rich:
            texts = {random_text(spec, random) for _ in range(6)}
            taken = [text for text in texts if known.check_value(spec, text, oracle.version) is None]
            effects: dict[object, list[object]] = {}
            for text, answer in zip(taken, oracle.ask([told(spec.name, t) for t in taken]), strict=True):
                effect = meaning(answer.effect)
                assert effects.setdefault(known.canonical(spec, text), effect) == effect, (spec.name, text)


def apart(specs: Iterable[FlagSpec]) -> list[list[FlagSpec]]:
    """In groups, the members of which write different fields: what one does, no other undoes."""
    groups: list[list[FlagSpec]] = []
    for spec in specs:
        written = set(spec.fields)
        free = (one for one in groups if spec.fields and all(o.fields and not written & {*o.fields} for o in one))
        group = next((one for one in free if len(one) < 25), None)
        if group is None:
            groups.append([spec])
        else:
            group.append(spec)
    return groups


COMPILE_EACH = """
import json, sys, jax
lowered = jax.jit(lambda x: x).lower(1.0)
def taken(option):
    try:
        lowered.compile(compiler_options=option)
    except Exception as error:
        return str(error)
    return ""
json.dump([taken({name: value}) for name, value in json.load(sys.stdin)], sys.stdout)
"""


def as_compile_option(spec: FlagSpec) -> str:
    """The default in the spelling of that surface."""
    value = known.canonical(spec, spec.effective) if spec.effective is not None else ()
    if spec.form == "bool":
        return str(value)
    proto = dict(zip(spec.members, spec.names, strict=True))
    if spec.form == "enum":
        return proto[str(value)]
    return ",".join(proto[str(m)] for m in value) if spec.members and isinstance(value, tuple) else spec.default


@pytest.mark.slow
def test_what_compiler_options_takes() -> None:
    """On a CPU, every name: a flag called a compile option is taken, a name with no field is not."""
    release = version("jaxlib")
    if release not in known.releases():
        pytest.skip(f"jaxlib {release} is in no table")
    specs = list(known.flags(release).values())
    asked = [(spec.name, as_compile_option(spec)) for spec in specs]
    environ = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", COMPILE_EACH]
    done = subprocess.run(command, input=json.dumps(asked), env=environ, check=True, capture_output=True, text=True)
    answers = dict(zip((spec.name for spec in specs), json.loads(done.stdout), strict=True))
    assert {s.name: answers[s.name] for s in specs if s.compile_option and answers[s.name]} == {}
    idle = [s for s in specs if not s.compile_option and not answers[s.name]]
    assert all(s.form == "map" or s.suffix or s.name not in s.fields for s in idle)


def wraps(spec: FlagSpec, why: str | None, release: str) -> bool:
    """Whether we refuse a number that this release would silently wrap around."""
    return known.parser_rules(release).int_wraps and spec.form in {"int32", "int64"} and "numbers from" in (why or "")
