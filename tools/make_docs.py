"""Write the generated reference, docs/flags.md and a page a preset in docs/presets/, from the library's own tables.

    python -m tools.make_docs [--check]

Shows what changes before it writes; ``--check`` only tells, and exits 1 if a file is not what it would write.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from jaxgpu_tune.api import explain
from jaxgpu_tune.knowledge import flags as known
from jaxgpu_tune.knowledge.compile_surface import PROCESS_WIDE
from jaxgpu_tune.knowledge.notes import all_notes
from jaxgpu_tune.knowledge.presets import all_presets
from jaxgpu_tune.knowledge.translations import Rule, all_rules
from jaxgpu_tune.model import Preset, Setting
from jaxgpu_tune.wording import written

DOCS = Path(__file__).resolve().parent.parent / "docs"
HELP_LENGTH = 300
COMMON_MEMBERS = 40
SUBJECTS: dict[str, tuple[str, ...]] = {
    "CUDA graphs (command buffers)": ("command_buffer", "cmd_buffer", "graph_"),
    "Collectives": (
        *("nccl", "collective", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "allreduce", "p2p"),
        *("nvshmem", "pipeline", "windowed_einsum", "async_", "permute", "communicator", "memcpy_local"),
    ),
    "Scheduling and loops": ("schedul", "lhs_", "overlap", "while_loop", "pgle", "latency", "stream", "sol_"),
    "GEMM, convolution, attention and fusion": (
        *("gemm", "cublas", "cudnn", "triton", "fusion", "conv", "dot_", "fmha", "emitter", "softmax", "cutlass"),
    ),
    "Autotuning": ("autotun", "algorithm_denylist"),
    "Memory": ("memory", "buffer", "slop", "host_offload", "allocator", "temp_"),
    "Numerics and determinism": ("determin", "precision", "fast_m", "nan", "f16", "f32", "fp_", "ftz", "round"),
    "Partitioning (SPMD)": ("spmd", "shard", "partition"),
    "Dumps, profiles and checks": ("dump", "profile", "debug", "log", "verbose", "annotation", "check", "print"),
    "CPU": ("xla_cpu", "host_platform"),
    "LLVM, PTX and CUDA libraries": ("llvm", "ptx", "cuda_data", "libnv", "asm", "nvptx", "nvjitlink", "ir_"),
}
OTHERS = "Everything else"
WARNING = "<!-- Written by `python -m tools.make_docs`: change the tables it reads, not this file. -->"


def flags_page() -> str:
    """The text of docs/flags.md."""
    newest = known.releases()[-1]
    present = [name for name in known.names() if known.flag(name, newest)]
    removed = [name for name in known.names() if not known.flag(name, newest)]
    parts = [_flags_introduction(len(present), len(removed)), f"## Flags of jaxlib {newest}"]
    for subject, names in _by_subject(present):
        parts += [f"### {subject}", *map(_flag_section, names)]
    parts += ["## Flags that were removed", *map(_flag_section, removed)]
    return "\n\n".join(parts) + "\n"


def presets_index() -> str:
    """The text of docs/presets/index.md."""
    introduction = (
        f"{WARNING}\n\n# Presets\n\nFind your program in the list. If no preset fits, [tune](../tune.md) searches for settings "
        'that make it faster. Join presets with `+`: `configure("fsdp+reproducible")`.\n\nEach preset has a page. It says '
        "what the preset is for, where it comes from, what was measured, and every setting with its condition and its reason. "
        "Settings have their newest names there; they are translated to the installed release. What a release does by default "
        "is not set. Raw data are in the file under `benchmarks/results` that the evidence names. Evidence that names no file "
        "was measured before the suite existed, by programs and data that were not kept."
    )
    kinds = {
        "maintained": "hold what was measured to help, and say where. `debug` and `reproducible` are not for speed, and have no measurement. `fast_compile` makes steps slower",
        "published": "are recipes that others have published, under their own names",
    }
    parts = [introduction]
    for kind, what in kinds.items():
        rows = [f"- [{p.name}]({p.name}.md): {p.summary}" for p in all_presets() if p.kind == kind]
        parts += [f"## {kind.capitalize()}", f"These {what}.", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _flags_introduction(present: int, removed: int) -> str:
    first, newest = known.releases()[0], known.releases()[-1]
    return (
        f"{WARNING}\n\n# The XLA flags of jaxlib\n\n"
        f"This page lists every flag of the {len(known.releases())} releases of jaxlib from {first} to {newest}: {present} that the "
        f"newest has, and {removed} that were removed. `jaxgpu-tune explain NAME` says the same about one flag, and what holds on your "
        "machine.\n\nNames, types, defaults, values and releases were read from the released wheels by `python -m tools.read_flags`, "
        "and asked of their parsers. Notes, traps and translations are this project's own. The text after *XLA:* is the binary's own "
        "help text, shortened if it is long.\n\n"
        '*Surfaces* says where a flag can be set. `XLA_FLAGS` takes every flag. "compile option" means that '
        '`jit(compiler_options=)` takes it, too. "process-wide" means that it acts on the whole process: set it in `XLA_FLAGS`, even '
        "if `jit` takes it."
    )


def _by_subject(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {subject: [] for subject in (*SUBJECTS, OTHERS)}
    for name in names:
        groups[_subject(name)].append(name)
    return ((subject, members) for subject, members in groups.items() if members)


def _subject(name: str) -> str:
    if name.startswith("xla_cpu"):
        return "CPU"
    return next((subject for subject, words in SUBJECTS.items() if any(word in name for word in words)), OTHERS)


def _flag_section(name: str) -> str:
    """One flag: its facts as a list, then what there is to say of it."""
    lives = known.life(name)
    release = known.releases()[-1] if lives[-1][1] is None else lives[-1][1]
    spec = known.flag(name, release)
    assert spec is not None
    told = explain(name, release)
    note = all_notes().get(name)
    rows = {
        "Type": spec.form if spec.form in ("enum", "list", "map", "duration", "ranges") else spec.type,
        "Default": _defaults(name),
        "Releases": _lives(name),
        "Surfaces": _surfaces(name, compile_option=spec.compile_option),
        "Values": _members(spec.members),
        "Note": f"{note.does} ([source]({note.source}))" if note and note.source else note.does if note else "",
        "Trap": told.traps,
        "XLA": _shortened(known.help_text(name)),
        "Hazard": " ".join(dict.fromkeys(told.hazards)),
        "In other releases": "; ".join(map(_rule, RULES.get(name, ()))),
        "Presets": ", ".join(f"`{preset}`: `{value}`" for preset, value in USES.get(name, ())),
    }
    return "\n".join([f"#### {name}\n", *(f"- {label}: {text}" for label, text in rows.items() if text)])


def _defaults(name: str) -> str:
    """The newest default, and the older ones with the release since which each held."""
    history: list[tuple[str, str]] = []
    for release in known.releases():
        spec = known.flag(name, release)
        if spec is not None and (not history or history[-1][1] != spec.default):
            history.append((release, spec.default))
    *older, (since, newest) = history
    if not older:
        return _code(newest)
    before = ", ".join(f"{_code(text)} from {release}" for release, text in older)
    return f"{_code(newest)} since {since} ({before})"


def _lives(name: str) -> str:
    spans = [f"{first} on" if last is None else f"{first} to {last}" for first, last in known.life(name)]
    return ", ".join(spans)


def _surfaces(name: str, *, compile_option: bool) -> str:
    process = "process-wide" if name in PROCESS_WIDE else ""
    return ", ".join(filter(None, ["`XLA_FLAGS`", "compile option" if compile_option else "", process]))


def _members(members: tuple[str, ...]) -> str:
    shown = ", ".join(map(_code, members[:COMMON_MEMBERS]))
    return f"{shown} and {len(members) - COMMON_MEMBERS} more" if len(members) > COMMON_MEMBERS else shown


def _shortened(text: str) -> str:
    """The first sentences that fit, on one line, with nothing that Markdown would read."""
    words = " ".join(text.split())
    if len(words) > HELP_LENGTH:
        words = words[:HELP_LENGTH].rsplit(" ", 1)[0] + " …"
    return words.translate({ord(sign): f"\\{sign}" for sign in "\\`*_<>[]|"})


def _rule(rule: Rule) -> str:
    became = " ".join(_code(written(*one)) for one in rule.targets) or "nothing"
    if rule.each is not None:
        became = ", ".join(_code(written(*one)) for one in rule.each.values())
    return f"{_condition(rule)} becomes {became}: {rule.intent}"


def _condition(rule: Rule) -> str:
    if rule.values is not None:
        return " or ".join(map(_code, rule.values))
    if rule.at_least is not None:
        return f"{rule.at_least:g} or more"
    return f"below {rule.below:g}" if rule.below is not None else "each member" if rule.each else "any value"


def _advice(advice: tuple[str, Mapping[str, object]]) -> str:
    text, when = advice
    return f"- {text}" + (f" ({_demands(when)})" if when else "")


def preset_page(preset: Preset) -> str:
    """The text of docs/presets/NAME.md."""
    use = [f"**Use it when:** {preset.use_when}"] if preset.use_when else []
    parts = [WARNING, f"# {preset.name}", *use, preset.summary, f"Kind: {preset.kind}."]
    if preset.source:
        source = f"<{preset.source}>" if preset.source.startswith("http") else preset.source
        parts.append(f"Source: {source}" + (f", revision {preset.revision}." if preset.revision else ""))
    if preset.call:
        parts.append(f"All that the source does, in one call:\n\n```python\n{preset.call.strip()}\n```")
    if preset.evidence:
        parts.append("Evidence:\n\n" + "\n".join(f"- {line}" for line in preset.evidence))
    measured = next((one.measured for one in preset.settings if one.measured), None)
    if measured:
        parts.append(f"Measured where: {_demands(measured)}.")
    if preset.memory_fraction is not None:
        parts.append(f"Memory fraction: {_code(str(preset.memory_fraction))}.")
    parts.append(_settings_table(preset.settings) if preset.settings else "It sets nothing.")
    if preset.advice:
        parts.append("Beyond settings:\n\n" + "\n".join(map(_advice, preset.advice)))
    return "\n\n".join(parts) + "\n"


def _settings_table(settings: Iterable[Setting]) -> str:
    rows = ["| setting | where | why |", "| --- | --- | --- |"]
    rows += [f"| {_named(one)} | {_where(one)} | {_cell(one.reason)} |" for one in settings]
    return "\n".join(rows)


def _named(setting: Setting) -> str:
    return _code(_cell(written(setting.kind, setting.name, setting.value)))


def _where(setting: Setting) -> str:
    return _demands(setting.when) or "everywhere"


def _demands(conditions: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_cell(str(value))}" for key, value in conditions.items())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`" if text else "empty"


def _rules_by_flag() -> dict[str, tuple[Rule, ...]]:
    found: dict[str, tuple[Rule, ...]] = {}
    for rule in all_rules():
        if rule.kind == "xla_flag":
            found[rule.name] = (*found.get(rule.name, ()), rule)
    return found


def _uses_by_flag() -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, dict[tuple[str, str], None]] = {}
    for preset in all_presets():
        for one in preset.settings:
            if one.kind == "xla_flag":
                found.setdefault(one.name, {})[preset.name, str(one.value) or '""'] = None
    return {name: tuple(uses) for name, uses in found.items()}


RULES = _rules_by_flag()
USES = _uses_by_flag()
PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "flags.md": flags_page,
    DOCS / "presets" / "index.md": presets_index,
    **{DOCS / "presets" / f"{preset.name}.md": partial(preset_page, preset) for preset in all_presets()},
}


def stale_pages() -> dict[Path, str]:
    """Each page that is not as it would be written, and what it should say."""
    pages = {path: page() for path, page in PAGES.items()}
    return {path: text for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text}


def main() -> int:
    """Show the difference, and without ``--check`` write it."""
    parser = argparse.ArgumentParser(prog="python -m tools.make_docs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would be written")
    check = parser.parse_args().check
    stale = stale_pages()
    for path, text in stale.items():
        before = path.read_text("utf-8").splitlines() if path.exists() else []
        sys.stdout.writelines(
            f"{line}\n"
            for line in difflib.unified_diff(
                before, text.splitlines(), path.name, path.name, "committed", "generated", lineterm="", n=1
            )
        )
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
