"""The main job on a real machine: configure() in each form of use, and what XLA says took effect.

Trains the example as a script, a decorated entry point and IPython cells, and compares the reported flags with the debug options
that XLA dumps. Writes JSON to the folder given. How fast each preset is, and its losses, ``python -m benchmarks.suite`` measures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jaxgpu_tune
from benchmarks.told import told_by

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [str(ROOT / "examples")]
TRAIN = """
import json, sys
sys.path[:0] = {folders!r}
import jaxgpu_tune
report = jaxgpu_tune.configure("fsdp", prefer="preset")
import sharded_transformer as training
result = training.train(training.size_from({size!r}))
print("\\x01" + json.dumps({{"report": report.to_dict(), "losses": result.losses}}))
"""
FORMS = {
    "script": TRAIN,
    "decorator": """
import json, sys
sys.path[:0] = {folders!r}
import jaxgpu_tune
@jaxgpu_tune.configured("fsdp", prefer="preset")
def main():
    import sharded_transformer as training
    result = training.train(training.size_from({size!r}))
    again = jaxgpu_tune.configure("fsdp", prefer="preset")
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
cell("import jaxgpu_tune; report = jaxgpu_tune.configure('fsdp', prefer='preset'); report")
cell("import sharded_transformer as training; result = training.train(training.size_from({size!r}))")
cell("print(chr(1) + json.dumps({{'report': report.to_dict(), 'losses': result.losses}}))")
""",
}


def main() -> int:
    """Train in each form; exit code 1 if a check failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--name", default="cpu", help="of the machine, for the file's name")
    parser.add_argument("--small", default="--layers 4 --steps 8", help="the example's size")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = {form: trained(code, given.small.split()) for form, code in FORMS.items()}
    failures = [f"{form}: {why}" for form, one in found.items() for why in one["failures"]]
    path = given.out / f"main-job-forms-{given.name}.json"
    told = {"machine": jaxgpu_tune.detect().to_dict(), "forms": found, "failures": failures}
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{'; '.join(failures) or 'fine'} -> {path.name}", flush=True)
    return 1 if failures else 0


def trained(code: str, size: list[str]) -> dict[str, Any]:
    """One form of use: the reported flags, each with what XLA's dumped options hold, the losses, and what is wrong."""
    text = code.format(folders=FOLDERS, size=size)
    with tempfile.TemporaryDirectory() as folder:
        told = told_by(["-c", text], {**os.environ, "XLA_FLAGS": f"--xla_dump_to={folder}"}, 300)
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


if __name__ == "__main__":
    sys.exit(main())
