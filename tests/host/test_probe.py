"""The installed binaries are asked, in a child process, and what they say is kept: real jaxlibs, and fakes that misbehave."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxgpu_tune.errors import ProbeFailed
from jaxgpu_tune.host import packages, parser_child, probe, probe_cache
from tests.child import ROOT, clean_environ
from tests.host.counted import REAL, count, counting

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, and reads ELF files")


GOOD, UNKNOWN, BAD, BAD_ENUM = (
    "--xla_gpu_autotune_level=2",
    "--xla_no_such=1",
    "--xla_gpu_enable_triton_gemm=maybe",
    "--xla_gpu_shape_checks=runtime",
)


FATAL = """
import os, sys
class CompileOptions:
    def __init__(self):
        {before}
        flags = os.environ["XLA_FLAGS"].split()
        bad = [flag for flag in flags if flag.startswith("--bad")]
        unknown = [flag for flag in flags if not flag.startswith(("--good", "--bad"))]
        if bad:
            {bad}
        if unknown:
            print("Unknown flags in XLA_FLAGS: " + (" ".join(unknown)){cut}, file=sys.stderr, flush=True)
            os.abort()
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "jaxgpu_tune" / "probe"


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many children were started so far."""
    monkeypatch.setattr(sys, "executable", str(counting(tmp_path)))
    return lambda: count(tmp_path)


def fake_jaxlib(
    folder: Path, monkeypatch: pytest.MonkeyPatch, before: str = "pass", bad: str = "os._exit(1)", cut: str = ""
) -> Path:
    """A jaxlib that knows --good* and refuses the value of --bad*, and does ``before`` first."""
    (folder / "jaxlib").mkdir()
    (folder / "jaxlib" / "__init__.py").write_text("")
    (folder / "jaxlib" / "fake.so").write_text("")
    (folder / "jaxlib" / "xla_client.py").write_text(FATAL.format(before=before, bad=bad, cut=cut))
    monkeypatch.syspath_prepend(str(folder))
    return folder / "jaxlib" / "fake.so"


def real_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA plugin: jaxlib's own shared object holds the same parser under the same symbol."""
    spec = importlib.util.find_spec("jaxlib")
    assert spec is not None and spec.origin is not None
    found = [Path(spec.origin).parent / name for name in ("libjax_common.so", "xla_extension.so")]
    plugin(folder, monkeypatch).symlink_to(next(path for path in found if path.exists()))


def plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the shared object of a CUDA plugin belongs."""
    place = folder / "jax_plugins" / "xla_cuda12"
    place.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder))
    return place / "xla_cuda_plugin.so"


# --- what the real jaxlib says --------------------------------------------------------------------------------------


def test_unknown_flags_are_named() -> None:
    assert probe.probe(f"{GOOD} {UNKNOWN} --xla_other").refused == {"xla_no_such", "xla_other"}


def test_what_is_accepted_is_not_named() -> None:
    assert probe.probe(f"{GOOD} --xla_dump_to='a  b' --xla_disable_hlo_passes=--x") == probe.Answer()


def test_no_flags_are_not_asked_about(children: Callable[[], int]) -> None:
    assert probe.probe("") == probe.Answer() and children() == 0


def test_bad_values_hide_nothing() -> None:
    """The parser itself would report the first bad value only, and nothing at all of an enum's."""
    found = probe.probe(f"{BAD_ENUM} {GOOD} {UNKNOWN} {BAD} --xla_other=--xla_gpu_autotune_level").refused
    assert found == {"xla_gpu_shape_checks", "xla_no_such", "xla_gpu_enable_triton_gemm", "xla_other"}


def test_more_unknown_flags_than_a_message_holds() -> None:
    names = {f"xla_no_such_flag_with_a_{'very_' * 30}long_name_{number}" for number in range(100)}
    assert probe.probe(" ".join([GOOD, *(f"--{name}=1" for name in sorted(names))])).refused == names


def test_the_environment_of_this_process_does_not_reach_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_inherited=1")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    assert probe.probe(f"{GOOD} {UNKNOWN}").refused == {"xla_no_such"}


def test_the_child_sees_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_anew = ("CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    left_out = (
        "CUDA_INJECTION64_PATH",
        "JAX_TRACEBACK_FILTERING",
        "NVTX_INJECTION64_PATH",
        "TF_A",
        "LIBTPU_A",
        "TPU_A",
    )
    near = ("ANVTX_A", "VTX_A", "IBTPU", "PU_A")  # whose names only look alike
    names = (*set_anew, *left_out, *near)
    for name in names:
        monkeypatch.setenv(name, "here")
    seen = tmp_path / "seen"
    look = f"open({str(seen)!r}, 'w').write(repr([os.environ.get(name) for name in {names!r}]))"
    fake_jaxlib(tmp_path, monkeypatch, before=look)
    probe.probe("--good=1")
    assert seen.read_text() == repr(["-1", "cpu", "1", "1", *[None] * len(left_out), *["here"] * len(near)])


def test_the_shared_objects_that_are_asked_and_nothing_else_tell_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their path, size and time; a plugin that is gone has none; without jaxlib's nothing can be told."""
    file = fake_jaxlib(tmp_path, monkeypatch)
    (tmp_path / "jaxlib" / "also").write_text("")
    seen = os.stat(file)
    built = [str(file), seen.st_size, seen.st_mtime_ns]
    assert probe._builds({}) == probe._builds({"a": ""}) == [built]
    assert probe._builds({"a": "/gone"}) == [built, ["/gone", None, None]]
    file.unlink()
    assert probe._builds({"a": str(tmp_path)}) == []


# --- parsers that behave otherwise ----------------------------------------------------------------------------------


def test_releases_that_only_log_a_bad_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 0.4.29 a bad value also keeps the unknown flags from being reported."""
    fake_jaxlib(tmp_path, monkeypatch, bad="return")
    assert probe.probe("--good=1 --bad=2 --other=3").refused == {"bad", "other"}


def test_releases_that_name_known_flags_after_two_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 0.5.0."""
    fake_jaxlib(tmp_path, monkeypatch, cut=" + '  --good=1'")
    assert probe.probe("--good=1 --other=3").refused == {"other"}


def test_a_crash_over_one_flag_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jaxlib(tmp_path, monkeypatch, bad="os.kill(os.getpid(), 11)")
    assert probe.probe("--good=1 --bad=2").refused == {"bad"}


@pytest.mark.parametrize(
    "before", ["os.abort()", "os.kill(os.getpid(), 11)", "os._exit(0)", "raise ImportError", "os._exit(1)"]
)
def test_a_crash_over_every_text_is_no_refusal(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jaxlib(tmp_path, monkeypatch, before=before)
    with pytest.raises(ProbeFailed, match="does not read XLA_FLAGS as known"):
        probe.probe("--good=1")


def test_a_jaxlib_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jaxlib(tmp_path, monkeypatch)
    (tmp_path / "jaxlib" / "xla_client.py").write_text("raise ImportError('no such library')")
    with pytest.raises(ProbeFailed, match="no such library"):
        probe.probe("--good=1")


def test_a_child_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(ProbeFailed, match="no/such/python"):
        probe.probe(GOOD)


@pytest.mark.parametrize("said", ["", "nonsense", "[]", '{"jaxlib": {"refused": ["never_asked"]}}', '{"jaxlib": 1}'])
def test_a_child_that_says_something_else(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(counting(tmp_path, f"cat > /dev/null; echo '{said}'")))
    with pytest.raises(ProbeFailed, match="gave no answer"):
        probe.probe(GOOD)


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("status", [0, 3])
def test_a_child_that_says_it_in_another_encoding(
    stream: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(f"import os, sys\nsys.stdin.read()\nos.write({stream}, b'M\\xfcll')\nsys.exit({status})\n")
    monkeypatch.setattr(probe, "CHILD", str(child))
    with pytest.raises(ProbeFailed, match=f"status {status}" if status else "gave no answer"):
        probe.probe(GOOD)


def test_an_answer_counts_whatever_is_said_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jaxlib(tmp_path, monkeypatch, before="os.write(2, b'M\\xfcll')")
    assert probe.probe("--good=1 --unknown=1").refused == {"unknown"}


def test_a_child_that_is_interrupted_after_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its group is gone by then."""

    def interrupted(child: subprocess.Popen[str], *_: object, **__: object) -> None:
        child.kill()
        child.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        probe.probe(GOOD)


def test_a_hanging_child_is_ended_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(counting(tmp_path, f"echo $$ > {tmp_path}/id; sleep 300 & sleep 300")))
    monkeypatch.setattr(probe, "SECONDS", 0.5)
    start = time.monotonic()
    with pytest.raises(ProbeFailed, match=r"no answer within 0\.5 seconds"):
        probe.probe(GOOD)
    assert time.monotonic() - start < 200
    assert ended(int((tmp_path / "id").read_text()))


@pytest.mark.slow
def test_the_forks_of_a_hanging_child_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "id"
    fake_jaxlib(
        tmp_path,
        monkeypatch,
        before=f"open({str(noted)!r}, 'w').write(str(os.getpgid(0))); os.read(0, 1); import time; time.sleep(99)",
    )
    monkeypatch.setattr(probe, "SECONDS", 3)
    with pytest.raises(ProbeFailed, match="no answer within 3 seconds"):
        probe.probe("--good=1")
    assert ended(int(noted.read_text()))


def ended(group: int) -> bool:
    """Whether the processes of a group end before they would by themselves."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and living(group):
        time.sleep(0.05)
    return not living(group)


def living(group: int) -> list[str]:
    """The processes of a group that have not ended (who adopts orphans may be late to bury them)."""
    out = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            out.append(str(entry))
    return out


# --- plugins --------------------------------------------------------------------------------------------------------


def test_the_plugin_is_asked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skew: what either refuses is refused."""
    real_plugin(tmp_path, monkeypatch)
    fake_jaxlib(tmp_path, monkeypatch)
    flags = f"--good=1 {GOOD} {UNKNOWN}"
    assert probe.probe(flags).refused == {"good", "xla_gpu_autotune_level", "xla_no_such"}
    (kept,) = (json.loads(path.read_text()) for path in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.json"))
    assert kept["answer"] == {
        "jaxlib": {"refused": ["xla_gpu_autotune_level", "xla_no_such"]},
        "jax-cuda12-pjrt": {"refused": ["good", "xla_no_such"]},
    }


def test_bad_values_are_bad_for_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_plugin(tmp_path, monkeypatch)
    assert probe.probe(f"{BAD_ENUM} {GOOD} {BAD}") == probe.Answer(
        frozenset({"xla_gpu_shape_checks", "xla_gpu_enable_triton_gemm"})
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "ValueError"),
        (b"nonsense", "no 64-bit ELF file"),
        (b"\x7fELF" + bytes(200), "no symbol table"),
    ],
)
def test_a_plugin_that_cannot_be_asked_is_named(
    content: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin(tmp_path, monkeypatch).write_bytes(content)
    answer = probe.probe(f"{GOOD} {UNKNOWN}")
    assert answer.refused == {"xla_no_such"}
    (finding,) = answer.findings
    assert finding.code == "plugin-not-asked" and "jax-cuda12-pjrt" in finding.message and why in finding.message


def test_a_stripped_plugin_is_remembered_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], int]
) -> None:
    plugin(tmp_path, monkeypatch).write_bytes(b"\x7fELF" + bytes(200))
    assert probe.probe(GOOD) == probe.probe(GOOD) and children() == 1


def test_a_plugin_without_its_shared_object_is_named(
    monkeypatch: pytest.MonkeyPatch, children: Callable[[], int]
) -> None:
    versions = packages.installed_versions()._replace(plugins={"jax-cuda13-pjrt": "9.9", "jax-cuda13-plugin": "9.9"})
    monkeypatch.setattr(probe, "installed_versions", lambda: versions)
    (finding,) = probe.probe(GOOD).findings
    assert "jax-cuda13-pjrt" in finding.message and "no xla_cuda_plugin.so" in finding.message
    probe.probe(GOOD)
    assert children() == 2  # it may come


def test_a_wrong_symbol_table_is_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "object"
    file.write_bytes(b"\x7fELF" + bytes(200))
    with pytest.raises(parser_child.Unanswered) as raised:
        parser_child.load_plugin(str(file))
    assert raised.value.lasting


# --- what is kept ---------------------------------------------------------------------------------------------------


def test_a_question_is_asked_once(children: Callable[[], int], cache: Path) -> None:
    first = probe.probe(f"{GOOD} {UNKNOWN}")
    assert children() == 1
    assert probe.probe(f"{GOOD} {UNKNOWN}") == first and children() == 1
    assert {path.suffix for path in cache.iterdir()} == {".json", ".lock"}


def test_another_text_is_another_question(children: Callable[[], int]) -> None:
    probe.probe(GOOD)
    probe.probe(f"{GOOD} {UNKNOWN}")
    assert children() == 2


@pytest.mark.parametrize("change", ["size", "time", "path", "version"])
def test_another_build_is_another_question(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], int]
) -> None:
    library = fake_jaxlib(tmp_path, monkeypatch)
    assert probe.probe("--good=1 --other=2").refused == {"other"}
    if change == "size":
        before = library.stat()
        library.write_text("more")
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "time":
        os.utime(library, ns=(1, 1))
    elif change == "path":
        library.rename(library.with_name("renamed.so"))
    else:
        versions = packages.installed_versions()._replace(jaxlib="9.9")
        monkeypatch.setattr(probe, "installed_versions", lambda: versions)
    assert probe.probe("--good=1 --other=2").refused == {"other"} and children() == 2
    assert probe.probe("--good=1 --other=2").refused == {"other"} and children() == 2


def test_a_failure_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(counting(tmp_path, "exit 1")))
    for _ in range(2):
        with pytest.raises(ProbeFailed, match="status 1"):
            probe.probe(GOOD)
    assert count(tmp_path) == 2


def damage(text: str) -> list[str]:
    """The file of an answer, spoilt in several ways."""
    whole = json.loads(text)
    others = [
        whole | {"form": 0},
        whole | {"answer": {"jaxlib": {"refused": []}}},
        whole | {"question": whole["question"] | {"flags": []}},
        whole | {"digest": 1},
        {},
        [],
        None,
        *(forged(whole, answer) for answer in ({}, None, {"jaxlib": {"refused": ["never_asked"]}}, {"jaxlib": []})),
        forged(whole, {"jaxlib": {"unanswered": "no", "lasting": True}}),
        forged(whole, {"jaxlib": {"refused": "xla_no_such"}}),
    ]
    return [text[: len(text) // 2], "", "\0" * len(text), "[" * 100_000, *map(json.dumps, others)]


def forged(whole: dict[str, object], answer: object) -> dict[str, object]:
    """A whole file with an answer that cannot be one."""
    return whole | {"answer": answer, "digest": probe_cache._digest(answer)}


def test_a_corrupt_file_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], int], cache: Path
) -> None:
    fake_jaxlib(tmp_path, monkeypatch)
    assert probe.probe("--good=1 --xla_no_such=1").refused == {"xla_no_such"}
    (path,) = cache.glob("*.json")
    whole = path.read_text()
    for number, text in enumerate(damage(whole), 2):
        path.write_text(text)
        assert probe.probe("--good=1 --xla_no_such=1").refused == {"xla_no_such"}, text
        assert children() == number, text
        assert path.read_text() == whole, "it is replaced by a good one"
    path.write_bytes(b"\xff\xfe")
    assert probe.probe("--good=1 --xla_no_such=1").refused == {"xla_no_such"}


@pytest.mark.parametrize("where", ["/proc/nowhere", "a file", "relative/folder"])
def test_a_folder_that_cannot_be_written_to(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Callable[[], int]
) -> None:
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path / where) if where == "a file" else where)
    assert probe.probe(f"{GOOD} {UNKNOWN}").refused == probe.probe(f"{GOOD} {UNKNOWN}").refused == {"xla_no_such"}
    assert children() == 2 and not (tmp_path / "relative").exists()


def test_a_full_disk_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert probe.probe(f"{GOOD} {UNKNOWN}").refused == {"xla_no_such"}
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_nothing_is_kept_for_a_jaxlib_that_is_nowhere(
    monkeypatch: pytest.MonkeyPatch, children: Callable[[], int]
) -> None:
    monkeypatch.setattr(probe, "_builds", lambda _: [])
    probe.probe(GOOD)
    probe.probe(GOOD)
    assert children() == 2


def test_waiting_for_another_process_has_an_end(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""
    probe.probe(GOOD)
    (path,) = cache.glob("*.json")
    path.unlink()
    monkeypatch.setattr(probe, "SECONDS", 0.5)
    with subprocess.Popen(
        [REAL, "-c", code, f"{path}.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "locked\n"
        with pytest.raises(ProbeFailed, match="another process has been asking"):
            probe.probe(GOOD)
        other.communicate("")


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "locks"), [(8, True), (4, False)])
def test_many_processes_at_once(processes: int, locks: bool, tmp_path: Path) -> None:
    code = f"""
import sys, time
from jaxgpu_tune.host import probe, probe_cache
sys.executable = {str(counting(tmp_path))!r}
if not {locks}:
    probe_cache.locked = lambda file: True
print("ready", flush=True)
sys.stdin.readline()
print(sorted(probe.probe({f"{GOOD} {UNKNOWN}"!r}).refused))
"""
    environ = clean_environ(XDG_CACHE_HOME=str(tmp_path / "cache"))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([REAL, "-c", code], env=environ, cwd=ROOT, **pipes) for _ in range(processes)]
    assert all(process.stdout.readline() == "ready\n" for process in started)
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [(*process.communicate(timeout=600), process.returncode) for process in started]
    assert set(ends) == {("['xla_no_such']\n", "", 0)}
    assert 1 <= count(tmp_path) <= (1 if locks else processes)
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 1
    assert not [path for path in (tmp_path / "cache").rglob("*.json.*") if path.suffix != ".lock"]
