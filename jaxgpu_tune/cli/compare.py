"""``jaxgpu-tune compare VARIANT… -- COMMAND…``."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

from ..wording import bad_argument
from .call_options import PLAN, plan_arguments
from .measuring import (
    BUDGET,
    HIGHER,
    PAIRS,
    SECONDS,
    TIMEOUT,
    WHOLE,
    all_of,
    check_metric,
    check_output,
    end_as_by_ctrl_c,
    lengths,
)
from .output import INTERRUPTED, print_json, say, show
from .parameters import COMMAND, Argument, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..measure.comparison import Comparison
    from ..measure.protocol import Arm, Protocol


__all__ = ["EXAMPLES", "PARAMETERS", "command"]


def is_variant(word: str) -> bool:
    """Whether a word names variants, and no command."""
    from ..knowledge.presets import preset_names
    from .completion import VARIANTS

    known = (*VARIANTS, *preset_names())
    return all(part.strip() in known or part.endswith(".toml") for part in word.split("+"))


PARAMETERS = (
    SECONDS,
    WHOLE,
    Option("metric", "--metric", "text", "Compare a number that the program prints: its pattern.", "REGEX"),
    HIGHER,
    Option("percentile", "--percentile", "text", "Compare this percentile of the steps' times.", "P"),
    TIMEOUT,
    BUDGET,
    Option(
        "caches", "--caches", "text", "Compile anew in each run, or keep it.", choices=("cold", "warm"), default="cold"
    ),
    PAIRS,
    Option("pythons", "--python", "many", "Compare interpreters (two or more), as after an upgrade.", "PYTHON"),
    Option("save", "--save", "text", "Write the winner's settings there as a preset (TOML).", "FILE"),
    Option("result", "--result", "text", "Write all of it there as JSON.", "FILE"),
    Option("keep", "--keep", "text", "Keep what the runs wrote there.", "FOLDER"),
    *PLAN[1:],
    Option("as_json", "--json", "switch", "Print the result as JSON."),
    Argument("names", "[VARIANT]...", many=True, completes="variant", takes=is_variant),
    COMMAND,
)
EXAMPLES = (
    (
        "jaxgpu-tune compare none fsdp fsdp+mine.toml -- python train.py --steps 2000",
        "which settings pay on this program",
    ),
    ("jaxgpu-tune compare clean none -- ./start.sh", "whether what is set in this shell pays"),
    (
        "jaxgpu-tune compare none fsdp --metric 'tokens/s ([\\d.]+)' --higher-is-better -- python train.py",
        "by the program's own number",
    ),
    ("jaxgpu-tune compare --python old/bin/python --python new/bin/python -- python train.py", "what an upgrade does"),
    (
        "jaxgpu-tune compare none simulation --budget 10m --save best.toml -- python train.py --out {run}",
        "and keep the winner",
    ),
)


def command(names: tuple[str, ...], program: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Tell which variant makes COMMAND faster: it runs in turns with each, unchanged, until a verdict stands.

    VARIANT: a preset, presets joined by +, or the path of a TOML file; none (nothing of this library; what is set stays);
    clean (what is set is removed, too). The first is the reference. "faster" is said only if six pairs of runs agree and
    the median differs by half a percent. Each run is ended once its steps are measured; {run} in COMMAND is an empty folder of its own, as is
    JAXGPU_TUNE_RUN_DIR. The options of `run` hold for every variant that has a preset.
    """
    protocol = _protocol(given)
    unasked = None if as_json else f"compare-{time.strftime('%Y%m%d-%H%M%S')}.json"
    result = given["result"] or unasked
    all_of(lambda: check_output("--save", given["save"]), lambda: check_output("--result", result))
    arms = _arms(names, program, given)
    _tell_empty(arms)
    found = _compared(arms, protocol, given["keep"])
    found = found._replace(command=shlex.join(["jaxgpu-tune", *sys.argv[1:]]), machine=_machine())
    if as_json:
        print_json(found.to_dict())
    else:
        show(str(found))
    was_measured = found.reference.status == "ok" and found.reference.value is not None
    if result and (given["result"] or was_measured):
        _write(found, result)
    if given["save"]:
        _save(found, given["save"])
    if found.ended == "interrupted":
        return INTERRUPTED
    return 1 if found.reference.status != "ok" else 0


def _tell_empty(arms: tuple[Arm, ...]) -> None:
    """Before hours are spent on a variant that is the reference again."""
    from ..measure.doubts import EMPTY_VARIANT

    for one in (one for arm in arms for one in arm.findings if one.code == EMPTY_VARIANT):
        say(f"{one.severity}: {one.message}", sys.stderr)


def _protocol(given: dict[str, Any]) -> Protocol:
    from ..measure.protocol import Protocol

    times, percentile, *_ = all_of(
        lambda: lengths(given),
        lambda: _percentile(given["percentile"]),
        lambda: check_metric(given),
        lambda: _check_pairs(given["pairs"]),
    )
    return Protocol(
        pairs=given["pairs"],
        whole=given["whole"],
        metric=given["metric"],
        higher_is_better=given["higher_is_better"],
        percentile=percentile,
        caches=given["caches"],
        **times,
    )


def _check_pairs(pairs: int) -> None:
    if pairs < 1:
        raise bad_argument(f"--pairs {pairs} is not valid; allowed: whole numbers of at least 1.")


def _percentile(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 100:
        raise bad_argument(f"--percentile {text!r} is not valid; allowed: a number between 0 and 100, such as 99.")
    return found


def _arms(names: tuple[str, ...], program: tuple[str, ...], given: dict[str, Any]) -> tuple[Arm, ...]:
    from ..arms import arms_of, python_arms

    plan = plan_arguments({name: value for name, value in given.items() if name in _PLAN})
    if given["pythons"]:
        if len(given["pythons"]) < 2 or len(names) > 1:
            raise bad_argument(
                "--python compares interpreters: give two or more, and at most one VARIANT for all of them."
            )
        return python_arms(given["pythons"], names[0] if names else "none", program, os.environ, **plan)
    if len(names) < 2:
        raise bad_argument(
            f"There is nothing to compare: {len(names)} VARIANT was given.",
            "Give two or more, the reference first, such as: none fsdp.",
        )
    return arms_of(names, program, os.environ, **plan)


_PLAN = {parameter.name for parameter in PLAN[1:]}


def _compared(arms: tuple[Arm, ...], protocol: Protocol, keep: str | None) -> Comparison:
    from ..measure.compare import compare_programs
    from .progress import listener

    end_as_by_ctrl_c()
    with tempfile.TemporaryDirectory(prefix="jaxgpu-tune-", ignore_cleanup_errors=True) as place, listener() as told:
        return compare_programs(arms, protocol, folder=keep or place, listener=told)


def _machine() -> dict[str, Any]:
    from ..api import detect

    return detect().to_dict()


def _write(found: Comparison, path: str) -> None:
    import json

    Path(path).write_text(json.dumps(found.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"All runs, machine and versions: {path}", sys.stderr)


def _save(found: Comparison, path: str) -> None:
    from ..measure.saving import comparison_preset

    if found.winner is found.reference:
        say(f"Nothing was shown to be faster than {found.reference.name}, so {path} was not written.", sys.stderr)
        return
    Path(path).write_text(comparison_preset(found), encoding="utf-8")
    say(f'{found.winner.name} is saved: jaxgpu_tune.configure("{path}"), or `jaxgpu-tune run {path} -- …`', sys.stderr)
