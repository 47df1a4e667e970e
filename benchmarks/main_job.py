"""The main job on a real machine: configure() in each form of use, what XLA says took effect.

Stages (all by default): ``machine`` writes what was detected; ``forms`` trains the example as a script, a decorated entry
point and IPython cells, and compares the reported flags with the debug options that XLA dumps; ``presets`` trains it
with each preset and compares the loss with the default's. Writes JSON to the folder given. Presets that turn NVLink
multicast (NVLS) on are left out. How fast each is, ``python -m benchmarks.suite`` measures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.outcome import told_in

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [str(ROOT / "examples")]
TRAIN = """
import json, sys, time
sys.path[:0] = {folders!r}
import jaxgpu_tune
report = jaxgpu_tune.configure({preset!r}, **{arguments!r})
import sharded_transformer as training
started = time.perf_counter()
result = training.train(training.size_from({size!r}))
print("\\x01" + json.dumps({{"report": report.to_dict(), "losses": result.losses, "seconds": time.perf_counter() - started}}))
"""
FORMS = {
    "script": TRAIN,
    "decorator": """
import json, sys
sys.path[:0] = {folders!r}
import jaxgpu_tune
@jaxgpu_tune.configured({preset!r}, **{arguments!r})
def main():
    import sharded_transformer as training
    result = training.train(training.size_from({size!r}))
    again = jaxgpu_tune.configure({preset!r}, **{arguments!r})
    print("\\x01" + json.dumps({{"report": again.to_dict(), "losses": result.losses}}))
main()
""",
    "ipython": """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(code):
    shell.run_cell(code).raise_error()
cell("import sys, json; sys.path[:0] = {folders!r}")
cell("import jaxgpu_tune; report = jaxgpu_tune.configure({preset!r}, **{arguments!r}); report")
cell("import sharded_transformer as training; result = training.train(training.size_from({size!r}))")
cell("print(chr(1) + json.dumps({{'report': report.to_dict(), 'losses': result.losses}}))")
""",
}


def main() -> int:
    """Run the stages; exit code 1 if a check failed."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    facts = jaxgpu_tune.detect().to_dict()
    failures: list[str] = []
    for stage in given.stages:
        result = STAGES[stage](given)
        failures += result.get("failures", [])
        path = given.out / f"main-job-{stage}-{given.name}.json"
        path.write_text(json.dumps({"machine": facts, **result}, indent=1) + "\n")
        print(f"{stage}: {'; '.join(result.get('failures', [])) or 'fine'} -> {path.name}", flush=True)
    return 1 if failures else 0


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="cpu", help="of the machine, for the files' names")
    parser.add_argument("--stages", nargs="+", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--small", default="--layers 4 --steps 8", help="the example's size")
    return parser.parse_args()


def machine(given: argparse.Namespace) -> dict[str, Any]:
    """What was detected."""
    del given
    return {"detected": jaxgpu_tune.detect().to_dict()}


def forms(given: argparse.Namespace) -> dict[str, Any]:
    """Each form of use trains, and XLA's dumped options hold every reported flag."""
    found = {form: _form(code, given.small.split()) for form, code in FORMS.items()}
    return {"forms": found, "failures": [f"{form}: {why}" for form, one in found.items() for why in one["failures"]]}


def _form(code: str, size: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        told = _child(code, "fsdp", size, {"XLA_FLAGS": f"--xla_dump_to={folder}"})
        if "error" in told:
            return {"failures": [told["error"]]}
        dumped = _dumped_options(Path(folder))
    flags = dict(re.findall(r"--([^\s=]+)=(\S*)", told["report"]["xla_flags"]))
    checked = {name: [value, dumped.get(name, [])] for name, value in flags.items() if name != "xla_dump_to"}
    wrong = [
        f"{name}={value} but XLA dumped {seen}" for name, (value, seen) in checked.items() if not _agrees(value, seen)
    ]
    failures = wrong if dumped else ["XLA dumped no debug options"]
    return {"flags": checked, "losses": told["losses"], "failures": failures}


def _dumped_options(folder: Path) -> dict[str, list[str]]:
    """The options of the module with the most text: the training step."""
    files = sorted(folder.rglob("*debug_options*"), key=lambda path: path.stat().st_size)
    found: dict[str, list[str]] = {}
    for line in files[-1].read_text().splitlines() if files else ():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), []).append(value.strip().strip('"'))
    return found


def _agrees(value: str, seen: list[str]) -> bool:
    return any(value.lower() == one.lower() or one.lower().endswith(f"_{value.lower()}") for one in seen)


def presets(given: argparse.Namespace) -> dict[str, Any]:
    """Every preset that leaves NVLS alone starts the example, with the default's loss."""
    size = given.small.split()
    names = [p.name for p in jaxgpu_tune.presets() if not any("NVLS" in s.name for s in p.settings)]
    default = _child(TRAIN, "none", size)
    found = {name: _child(TRAIN, name, size) for name in names}
    failures = [f"{name}: {one['error'][-300:]}" for name, one in found.items() if "error" in one]
    rows = {
        name: {
            "xla_flags": one["report"]["xla_flags"],
            "environ": one["report"]["environ"],
            "losses": one["losses"],
            "loss_difference": max(abs(a - b) for a, b in zip(one["losses"], default["losses"], strict=True)),
            "seconds": one["seconds"],
        }
        for name, one in found.items()
        if "error" not in one
    }
    return {"default_losses": default.get("losses"), "presets": rows, "failures": failures}


def _child(
    code: str,
    preset: str,
    size: list[str],
    environ: dict[str, str] | None = None,
) -> dict[str, Any]:
    """What one training process told; ``error`` holds the end of its stderr if it failed."""
    values = {
        "arguments": {"prefer": "preset"},
        "size": size,
        "folders": FOLDERS,
        "preset": preset,
    }
    if preset == "none":
        values |= {"preset": "single_gpu"}
    text = code.format(**values)
    env = {**os.environ, **(environ or {}), "PYTHONPATH": str(ROOT)}
    child = subprocess.run(
        [sys.executable, "-c", text], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    told = told_in(child.stdout)
    if child.returncode or told is None:
        return {"error": f"status {child.returncode}: {child.stderr[-1500:]}"}
    return dict(told)


STAGES = {"machine": machine, "forms": forms, "presets": presets}

if __name__ == "__main__":
    sys.exit(main())
