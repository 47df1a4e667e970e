"""What is wrong with what a file sets: each with its line, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from cProfile import Profile
from functools import cache, partial
from itertools import product
from textwrap import dedent

import pytest

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.model import Finding
from jaxgpu_tune.planning.files.file_faults import file_faults

NEW = "0.11.2"
Check = Callable[[Mapping[str, str]], tuple[Finding, ...]]


def found(text: str, kind: str = "shell") -> list[tuple[int, str, str]]:
    """(line, severity, code) of each fault, for jaxlib 0.11.2."""
    reader = partial(file_faults, check=checker(NEW), migrate=migrator(NEW))
    return [(one.place.line, one.finding.severity, one.finding.code) for one in reader(dedent(text), kind)]


SHELL = """\
    #!/bin/sh
    export XLA_FLAGS="--xla_gpu_autotune_level=2 \\
      --xla_gpu_graph_level=0 \\
      --xla_gpu_autotune_levle=2 \\
      --xla_gpu_autotune_level=high"
    python train.py
    """


def test_each_flag_has_its_line() -> None:
    assert found(SHELL) == [
        (3, "error", "flag-translated"),
        (4, "error", "unknown-flag"),
        (5, "error", "bad-flag-value"),
    ]


def test_a_good_file_has_none() -> None:
    assert found("export XLA_FLAGS='--xla_gpu_autotune_level=2 --xla_dump_to=/tmp/x'\n") == []


def test_a_lone_carriage_return_ends_a_line_of_python() -> None:
    text = "import os, jax\rjax.devices()\ros.environ['XLA_FLAGS'] = '--xla_dump_to=x'\r"
    assert found(text, "python") == [(1, "error", "too-late")]


def test_what_only_the_whole_value_shows_is_told_once() -> None:
    """XLA stops at the stray word."""
    assert found("export XLA_FLAGS='--xla_gpu_autotune_level=2 threads=1'\n") == [(1, "warning", "stray-word")]


@pytest.mark.parametrize(
    ("flag", "severity"), [("--xla_gpu_graph_level=$L", "error"), ("--xla_gpu_autotune_level=$L threads=1", "warning")]
)
def test_what_hangs_on_the_run_is_told_as_far_as_it_can_be(flag: str, severity: str) -> None:
    assert found(f'export XLA_FLAGS="{flag}"\n') == [(1, severity, "flag-in-file")]


def test_python_and_docker_are_read_too() -> None:
    wrong = (2, "error", "flag-translated")
    python = "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_graph_level=0'\n"
    assert found(python, "python") == [wrong]
    assert found("FROM x\nENV XLA_FLAGS=--xla_gpu_graph_level=0\n", "dockerfile") == [wrong]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("shell", 'XLA_FLAGS+="{}--xla_gpu_autotune_level=2"'),
        ("shell", 'export XLA_FLAGS="$XLA_FLAGS{}--xla_gpu_autotune_level=2"'),
        ("python", 'os.environ["XLA_FLAGS"] += "{}--xla_gpu_autotune_level=2"'),
        ("python", 'os.environ["XLA_FLAGS"] += f"{}--xla_gpu_autotune_level={{level}}"'),
        ("python", 'flags = "--xla_gpu_enable_triton_gemm=false"\nflags += "{}--xla_gpu_autotune_level=2"\nos.environ["XLA_FLAGS"] = flags'),
    ],
)  # fmt: skip
def test_what_is_added_without_a_blank_is_told(kind: str, text: str) -> None:
    """XLA would read it as a part of the flag before it."""
    assert [code for _, _, code in found(text.format(""), kind)] == ["flag-in-file"]
    assert found(text.format(" "), kind) == []


FORMS = {
    "shell": [
        "export {name}={value}",
        '{name}="{value}" python train.py',
        "srun --export=ALL,{name}={value},HOME=/x python train.py",
        "#SBATCH --export={name}={value},ALL",
        "#PBS -v {name}={value}",
        "mpirun -x {name}={value} -n 8 python train.py",
        "mpiexec -genv {name} {value} python train.py",
        "docker run -e {name}={value} image",
        "docker run -e '{name}={value}' image",
        "bash -c 'cd /x; {name}={value} python train.py'",
        'ssh host "export {name}=\\"{value}\\"; python train.py"',
        "cat > job <<EOF\nexport {name}={value}\nEOF",
        "setenv {name} {value}",
        "set -gx {name} {value}",
        "set --global --export {name} {value}",
        "Environment={name}={value}",
    ],
    "dockerfile": [
        "ENV {name}={value} B=x",
        "ENV A=1 \\\n  {name}='{value}'",
        "ENV {name} {value}",
        "ARG {name}={value}",
    ],
    "dotenv": ["{name}={value}", "export {name}='{value}'", "{name} = {value} # why"],
    "makefile": [
        "export {name} := {value}",
        "{name} ?= {value}  # why",
        "train: export {name} = {value}\n",
        "train:\n\t{name}={value} python train.py",
    ],
    "yaml": [
        "env:\n- name: {name}\n  value: '{value}'",
        "env:\n- {{name: {name}, value: '{value}'}}",
        "environment:\n  {name}: {value}",
        "environment:\n- {name}={value}",
        "environment: {{A: x, {name}: {value}, B: y}}",
        "run: |\n  {name}={value} python train.py",
    ],
    "json": [
        '{{"containerEnv": {{"{name}": "{value}"}}}}',
        '{{"runArgs": ["-e", "{name}={value}"]}}',
        '{{"env": [{{"name": "{name}", "value": "{value}"}}]}}',
        '{{"env": [{{\n "name": "{name}",\n "value": "{value}"\n}}]}}',
    ],
    "toml": [
        'env = [{{ name = "{name}", value = "{value}" }}]',
        '[activation.env]\n{name} = "{value}"',
        'env = ["{name}={value}"]',
    ],
    "lua": ['setenv("{name}", "{value}")'],
    "python": [
        'os.environ["{name}"] = "{value}"',
        'os.environ.setdefault("{name}", "{value}")',
        'os.environ.update({{"{name}": "{value}"}})',
        'os.environ.update({name}="{value}")',
        'os.putenv("{name}", "{value}")',
        'chosen = "{value}"\nos.environ["{name}"] = chosen',
        'os.environ["{name}"] = "{value}" if big else "{value}"',
    ],
    "notebook": ['{{"cells": [{{"source": ["%env {name}={value}\\n", "import os"]}}]}}'],
    "text": ["{name}={value}"],
}
"""How each kind of file sets a variable."""
WRONG = {
    "XLA_PYTHON_CLIENT_MEM_FRACTION": ("90%", "bad-variable"),
    "NCCL_PROTO": ("FOO", "bad-variable"),
    "CUDA_DEVICE_MAX_CONNECTIONS": ("64", "bad-variable"),
    "JAX_ENABLE_X64": ("maybe", "bad-option-value"),
    "TF_GPU_ALLOCATOR": ("cuda_malloc_async", "variable-without-reader"),
    "NCCL_NVLS_ENABLED": ("1", "unknown-variable"),
    "JAXGPU_TUNE_PRESET": ("fspd", "unknown-preset"),
}


@pytest.mark.parametrize("kind", FORMS)
def test_every_form_of_a_kind_sets_every_variable(kind: str) -> None:
    """What is said is what is said of that environment."""
    said = {name: {finding.code for finding in checker(NEW)({name: value})} for name, (value, _) in WRONG.items()}
    assert said == {name: {code} for name, (_, code) in WRONG.items()}
    for form, (name, (value, _)) in product(FORMS[kind], WRONG.items()):
        text = form.format(name=name, value=value)
        assert {told for _, _, told in found(text, kind)} == said[name], text
        assert found(text.replace(name, "MY_OWN"), kind) == [], text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("shell", "export NCCL_ALGO=$A"),
        ("shell", "NCCL_ALGO+=,Ring"),
        ("makefile", "NCCL_ALGO = $(A)"),
        ("makefile", "t:\n\tNCCL_ALGO=$$A python x"),
        ("dockerfile", "ENV NCCL_ALGO=${A:-Ring}"),
        ("yaml", "environment:\n  NCCL_ALGO: ${A}"),
        ("json", '{"env": {"NCCL_ALGO": "${localEnv:A}"}}'),
        ("python", "os.environ['NCCL_ALGO'] = algorithm()"),
        ("python", "os.environ['NCCL_ALGO'] = f'{algorithm}'"),
    ],
)
def test_a_value_that_is_put_in_when_it_runs_is_told_and_not_judged(kind: str, text: str) -> None:
    assert [(severity, code) for _, severity, code in found(text, kind)] == [("note", "value-not-read")]
    assert found(text.replace("NCCL_ALGO", "SLURM_MINE"), kind) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("python", "print('NCCL_ALGO', algorithm)"),
        ("python", "x = os.environ.get('NCCL_ALGO', 'Foo')"),
        ("python", "NCCL_ALGO = 'Foo'"),
        ("python", "a = 'Foo'\nos.environ['SLURM_MINE'] = f'{a},Ring'\nos.environ['XLA_FLAGS'] = f'--xla_dump_to={a}'"),
        ("python", "n = 3\nos.environ['XLA_FLAGS'] = f'--xla_gpu_autotune_level={n}'"),
        ("python", "n = 3\nos.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=%d' % n"),
        ("python", "n = 3\nos.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level={}'.format(n)"),
        ("json", '{"env": ["XLA_FLAGS=--xla_gpu_autotune_level=3"]}'),
        ("toml", 'env = ["XLA_FLAGS=--xla_gpu_autotune_level=3"]'),
        ("shell", "# export NCCL_ALGO=Foo"),
        ("shell", 'if [ "$NCCL_ALGO" == Foo ]; then unset NCCL_ALGO; fi'),
        ("yaml", "environment:\n  NCCL_ALGO:\n  B: x"),
        ("yaml", "environment:\n- NCCL_ALGO\n"),
        ("shell", "export LIBTPU_INIT_ARGS='--xla_tpu_x=1 --xla_gpu_graph_level=0'"),
    ],
)
def test_what_sets_nothing_of_ours_is_not_told(kind: str, text: str) -> None:
    """Reading a variable, passing on the one that is set, names of a program's own, TPUs."""
    assert found(text, kind) == []


NEEDS = "export JAX_COMPILATION_CACHE_EXPECT_PGLE=yes\n"


def test_a_wrong_value_is_told_at_each_place() -> None:
    """Whoever mends one line sees the others too."""
    text = "NCCL_PROTO=FOO python a\nJAX_PLATFORMS=cuda python b\nNCCL_PROTO=FOO python c\n"
    assert [(line, code) for line, _, code in found(text, "shell")] == [(1, "bad-variable"), (3, "bad-variable")]


@pytest.mark.parametrize(("kind", "form"), [("shell", "export {}=1\n"), ("python", "os.environ['{}'] = '1'\n")])
def test_r74_what_each_of_two_causes_by_itself_is_told(kind: str, form: str) -> None:
    """Each would cause it without the other: https://github.com/jax-ml/jax/issues/13672"""
    both = "".join(map(form.format, ("TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC")))
    head = "import os\n" if kind == "python" else "#!/bin/sh\n"
    assert found(head + both, kind) == [(3, "warning", "deterministic-for-tensorflow-only")]


def test_r14_an_option_that_is_gone_is_told_at_each_place() -> None:
    text = "import jax\njax.config.update('jax_array', True)\njax.config.jax_array = True\n"
    assert found(text, "python") == [(line, "error", "flag-translated") for line in (2, 3)]


def test_settings_of_one_file_are_judged_together() -> None:
    """One may be what another needs, or what it does not bear; a value that is wrong by itself is told even so."""
    assert found(NEEDS) == [(1, "error", "pgle-needs-cache")]
    assert found(f"{NEEDS}export JAX_COMPILATION_CACHE_DIR=/no/such/folder\n") == []
    both = "export XLA_PYTHON_CLIENT_MEM_FRACTION=90%\nexport XLA_CLIENT_MEM_FRACTION=.5\n"
    assert [(line, code) for line, _, code in found(both)] == [(1, "bad-variable"), (2, "two-fractions")]


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("shell", "export {}={}\n"),
        ("dockerfile", "ENV {} {}\n"),
        ("dotenv", "{}={}\n"),
        ("python", "os.environ['{}'] = '{}'\n"),
        ("yaml", "- name: {}\n  value: '{}'\n"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_unified_memory_makes_room_for_a_fraction_above_1_wherever_it_stands(kind: str, form: str, order: int) -> None:
    """R12, R36: AlphaFold's own three settings."""
    fraction, unified = form.format("XLA_CLIENT_MEM_FRACTION", "3.2"), form.format("TF_FORCE_UNIFIED_MEMORY", "true")
    start = "import os\n" if kind == "python" else ""
    assert found(start + "".join([fraction, unified][::order]), kind) == []
    assert [code for _, _, code in found(start + fraction, kind)] == ["bad-variable"]
    off = form.format("TF_FORCE_UNIFIED_MEMORY", "0")
    assert [code for _, _, code in found(start + fraction + off, kind)] == ["bad-variable"]


@pytest.mark.parametrize(
    ("line", "severity", "code", "says"),
    [
        ("jax.config.update('jax_spmd_mode', 'allow_all')", "error", "flag-translated", "removed in jax 0.6.1"),
        ("jax.config.update('jax_array', True)", "error", "flag-translated", "removed in jax 0.4.14"),
        ("jax.config.update('jax_enable_pgel', True)", "error", "unknown-option", "raises AttributeError"),
        ("jax.config.update('jax_optimization_level', 'O9')", "error", "bad-option-value", "not 'O9'. jax.config raises."),
        ("jax.config.update('jax_exec_time_optimization_effort', 0.5)", "error", "flag-translated", "O1 stands for it"),
        ("jax.config.update('jax_of_nobody', 1)", "warning", "unknown-option", "No release of jax is known to have"),
        ("jax.config.jax_of_nobody = 1", "warning", "unknown-option", "No release of jax is known to have"),
        ("jax.config.jax_disable_jit = True", "warning", "jit-disabled", "nothing is compiled"),
        ("config.update('jax_transfer_guard', 'disallow')", "warning", "transfer-guard-disallow", ""),
    ],
)  # fmt: skip
def test_options_of_a_program_are_judged_as_their_variables_are(line: str, severity: str, code: str, says: str) -> None:
    """R14, R82: and nothing is claimed of configure(), which mends no line of a program."""
    (fault,) = file_faults(f"import jax\n{line}\n", "python", checker(NEW), migrator(NEW))
    assert (fault.place.line, fault.finding.severity, fault.finding.code) == (2, severity, code)
    assert says in fault.finding.message and "configure()" not in fault.finding.message


@pytest.mark.parametrize(
    "line", ["config.jax_of_nobody = 1", "bool_state(name='jax_of_nobody')\njax.config.update('jax_of_nobody', 1)"]
)
def test_an_option_that_may_be_the_programs_own_is_not_told(line: str) -> None:
    assert found(f"{line}\n", "python") == []


@pytest.mark.parametrize("kind", ["python", "notebook", "shell"])
def test_a_byte_order_mark_is_skipped(kind: str) -> None:
    """As every reader of the file does. https://docs.python.org/3/library/codecs.html#encodings-and-unicode"""
    line = "os.environ['XLA_FLAGS'] = '--xla_gpu_graph_level=0'"
    texts = {"python": line, "notebook": f'{{"cells": [{{"source": "{line}"}}]}}', "shell": "export XLA_FLAGS=--xla_gpu_graph_level=0"}  # fmt: skip
    assert found(f"\ufeff{texts[kind]}\n", kind) == found(f"{texts[kind]}\n", kind) != []


@pytest.mark.parametrize("name", ["jax_enable_x64", "jax_cuda_visible_devices"])
def test_an_option_of_which_nothing_is_to_be_said(name: str) -> None:
    """One that has no variable, a value that is not known."""
    assert found(f"jax.config.update('{name}', True)\njax.config.update('{name}', mine)\n", "python") == []


def test_unified_memory_of_which_only_the_program_knows() -> None:
    """It may be asked for; what is wrong with it, too, is told."""
    maybe, fraction = 'export TF_FORCE_UNIFIED_MEMORY="$MINE"\n', "export XLA_CLIENT_MEM_FRACTION={}\n"
    known = [(1, "note", "value-not-read")]
    assert found(maybe + fraction.format("3.2")) == known == found(maybe + fraction.format("0.9"))
    assert found(f"{maybe}XLA_CLIENT_MEM_FRACTION=3.2 python a.py\n") == known
    assert found(maybe + fraction.format("75%")) == [*known, (2, "error", "bad-variable")]


def test_commands_of_one_script_are_judged_apart() -> None:
    """What is set for one of them is not set for the other, and what is exported is set for both."""
    old, new = "XLA_PYTHON_CLIENT_MEM_FRACTION=.5", "XLA_CLIENT_MEM_FRACTION=.5"
    assert found(f"{old} python a.py &\ndocker run -e {new} image\n") == []
    assert [code for _, _, code in found(f"docker run -e {old} -e {new} image\n")] == ["two-fractions"]
    assert [code for _, _, code in found(f"export {old}\n{new} python a.py\n")] == ["two-fractions"]
    assert found(f"train:\n\t{old} python a.py\n\t{new} python b.py\n", "makefile") == []
    assert [code for _, _, code in found(f"export {old}\nt:\n\t{new} python a\n", "makefile")] == ["two-fractions"]


def test_a_text_that_ends_the_process_is_told_where_it_stands() -> None:
    """And not at a variable beside it."""
    text = "ENV XLA_FLAGS=--no_such_thing=xla\nENV XLA_CLIENT_MEM_FRACTION=3.2\nENV TF_FORCE_UNIFIED_MEMORY true\n"
    assert [(line, code) for line, _, code in found(text, "dockerfile") if code == "ends-the-process"] == [
        (1, "ends-the-process")
    ]


def test_programs_of_one_file_are_judged_apart() -> None:
    """Each container has its own list."""
    container = "- name: x\n  env:\n  - name: XLA_{}CLIENT_MEM_FRACTION\n    value: '.5'\n"
    assert found(container.format("") + container.format("PYTHON_"), "yaml") == []
    one = container.format("") + "  - name: XLA_PYTHON_CLIENT_MEM_FRACTION\n    value: '.5'\n"
    assert [code for _, _, code in found(one, "yaml")] == ["two-fractions"]


@pytest.mark.parametrize(
    "form", ['--xla_flags="{}"', "--xla_flags={}", "--xla-flags '{}'", 'compile_xla_flags="{}"', "'--xla_flags={}'", "--more_xla_flags={}"]
)  # fmt: skip
def test_flags_in_an_argument_of_a_program_are_judged_and_the_argument_is_not(form: str) -> None:
    """Programs set XLA_FLAGS by it, or compile with it."""
    line = f"python train.py {form}\n"
    assert found(line.format("--xla_gpu_autotune_level=2")) == []
    assert found(line.format("--xla_gpu_graph_level=0")) == [(1, "error", "flag-in-file")]
    assert found(line.format("--xla_gpu_no_such=1")) == [(1, "error", "flag-in-file")]


@pytest.mark.parametrize("own", ["--xla_use_bf16", "--xla_downcast_bf16=true", "--xla_dump_dir=/x", "--xla_flags="])
def test_an_argument_that_is_no_flag_of_any_release_is_the_programs_own(own: str) -> None:
    assert found(f"python train.py {own}\n") == []


def test_a_misspelt_flag_on_a_command_line_is_told() -> None:
    assert found("hlo_runner --xla_gpu_autotune_levle=2\n") == [(1, "error", "flag-in-file")]


def test_make_adds_the_blank_itself() -> None:
    """And the shell of a recipe does not."""
    assert found("XLA_FLAGS+=--xla_gpu_autotune_level=2\nXLA_FLAGS += --xla_dump_to=x\n", "makefile") == []
    recipe = 'train:\n\tXLA_FLAGS="$$XLA_FLAGS--xla_gpu_autotune_level=2" python x\n'
    assert found(recipe, "makefile") == [(2, "warning", "flag-in-file")]
    joined = "XLA_FLAGS = --xla_dump_to=x \\\n  --xla_gpu_graph_level=0 # why\nexport XLA_FLAGS\n"
    assert found(joined, "makefile") == [(2, "error", "flag-translated")]
    assert found("BASE = --xla_gpu_graph_level=0\nXLA_FLAGS = $(BASE)\n", "makefile") == [
        (1, "error", "flag-translated")
    ]


LONG = {
    "settings": "export NCCL_DEBUG=INFO XLA_FLAGS=--xla_gpu_autotune_level={}\n",
    "commands": "bash -c 'export NCCL_DEBUG=INFO; XLA_FLAGS=--xla_gpu_autotune_level={} python t.py'\n",
    "one quoted command": "export NCCL_DEBUG=INFO; XLA_FLAGS=--xla_gpu_autotune_level={} python t.py\n",
    "old flags elsewhere": "python t.py --xla_gpu_graph_level={}\n",
    "python": "os.environ['NCCL_DEBUG'] = 'INFO'; os.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level={}'\n",
    "yaml": "- name: NCCL_DEBUG\n  value: INFO\n- name: XLA_FLAGS\n  value: --xla_gpu_autotune_level={}\n",
    "quotes": "echo 'a' \"b $X\" XLA_FLAGS {}\n",
}


@pytest.mark.parametrize("what", LONG)
def test_twice_the_file_takes_twice_the_work(what: str) -> None:
    """Counted in calls of functions, with what is said of each flag known from before."""
    reader = partial(file_faults, check=cache_of(checker(NEW)), migrate=cache(migrator(NEW)))
    calls = []
    for count in (100, 100, 200):
        lines = "".join(LONG[what].format(number % 5) for number in range(count))
        text = f'ssh host "\n{lines}"\n' if what == "one quoted command" else lines
        profile = Profile()
        profile.runcall(reader, text, what if what in ("python", "yaml") else "shell")
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[2] < 2.3 * calls[1]


def cache_of(check: Check) -> Check:
    """The same, asked once for each environment."""
    known: dict[tuple[tuple[str, str], ...], tuple[Finding, ...]] = {}

    def ask(environ: Mapping[str, str]) -> tuple[Finding, ...]:
        key = tuple(sorted(environ.items()))
        return known[key] if key in known else known.setdefault(key, check(environ))

    return ask
