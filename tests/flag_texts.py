"""Texts of XLA_FLAGS, sound and damaged, from a random generator: what the real parser and ours are asked about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from jaxgpu_tune.planning.xla_flags.grammar import Token, quote
from tests.oracle import Oracle

__all__ = ["BOOLS", "GOOD", "VALUED", "Build", "build_of", "flag_text", "good_pairs", "render", "text"]

BOOLS = (
    "xla_gpu_enable_latency_hiding_scheduler",
    "xla_gpu_deterministic_ops",
    "xla_dump_hlo_as_text",
    "xla_cpu_enable_fast_math",
    "xla_gpu_enable_pipelined_all_gather",
)
GOOD = {
    **dict.fromkeys(BOOLS, ("true", "false", "True", "1", "0")),
    "xla_gpu_autotune_level": ("0", "4", "-1", "+2"),
    "xla_gpu_all_reduce_combine_threshold_bytes": ("0", "33554432"),
    "xla_force_host_platform_device_count": ("1", "4"),
    "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": ("0.5", "1e1"),
    "xla_dump_to": (
        "",
        "/tmp/a b",
        "it's",
        "tab\there",
        "new\nline",
        "a=b",
        'say "no"',
        "back\\slash\\",
        "\u00fc\u2014\u65e5",
        "'q",
    ),
    "xla_dump_hlo_module_re": (".*", "jit_(f|g)", "a,b;c", "--x", "-", "#1", " lead", '"'),
    "xla_gpu_cuda_data_dir": ("/usr/local/cuda", "./cuda sdk"),
    "xla_disable_hlo_passes": ("", "a", "a,b", "rematerialization"),
    "xla_gpu_enable_command_buffer": ("", "FUSION", "FUSION,CUBLAS", "+CUDNN", "+FUSION"),
    "xla_backend_extra_options": ("a=b", "a,c=d", "xla_cpu_x=1"),
    "xla_gpu_graph_level": ("0", "2"),
    "xla_gpu_pipeline_all_gather": ("on", "off"),
}
"""Known flags (the last two not to every build) with values that every build takes."""

VALUED = tuple(name for name in GOOD if name not in BOOLS)

_BAD_VALUES = ("abc", "2x", "1e6", "yes", "true,", "JUNK", "")
_STRANGERS = ("xla_typo", "xla_gpu_ftzz", "help", "model", "xla_tpu_x", "a.b", "\u00fc", "-", "=x", "", "X_Y-z")
_GAPS = (" ", "  ", "\t", "\n", "\r\n", " \t\n", "\x0c", "\xa0", "", ",", ", ", ";", " \\\n", "\\\n", "\\n")
_WORDS = (
    "foo",
    "# note",
    "#",
    "\\",
    "=1",
    "true",
    "5",
    "-5",
    "''",
    '"',
    "'x y'",
    "\u2013",
    ",",
    "--",
    "-",
    "a=b",
    "\u201cx\u201d",
)


def good_pairs(random: Random, most: int = 4) -> list[tuple[str, str]]:
    """Some known flags with good values."""
    names = random.choices(list(GOOD), k=random.randint(1, most))
    return [(name, random.choice(GOOD[name])) for name in names]


def flag_text(random: Random) -> str:
    """One flag in any form, right or wrong."""
    name = random.choice((*GOOD, *GOOD, *GOOD, *GOOD, *_STRANGERS))
    dashes = random.choice(("--",) * 40 + ("-", "---", "\u2013", "\u2014\u2014", ""))
    if random.random() < 0.12:
        return dashes + random.choice((name, f"no{name}", f"no-{name}", f"{name}-false", name.upper()))
    values = _BAD_VALUES if random.random() < 0.1 else GOOD.get(name, ("1", "a b"))
    return f"{dashes}{name}={_written(random, random.choice(values))}"


def _written(random: Random, value: str) -> str:
    form = random.randrange(10)
    if form < 4:
        return value
    if form < 6:
        return "'" + value.replace("'", "") + "'"
    if form < 8:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return random.choice(
        ('"{}', "'{}", '"{}\\', "\u201c{}\u201d", '{}"x y"', "'{}'z", " {}", '"\\{}"', "a'{}'", '"{}"\'')
    ).format(value)


def text(random: Random) -> str:
    """A whole text: mostly sound, with damage here and there."""
    clean = random.random() < 0.4
    parts = [random.choice(("",) * 12 + (" ", "\n", "\ufeff", "'"))]
    for _ in range(random.randint(0, 5)):
        stray = not clean and random.random() < 0.12
        parts.append(random.choice(_WORDS) if stray else flag_text(random))
        parts.append(" " if clean else random.choice((" ",) * 10 + _GAPS))
    return "".join(parts)


@dataclass(frozen=True)
class Build:
    """What one jaxlib knows of the names in ``GOOD``."""

    known: frozenset[str]

    def boolean(self, name: str) -> bool:
        """Whether a known flag is a bool."""
        return name in BOOLS

    def closest(self, name: str) -> str | None:
        """No suggestions here."""
        return None

    def unknown(self, tokens: Iterable[Token]) -> list[str]:
        """The arguments that XLA must call unknown, in order."""
        out: list[str] = []
        rest = False
        for token in tokens:
            rest = rest or token.argument == "--"
            bare = token.value is None and token.name not in BOOLS
            if rest or token.name not in self.known or bare:
                out.append(token.argument)
        return out


def build_of(oracle: Oracle, names: Sequence[str] = tuple(GOOD)) -> Build:
    """Ask which of the names the build has."""
    answers = oracle.ask([f"--{name}={GOOD[name][-1]}" for name in names])
    return Build(frozenset(name for name, answer in zip(names, answers, strict=True) if not answer.unknown))


def render(pairs: Iterable[tuple[str, str]]) -> str:
    """The text of several flags, in their order: ``scan`` gives the pairs back."""
    return " ".join(quote(name, value) for name, value in pairs)
