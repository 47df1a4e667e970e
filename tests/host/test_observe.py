"""What is read of this process: its environment, the file that XLA_FLAGS names, a live jax's options, torch."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxgpu_tune.host import apply, observe
from jaxgpu_tune.knowledge.pool import neighbours
from jaxgpu_tune.model import Decision, Machine
from jaxgpu_tune.state import Layer


def test_the_users_options_of_a_live_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not jax's default, and what was changed since; none where jax is not imported."""
    monkeypatch.setattr(apply, "_former_options", {})
    values = {"jax_enable_x64": True, "jax_debug_nans": False}
    live = SimpleNamespace(config=SimpleNamespace(values=values), __version__="0.11.2")
    monkeypatch.setitem(sys.modules, "jax", live)
    assert observe._options("0.11.2", {"jax_debug_nans": "edited"}) == {
        "jax_enable_x64": True,
        "jax_debug_nans": "edited",
    }
    monkeypatch.delitem(sys.modules, "jax")
    assert observe._options("0.11.2", {}) is None


@pytest.mark.parametrize(
    ("asked", "found"),
    [([], {}), (["0"], {"CUDA_VISIBLE_DEVICES": "0"}), (["0", 1], {"CUDA_VISIBLE_DEVICES": "1"}), (["0", None], {})],
)
def test_the_gpus_that_earlier_calls_ask_for(asked: list[object], found: dict[str, str]) -> None:
    """The last one counts; calls that say nothing of it do not."""
    layers = [Layer(n, "call", {"env": {"CUDA_VISIBLE_DEVICES": text}}) for n, text in enumerate(asked, 1)]
    assert observe._visible((*layers, Layer(9, "call", {}), Layer(10, "call", {"env": None}))) == found


@pytest.mark.parametrize("started", [True, False, None])
@pytest.mark.parametrize("live", [True, False])
def test_torch_counts_once_it_has_started_cuda_here(
    started: bool | None, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if started is None:
        monkeypatch.delitem(sys.modules, observe.TORCH, raising=False)
    else:
        monkeypatch.setitem(sys.modules, observe.TORCH, SimpleNamespace(_initialized=started))
    assert observe._cuda_users(live) == ({observe.TORCH} if started and live else set())


@pytest.mark.parametrize("live", [True, False])
def test_libraries_that_use_the_gpu_count_once_they_are_imported_here(
    live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them for a process that is yet to start."""
    known = [one.module for one in neighbours()]
    for module in known:
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert observe.observe({}, Machine(), live=live).modules == set()
    monkeypatch.setitem(sys.modules, known[-1], SimpleNamespace())
    assert observe.observe({}, Machine(), live=live).modules == ({known[-1]} if live else set())


def test_a_process_that_is_yet_to_start_has_imported_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither this one's jax nor its options count for it."""
    values = {"jax_enable_x64": True}
    live = SimpleNamespace(config=SimpleNamespace(values=values), __version__="0.11.2")
    monkeypatch.setitem(sys.modules, "jax", live)
    monkeypatch.delitem(sys.modules, "jax._src.xla_bridge", raising=False)  # other tests may have started it here
    here = observe.observe({}, Machine(jax="0.11.2"))
    there = observe.observe({}, Machine(jax="0.11.2"), live=False)
    assert (here.machine.phase, here.live, here.jax_config) == ("imported", True, values)
    assert (there.machine.phase, there.live, there.jax_config) == ("not-imported", False, None)


def test_what_a_plan_depends_on_is_told() -> None:
    """What XLA, JAX, NCCL and launchers read, and what was decided; in order, and nothing else of the environment."""
    environ = {
        "HOME": "/",
        "XLA_FLAGS": "--xla_a",
        "SLURM_JOB_ID": "1",
        "LD_LIBRARY_PATH": "/x",
        "MINE": "1",
        "TF_A": "1",
    }
    seen = observe.observe(environ, Machine(), live=False)
    mine = Decision("env", "MINE", "1", "set", "asked for", "argument env")
    flag = Decision("xla_flag", "HOME", "1", "set", "asked for", "argument flags")
    assert list(observe.relevant(seen, [mine, flag])) == [
        "LD_LIBRARY_PATH",
        "MINE",
        "SLURM_JOB_ID",
        "TF_A",
        "XLA_FLAGS",
    ]
    layered = seen._replace(layers=(Layer(1, "call", {"preset": "fsdp"}),))
    assert "fsdp" in observe.relevant(layered, [])[observe.MARKER]


def test_the_file_that_xla_flags_names(tmp_path: Path) -> None:
    """A text that begins with a dash, or is blank, names none; nor does what cannot be read."""
    (tmp_path / "-flags").write_text("wrong")
    (tmp_path / "flags").write_bytes(b"--xla_a=1 \xff\n")
    assert observe.flag_file(str(tmp_path / "flags")) == "--xla_a=1 \udcff\n"
    for text in ("", " \n", "--xla_a=1", " -x", str(tmp_path / "gone"), str(tmp_path), "a\0b"):
        assert observe.flag_file(text) is None


def test_folders_that_hold_cuda(tmp_path: Path) -> None:
    """In the loader's order, each once; not those of pip's own wheels, nor what is not there."""
    one, other, empty, pips = (tmp_path / name for name in ("one", "other", "empty", f"x{observe.PIPS_OWN}y"))
    for folder in (one, other, empty, pips):
        folder.mkdir(parents=True)
    library = next(iter(observe.CUDA_LIBRARIES)) + ".so.12"
    for folder in (one, other, pips):
        (folder / library).write_text("")
    (empty / "libother.so").write_text("")
    path = ":".join(map(str, (other, empty, "", pips, tmp_path / "gone", one, other)))
    assert observe.cuda_folders({"LD_LIBRARY_PATH": path}) == (str(other), str(one))
    assert observe.cuda_folders({}) == ()


@pytest.mark.parametrize("library", ["cudart", "cublas", "cudnn", "nccl", "cupti", "nvJitLink"])
def test_each_library_of_cuda_tells_a_folder(library: str, tmp_path: Path) -> None:
    """By the beginning of its file's name."""
    (tmp_path / f"lib{library}.so.12").write_text("")
    assert observe.cuda_folders({"LD_LIBRARY_PATH": str(tmp_path)}) == (str(tmp_path),)
    (tmp_path / f"lib{library}.so.12").rename(tmp_path / f"x{library}.so.12")
    assert observe.cuda_folders({"LD_LIBRARY_PATH": str(tmp_path)}) == ()
