"""The house itself: its layers, what importing it costs, its surface, and that its two commands are the ones that CI runs."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

import jaxgpu_tune
from tests.child import told
from tools.house import function_lines, functions_of, parsed, statements

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "jaxgpu_tune"

LAYERS = (
    {"values", "errors", "machine", "model", "machine_file", "arguments", "named", "own_files", "state", "wording"},
    {"knowledge"},
    {"planning"},
    {"host", "render"},
    {"proof"},
    {"pipeline", "session"},
    {"measure"},
    {"pgle"},
    {"asking", "flag_texts"},
    {"api"},
    {"arms", "comparing", "decorator", "in_process", "searching"},
    {"cli"},
    {"notebook", "__init__", "__main__"},
)
"""Lowest first; a module imports from its own layer and those below."""

ALONE = {"comms"}
"""Stands alone: imports nothing of the others, and no one imports it."""

EXCEPTIONS = {
    ("machine", "render"): "a machine's HTML imports render inside the method",
    ("model", "planning"): "what a report shows of itself is masked inside the methods",
    ("model", "render"): "str(report) and its HTML import render inside the method",
    ("model", "session"): "report.restore() plans what is left of the calls inside the method",
}
"""The named exceptions; each is imported inside a function, never at the top."""

LATE = {
    *("host.nvml", "host.visible", "host.probe", "host.compilation_cache", "host.distributed"),
    *("knowledge.flag_values", "knowledge.hazards", "knowledge.options", "knowledge.translations"),
    *("planning.findings.faults", "planning.findings.compiler", "planning.findings.deprecated"),
    "planning.findings.unified",
    *(
        "planning.findings.buffers",
        "planning.findings.gpu_faults",
        "planning.findings.pool_faults",
        "planning.xla_flags.repair",
    ),
    *("planning.xla_flags.spelling", "planning.settings.variable_checks"),
    "knowledge.variables",
    *("decorator", "machine_file", "notebook", "proof", "proof.verification", "render"),
}
"""What only GPUs, a preset's settings, an XLA_FLAGS that is set, other settings, or other calls need."""

HEAVY = ("jax", "jaxlib", "numpy", "click", "rich", "pynvml", "platformdirs", "importlib.metadata")

RUN = 'python -m venv v && v/bin/pip install ".[cpu]" && v/bin/python examples/fsdp_training.py'
PYTEST = "-m pytest -n auto"
QUICK = f'{PYTEST} -m "not slow"'
TEST = f'python -m venv v && v/bin/pip install ".[cpu,test]" && v/bin/python {QUICK}'

SURFACE = {
    *("BadFlagValue", "BadSetting", "BadXlaFlags", "JaxGpuTuneError", "ProbeFailed", "TooEarly", "TooLate"),
    *("UnknownArgument", "UnknownFlag", "UnknownPreset"),
    *(
        "Comparison",
        "Profile",
        "Decision",
        "Explanation",
        "Finding",
        "Gpu",
        "Machine",
        "Migration",
        "Preset",
        "Report",
        "Tuned",
        "Verification",
    ),
    *(
        "check",
        "check_processes",
        "compare",
        "compiler_options",
        "configure",
        "configured",
        "detect",
        "environ",
        "explain",
    ),
    *("migrate", "plan", "presets", "profile", "step", "steps", "tune", "verify"),
}
"""The contract's names."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LINES = 30


def unit(path: Path) -> str:
    """The part of the house that a module belongs to: the name of its folder or file right below the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layer(name: str) -> int:
    """The number of a part's layer."""
    return next((number for number, names in enumerate(LAYERS) if name in names), -1)


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """(part of this package, whether at the top of the module) for each import in a module; type-checking ones do not count."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, bool]]:
    tree = parsed(path.read_text())
    top = {id(node) for node in statements(tree, later=False)}
    for node in statements(tree, later=True):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((part, id(node) in top) for part in parts(node, path))


def parts(node: ast.Import | ast.ImportFrom, path: Path) -> set[str]:
    """The parts of this package that one import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name.split(".") for alias in node.names]
        return {[*name, "__init__"][1] for name in names if name[0] == "jaxgpu_tune"}
    here = ["jaxgpu_tune", *path.relative_to(PACKAGE).parts[:-1]]
    base = here[: len(here) - node.level + 1] if node.level else []
    full = [*base, *(node.module or "").split(".")] if node.module else base
    if not full or full[0] != "jaxgpu_tune":
        return set()
    return {full[1]} if len(full) > 1 else {alias.name for alias in node.names}


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def upward(path: Path) -> Iterator[str]:
    """Each import of a module that is of no layer below its own."""
    mine = unit(path)
    for other, at_top in imports(path):
        if other == mine or ((mine, other) in EXCEPTIONS and not at_top):
            continue
        if {mine, other} & ALONE:
            yield f"imports {other}, but {ALONE} stands alone"
        if not 0 <= layer(other) <= layer(mine):
            yield f"{mine} (layer {layer(mine)}) imports {other} (layer {layer(other)})"


def test_imports_point_downward() -> None:
    """A layer knows only itself and those below, but for the named exceptions, which are never at the top."""
    found = {str(path.relative_to(PACKAGE)): [*upward(path)] for path in modules()}
    assert {module: wrong for module, wrong in found.items() if wrong} == {} and len(found) > 200


def test_functions_and_files_are_short() -> None:
    """A function has at most 30 lines, a file 300: what is longer does more than one thing. Ruff holds branches (at most 10)."""
    texts = {str(path.relative_to(PACKAGE)): path.read_text() for path in modules()}
    long = [
        (where, one.name) for where, text in texts.items() for one in functions_of(text) if function_lines(one) > LINES
    ]
    assert long == [] == [where for where, text in texts.items() if len(text.splitlines()) > 300]


def test_every_module_has_a_layer() -> None:
    """A new folder is given its place here."""
    assert {unit(path) for path in modules() if layer(unit(path)) < 0} <= ALONE


def test_the_exceptions_are_needed() -> None:
    """An exception that nothing uses any more is taken off the list."""
    found = {(unit(path), other) for path in modules() for other, at_top in imports(path) if not at_top}
    assert set(EXCEPTIONS) <= found


NOWHERE = r"\bR\d\d\b|[Ss]emantics \d|\bDESIGN\b"
"""Numbers of reports and names of papers that are not in the repository."""


def test_every_reference_leads_somewhere() -> None:
    """A fact is said with the address of its source, or in a sentence; only the tests of reports go by numbers."""
    texts = [*modules(), *(ROOT / "tools").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert [path.name for path in texts if re.search(NOWHERE, path.read_text(encoding="utf-8"))] == []


WITHOUT_TEST = {
    "__main__.py": "one call, which every test of a command in a process of its own goes through",
    "host/nvml_answer.py": "a value; what NVML answers is tried in test_nvml",
    "knowledge/flag_spec.py": "values; what they mean is tried in test_flags and test_flag_values",
    "named.py": "a value; how it is filled is tried in host/test_looked_up",
}
"""Modules that hold nothing to be tried by itself."""


def test_every_module_has_a_test_of_its_name() -> None:
    """In the same folder; one that has got a test is taken off the list."""
    mine = [path.relative_to(PACKAGE) for path in modules() if path.name != "__init__.py"]
    tests = ROOT / "tests"
    without = {path.as_posix() for path in mine if not (tests / path.parent / f"test_{path.name}").exists()}
    assert without == set(WITHOUT_TEST)


FOR_THE_SAME = {"cli": "its command", "render": "its rendering"}
"""Folders whose modules are called as what they are for: beside that one, no other module has the name."""


def test_a_module_has_a_name_of_its_own() -> None:
    """But for a command and a rendering, which are called as what they are for."""
    others = [path.name for path in modules() if path.name != "__init__.py" and unit(path) not in FOR_THE_SAME]
    assert {name for name in others if others.count(name) > 1} == set()


AS_API = {"announce", "check_processes", "explain", "verify"}
"""What a public function leads to may be called as it is."""

SAME_QUESTION = {"known", "life", "names", "releases"}
"""Asked of flags and of options alike: ``flags.known(name)``, ``options.known(name)``."""

ENTRY = {"command", "main"}
"""What a command line calls, in each module that has one."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """All of a module, also those inside others."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_a_public_name_is_one_modules() -> None:
    """A name says what it is wherever it is read; ``_private`` ones belong to their module."""
    kinds = (*FUNCTIONS, ast.ClassDef)
    held = {path: {n.name for n in parsed(path.read_text()).body if isinstance(n, kinds)} for path in modules()}
    names = [name for found in held.values() for name in found if not name.startswith("_")]
    repeated = {name for name in names if names.count(name) > 1}
    assert repeated == AS_API | SAME_QUESTION | ENTRY


SHORT = 45
"""Characters of a body that several functions may share."""


def body(function: ast.FunctionDef) -> str:
    """What a function does, whatever its arguments and variables are called."""
    given = [argument.arg for argument in function.args.args]
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    numbers = {name: f"_{at}" for at, name in enumerate(dict.fromkeys([*given, *stored]))}
    lines = function.body[1:] if ast.get_docstring(function) else function.body
    text = "\n".join(map(ast.unparse, lines))
    return re.sub(r"\b[a-z_]\w*\b", lambda found: numbers.get(found[0], found[0]), text)


def test_no_function_is_written_twice() -> None:
    """What two modules need has one home."""
    found: dict[str, list[str]] = {}
    for path in modules():
        for function in functions(parsed(path.read_text())):
            if len(text := body(function)) > SHORT:
                found.setdefault(text, []).append(f"{path.relative_to(PACKAGE)}:{function.name}")
    assert [places for places in found.values() if len(places) > 1] == []


def loaded_by(code: str) -> set[str]:
    """Which of the heavy modules a fresh process has loaded after ``code``."""
    script = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    """In a fresh process, so that nothing that the tests imported counts."""
    assert loaded_by("import jaxgpu_tune") == set()


@pytest.mark.parametrize("name", ["numpy", "click", "rich", "importlib.metadata"])
def test_the_import_test_can_fail(name: str) -> None:
    """What is imported beside the package is seen."""
    assert name in loaded_by(f"import jaxgpu_tune, {name}")


def test_the_common_way_imports_little() -> None:
    """Start-up: what the plan of a machine without a GPU does not need is not there after it."""
    code = """
        import sys
        from jaxgpu_tune.host import gpus
        gpus.NODES = ()
        import jaxgpu_tune
        jaxgpu_tune.configure("fsdp")
        tell(sorted(name for name in sys.modules if name.partition(".")[0] == "jaxgpu_tune"))
    """
    found = told(dedent(code))
    assert {f"jaxgpu_tune.{name}" for name in LATE}.isdisjoint(found)


def test_a_late_module_is_a_module() -> None:
    """A name that is moved is moved in the list as well."""
    assert {name for name in LATE if importlib.util.find_spec(f"jaxgpu_tune.{name}") is None} == set()


def test_a_plan_reads_few_of_the_flags() -> None:
    """Start-up: a preset for eight GPUs needs the lines of its own flags, and of those that they stand for."""
    path = ROOT / "tests" / "machines" / "h100x8.json"
    code = f"""
        import jaxgpu_tune, json
        from jaxgpu_tune.knowledge import flags
        machine = json.load(open({str(path)!r}))
        report = jaxgpu_tune.plan("fsdp", environ={{}}, machine=machine)
        tell([report.xla_flags.count("--"), flags._entry.cache_info().currsize])
    """
    emitted, read = told(dedent(code))
    assert 0 < emitted <= read < 20


def test_the_surface_is_the_contracts() -> None:
    """Every public name is one of the contract's, sorted, and is there."""
    names = jaxgpu_tune.__all__
    assert list(names) == sorted(names)
    assert set(names) <= SURFACE
    assert all(hasattr(jaxgpu_tune, name) for name in names)


def test_the_surface_holds_what_the_package_has() -> None:
    """A name of the contract that the package defines is public."""
    assert {name for name in SURFACE if hasattr(jaxgpu_tune, name)} == set(jaxgpu_tune.__all__)


def test_readme_gives_the_two_commands() -> None:
    """One that runs the main job and one that runs the tests."""
    readme = (ROOT / "README.md").read_text()
    assert RUN in readme and TEST in readme


def test_ci_runs_the_readmes_commands() -> None:
    """The same program; the quick tests with the same extra, and all of them on one Python with every extra, of which `test` is one."""
    script = (ROOT / ".ci" / "run").read_text()
    assert 'install ".[cpu,$3]"' in script and " dev\n" in script and " test\n" in script
    assert QUICK in script and f"{PYTEST} ||" in script and "examples/fsdp_training.py" in script
    assert 'dev = ["jaxgpu_tune[test,' in (ROOT / "pyproject.toml").read_text()


def test_version_is_written_alike() -> None:
    """In the package and in its metadata."""
    assert f'\nversion = "{jaxgpu_tune.__version__}"\n' in (ROOT / "pyproject.toml").read_text()
