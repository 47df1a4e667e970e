"""What Python sets after JAX has read it: told where it is certain, and only there."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from jaxgpu_tune.flag_texts import checker, migrator
from jaxgpu_tune.knowledge.real_names import calls
from jaxgpu_tune.planning.files.file_faults import file_faults
from jaxgpu_tune.planning.files.late_settings import late_settings
from tests.child import told
from tests.planning.files.test_commands import found, notebook

SET = "os.environ['XLA_FLAGS'] = '--xla_gpu_autotune_level=2'"
ARGUMENTS = {
    **dict.fromkeys(["device_put", "array", "asarray", "zeros", "ones", "empty", "arange", "eye", "identity"], "1"),
    **dict.fromkeys(["zeros_like", "ones_like", "float32", "int32", "key", "PRNGKey"], "1"),
    "make_mesh": "(1,), ('x',)",
    "full": "1, 1",
    "linspace": "0, 1",
    "create_device_mesh": "(1,)",
    **dict.fromkeys(["stack", "concatenate"], "[np.ones(1)]"),
}


def test_every_call_that_is_said_to_start_jax_does_so() -> None:
    starting = {name: f"{name}({ARGUMENTS.get(name.split('.')[-1], '')})" for name in sorted(calls("start_backend"))}
    code = f"""
import numpy as np, jax, jax.experimental.mesh_utils, jax.extend.backend
from jax._src import xla_bridge
idle = []
for name, call in {starting}.items():
    jax.extend.backend.clear_backends()
    assert not xla_bridge.backends_are_initialized()
    eval(call)
    if not xla_bridge.backends_are_initialized():
        idle.append(name)
tell(idle)
"""
    assert told(code) == []


@pytest.mark.parametrize(
    "start",
    [
        "jax.devices()",
        "n = len(jax.devices('gpu'))",
        "x = jnp.ones((2, 2)) + 1",
        "key = random.PRNGKey(0)",
        "for d in jax.devices(): print(d)",
        "with jax.default_device(jax.devices()[0]): pass",
        "def f(x=jnp.array(0)): pass",
        "class A:\n    x = jnp.zeros(1)",
        "def f():\n    return jax.device_count()\nf()",
        "try:\n    jax.devices()\nexcept RuntimeError:\n    pass",
        "if a:\n    jax.devices()\nelse:\n    jnp.ones(1)",
        "x = [jnp.ones(1) for _ in range(2)]",
    ],
)
@pytest.mark.parametrize(
    ("late", "name"),
    [
        (SET, "XLA_FLAGS"),
        ("os.environ['XLA_FLAGS'] += ' --xla_dump_to=x'", "XLA_FLAGS"),
        ("environ.setdefault('XLA_PYTHON_CLIENT_MEM_FRACTION', '.5')", "XLA_PYTHON_CLIENT_MEM_FRACTION"),
        ("os.environ.update({'CUDA_VISIBLE_DEVICES': '0'})", "CUDA_VISIBLE_DEVICES"),
        ("os.environ.update(XLA_FLAGS='')", "XLA_FLAGS"),
        ("def main():\n    tuned('fsdp')\nmain()", "configure()"),
        ("if __name__ == '__main__':\n    jaxgpu_tune.configure()", "configure()"),
        ("def main():\n    jax.distributed.initialize()\nmain()", "jax.distributed.initialize()"),
        ("@jaxgpu_tune.configured\ndef main():\n    jax.devices()\nmain()", "The function under @configured"),
        ("@entry('fsdp')\nasync def main():\n    pass\nasyncio.run(main())", "The function under @configured"),
    ],
)
def test_what_is_set_after_the_start_is_told(start: str, late: str, name: str) -> None:
    head = "import os, jax, jaxgpu_tune\nimport jax.numpy as jnp\nfrom jax import random\nfrom os import environ\n"
    head += "from jaxgpu_tune import configure as tuned, configured as entry\n"
    assert [one.name for one in late_settings(f"{head}{start}\n{late}\n")] == [name]
    assert late_settings(f"{head}{late}\n{start}\n") == ()


@pytest.mark.parametrize(
    ("decorator", "calls"),
    [
        ("configured", "main()\nmain()"),
        ("configured", "main()\njax.devices()\nmain()"),
        ("configured(late='warn')", "jax.devices()\nmain()"),
    ],
)
def test_a_function_that_configures_itself_is_told_only_where_it_would_raise(decorator: str, calls: str) -> None:
    """Not where it has configured in time before, or says what else is to happen: https://github.com/trymirai/lalamo/pull/347"""
    head = f"import jax\nfrom jaxgpu_tune import configured\n@{decorator}\ndef main():\n    jax.devices()\n"
    assert late_settings(f"{head}{calls}\n") == ()
    assert ("late" in decorator) is (late_settings(f"{head}jax.devices()\n{calls}\n") == ())


@pytest.mark.parametrize(
    "before",
    [
        "f = jax.jit(lambda x: jnp.ones(1))",
        "def f():\n    return jax.devices()",
        "if a:\n    jax.devices()",
        "if a:\n    jax.devices()\nelse:\n    b()",
        "try:\n    a()\nexcept OSError:\n    jax.devices()",
        "t = jnp.dtype('float32'), jnp.float32, jnp.pi, jnp.finfo('float32')",
        "jax.distributed.initialize()",
        "devices()",
        "match a:\n    case 1:\n        jax.devices()",
    ],
)
def test_what_may_not_have_started_jax_is_no_start(before: str) -> None:
    assert late_settings(f"import os, jax\nimport jax.numpy as jnp\n{before}\n{SET}\n") == ()


@pytest.mark.parametrize(
    "after",
    [
        "env = dict(os.environ)\nenv['XLA_FLAGS'] = ''",
        "os.environ['MY_OWN'] = ''",
        "jaxgpu_tune.configure(late='reexec')",
        "try:\n    pass\nfinally:\n    os.environ['XLA_FLAGS'] = former",
        "print(os.environ.get('XLA_FLAGS', ''))",
    ],
)
def test_what_sets_nothing_for_this_process_is_not_told(after: str) -> None:
    assert late_settings(f"import os, jax, jaxgpu_tune\njax.devices()\n{after}\n") == ()


def test_variables_of_jax_are_read_at_its_import() -> None:
    """Those of XLA and CUDA at the start."""
    text = "import os\nimport jax\nos.environ['JAX_PLATFORMS'] = 'cpu'\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"
    (one,) = late_settings(text)
    assert (one.line, one.name) == (3, "JAX_PLATFORMS")
    assert "`import jax` (line 2)" in one.finding().message and "jax_platforms" in one.finding().hint


@pytest.mark.parametrize(
    ("use", "starts"),
    [
        ("torch.cuda.set_device(0)", True),
        ("cuda.init()", True),
        ("model = Net().cuda()", True),
        ("x = x.to('cuda:0')", True),
        ("x = torch.ones(2, device='cuda')", True),
        ("model.to(device='cuda')", True),
        ("ok = torch.cuda.is_available()", False),
        ("device = torch.device('cuda')", False),
        ("x = torch.ones(2, device='cpu')", False),
        ("x.to(device)", False),
        ("if ok:\n    x = x.cuda()", False),
        ("def f(x):\n    return x.cuda()", False),
    ],
)
def test_r76_torch_starts_cuda_which_reads_its_variables_once(use: str, starts: bool) -> None:
    """JAX reads its own all the same. https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/925"""
    late = "os.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n"
    head, other = "import os, torch\nfrom torch import cuda\n", f"{SET}\nos.environ['NCCL_DEBUG'] = 'INFO'\n"
    told = ["CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_VISIBLE_DEVICES"] if starts else []
    assert [one.name for one in late_settings(f"{head}{use}\n{other}{late}import jax\n")] == told
    assert late_settings(f"{head}{late}{use}\nimport jax\n") == ()
    assert late_settings(f"import os\n{use}\n{late}") == ()


def test_what_later_processes_may_see_is_a_warning() -> None:
    text = f"import os, jax, subprocess\njax.devices()\n{SET}\n"
    (one,) = late_settings(text)
    assert one.finding().severity == "warning" and "processes that are started later" in one.finding().message


@pytest.mark.parametrize(
    "late", ["numpyro.set_host_device_count(4)", "jax.config.update('jax_platforms', 'cpu')", "config.update('jax_platforms', 'cpu')"]
)  # fmt: skip
def test_calls_that_set_something_for_the_start_are_told_behind_it(late: str) -> None:
    """Of numpyro, and options that the start reads; one that is read at any time is not."""
    head = "import jax, numpyro\nfrom jax import config\n"
    assert [one.line for one in late_settings(f"{head}jax.devices()\n{late}\n")] == [4]
    assert late_settings(f"{head}{late}\njax.devices()\n") == ()
    assert late_settings(f"{head}jax.devices()\njax.config.update('jax_debug_nans', True)\n") == ()


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("os.environ['XLA_FLAGS'] = '--xla_dump_to=x'", "over"),
        ("os.environ.update(XLA_FLAGS=f'--xla_dump_to=x')", "over"),
        ("os.environ.update({'XLA_FLAGS': '--a ' + '--b'})", "over"),
        ("os.environ.setdefault('XLA_FLAGS', '--xla_dump_to=x')", "unless"),
        ("if 'XLA_FLAGS' not in os.environ:\n    os.environ['XLA_FLAGS'] = '--xla_dump_to=x'", "unless"),
        ("os.environ['XLA_FLAGS'] += ' --xla_dump_to=x'", None),
        ("os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --xla_dump_to=x'", None),
        ("os.environ['XLA_FLAGS'] = flags", None),
        ("os.environ['NCCL_DEBUG'] = 'INFO'", None),
    ],
)
def test_what_takes_out_what_configure_has_set_is_told(text: str, way: str | None) -> None:
    """Above configure() nothing is: it keeps what is there."""
    head = "import os, jaxgpu_tune\n"
    assert [one.way for one in late_settings(f"{head}jaxgpu_tune.configure('fsdp')\n{text}\n")] == (
        [way] if way else []
    )
    assert late_settings(f"{head}{text}\njaxgpu_tune.configure('fsdp')\n") == ()


def test_cells_run_one_after_the_other_and_each_has_its_own_lines() -> None:
    """However the notebook is written; prose is no cell of code."""
    cells = [["import jax\n", "!ls\n", "jax.devices()"], ["x = (\n"], ["%%bash\n", "ls"], ["%env XLA_FLAGS=--xla_dump_to=x\n", "%jaxgpu_tune fsdp"]]  # fmt: skip
    prose = {"cell_type": "markdown", "source": ["# To start\n", "x"]}
    for indent in (None, 1):
        text = json.dumps({"cells": [prose, *({"cell_type": "code", "source": cell} for cell in cells)]}, indent=indent)
        faults = file_faults(text, "notebook", checker("0.11.2"), migrator("0.11.2"))
        assert [(str(one.place), one.finding.code) for one in faults] == [("cell 4, line 1", "too-late"), ("cell 4, line 2", "too-late")]  # fmt: skip
        assert all("(cell 1, line 3: jax.devices())" in one.finding.message for one in faults)
    assert found(notebook("import jax", "%env XLA_FLAGS=--xla_dump_to=x", "jax.devices()"), "notebook") == []


def test_the_start_is_named_with_its_line() -> None:
    source = """\
        import os, jax
        def count():
            return jax.device_count()
        count()
        os.environ["XLA_FLAGS"] = ""
        """
    (one,) = late_settings(dedent(source))
    assert one.finding().message == (
        "XLA_FLAGS is set after JAX has started (line 4: count(), which calls jax.device_count()), which does not read it again."
    )
