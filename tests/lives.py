"""What can happen in one process, at random, in real processes with the real jax on the CPU; and what must hold whatever happens.

    python -m tests.lives --cases 1000 --seed 1

A life is a list of steps: jax is imported, its backend starts, calls of every kind are made and taken back in any order, the user
changes variables, flags and options, a context manager holds, JAXGPU_TUNE is off for a while, the process forks, or a child process
goes on. What should be in force is worked out by another way than the library's: setting by setting, from who said what last.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jaxgpu_tune
from jaxgpu_tune.host.packages import installed_versions
from jaxgpu_tune.planning.xla_flags.grammar import scan
from tests.warm import BEFORE_JAX

Step = list[Any]
GUARD = "jax_transfer_guard"
GUARDS = tuple(f"{GUARD}_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
FLAGS = {"xla_gpu_autotune_level": ("1", "2"), "xla_dump_hlo_pass_re": ("x", "y")}
VARIABLES = {
    "NCCL_DEBUG": ("INFO", "WARN"),
    "XLA_CLIENT_MEM_FRACTION": ("0.3", "0.4"),
    "XLA_PYTHON_CLIENT_ALLOCATOR": ("platform", "cuda_async"),
}
OPTIONS: dict[str, tuple[Any, ...]] = {
    "jax_debug_nans": (True,),
    "jax_optimization_level": ("O1", "O2"),
    "jax_default_matmul_precision": ("float32", "tensorfloat32"),
    "jax_compilation_cache_dir": ("/tmp/jaxgpu_tune_nobody/a", "/tmp/jaxgpu_tune_nobody/b"),
    "jax_enable_compilation_cache": (False,),
    "jax_enable_pgle": (True, False),
    "jax_compilation_cache_expect_pgle": (True,),
    "jax_num_cpu_devices": (2, 3),
    "jax_cpu_enable_async_dispatch": (False,),
    "jax_use_hlo_logistic_lowering": (True,),
    "jax_platforms": ("cpu",),
    **dict.fromkeys(GUARDS, ("log", "allow")),
}
"""What calls ask for; the user says that, too, and this:"""
USERS: dict[str, tuple[Any, ...]] = {
    "xla_gpu_autotune_level": ("3", "4"),
    "NCCL_DEBUG": ("TRACE",),
    "XLA_CLIENT_MEM_FRACTION": ("0.6",),
    "jax_optimization_level": ("O3",),
    "jax_compilation_cache_dir": ("/tmp/jaxgpu_tune_nobody/u",),
    **dict.fromkeys((GUARD, *GUARDS), ("disallow_explicit", "log_explicit")),
}
AT_START = {*FLAGS, *VARIABLES, "jax_num_cpu_devices", "jax_cpu_enable_async_dispatch", "jax_platforms"}
"""What the backend's start alone reads."""
BY_IMPORT = ("jax_optimization_level", "jax_compilation_cache_dir", GUARD)
JAXS_OWN = ("TPU_SKIP_MDS_QUERY", "TF_CPP_MIN_LOG_LEVEL")
"""Variables that `import jax` sets."""
MANAGERS = {"debug_nans": True, "default_matmul_precision": "highest", "transfer_guard": "log_explicit"}
PLAIN = {
    "allocator": "XLA_PYTHON_CLIENT_ALLOCATOR",
    "memory_fraction": "XLA_CLIENT_MEM_FRACTION",
    "platform": "jax_platforms",
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "transfer_guard": ("log", "allow"),
    "compilation_cache": ("/tmp/jaxgpu_tune_nobody/a", "/tmp/jaxgpu_tune_nobody/b", False),
    "pgle": ("auto", "expect"),
    "platform": ("cpu",),
    "memory_fraction": (0.3, 0.4),
    "allocator": VARIABLES["XLA_PYTHON_CLIENT_ALLOCATOR"],
    "late": ("warn", "raise"),
}
KINDS = (
    "call " * 9
    + "restore " * 6
    + "import " * 3
    + "start env env flag flag option option option off on fork child variable within"
)


def life(random: Random) -> list[Step]:
    """What happens, one thing after the other; first what the user has."""
    names = [name for name in (*FLAGS, *VARIABLES) if name in USERS and random.random() < 0.3]
    mine = {name: random.choice(USERS[name]) for name in names}
    mine |= {name: random.choice(USERS[name]) for name in BY_IMPORT if random.random() < 0.15}
    return [["begin", mine, random.random() < 0.4], *(_step(random) for _ in range(random.randint(2, 10)))]


def _step(random: Random) -> Step:
    kind = random.choice(KINDS.split())
    if kind == "call":
        return ["call", random.choice(("configure", "configured", "magic")), _arguments(random)]
    if kind == "restore":
        return ["restore", random.randrange(20)]
    if kind == "within":
        inner = random.choice((["call", "configure", _arguments(random)], ["restore", random.randrange(20)]))
        return ["within", random.choice(list(MANAGERS)), inner]
    if kind == "variable":
        return [kind, random.randrange(20), random.random() < 0.3]
    domains = {"env": VARIABLES, "flag": FLAGS, "option": {GUARD: (), **OPTIONS}}
    if kind in domains:
        name = random.choice(list(domains[kind]))
        return [kind, name, random.choice((*USERS.get(name, ()), *domains[kind][name], None))]
    return [kind]


def _arguments(random: Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        kind = random.choice(("flags", "env", "jax_config", "jax_config", "jax_config", *ARGUMENTS))
        if kind in ARGUMENTS:
            found[kind] = random.choice(ARGUMENTS[kind])
            continue
        variables = {"NCCL_DEBUG": VARIABLES["NCCL_DEBUG"], "JAX_OPTIMIZATION_LEVEL": ("O1", "O2")}
        domain = {"flags": FLAGS, "env": variables, "jax_config": {GUARD: ("log", "allow"), **OPTIONS}}[kind]
        name = random.choice(list(domain))
        found.setdefault(kind, {})[name] = random.choice((*domain[name], *domain[name], None))
    return found


def asked(arguments: dict[str, Any]) -> dict[str, Any]:
    """Each setting that a call asks for; None: its default."""
    options = {n.lower(): v for n, v in arguments.get("env", {}).items() if n.startswith("JAX_")}
    found = {
        **arguments.get("flags", {}),
        **{n: v for n, v in arguments.get("env", {}).items() if n.lower() not in options},
    }
    found |= dict.fromkeys(GUARDS, arguments["transfer_guard"]) if "transfer_guard" in arguments else {}
    options |= arguments.get("jax_config", {})
    found |= dict.fromkeys(GUARDS, options[GUARD]) if GUARD in options else {}
    found |= {name: value for name, value in options.items() if name != GUARD}
    found |= {PLAIN[name]: str(value) for name, value in arguments.items() if name in PLAIN}
    cache, pgle = arguments.get("compilation_cache"), arguments.get("pgle")
    found |= (
        {}
        if cache is None
        else {"jax_compilation_cache_dir": cache}
        if cache
        else {"jax_enable_compilation_cache": False}
    )
    expect = {"jax_enable_pgle": False, "jax_compilation_cache_expect_pgle": True}
    return found | ({} if pgle is None else expect if pgle == "expect" else {"jax_enable_pgle": True})


def line(arguments: dict[str, Any]) -> str | None:
    """The same for the magic; None: it has no words for that."""
    words = ["auto"]
    for name, value in arguments.items():
        given = value.items() if isinstance(value, dict) else ()
        if value is False or any(text is None for _, text in given):
            return None
        option = {"flags": "--flag", "jax_config": "--config"}.get(name, "--" + name.replace("_", "-"))
        words += [word for key, text in given for word in (option, f"{key}={text}")] or [option, str(value)]
    return " ".join(words)


def flags_now() -> dict[str, str]:
    """XLA_FLAGS as XLA reads it."""
    read = scan(os.environ.get("XLA_FLAGS", ""))
    assert not read.lost and not read.file and not read.fatal, os.environ["XLA_FLAGS"]
    return {str(token.name): token.meant for token in read.tokens}


def options_now() -> dict[str, Any]:
    """What each option of jax.config is where no context manager holds; empty before the import."""
    jax = sys.modules.get("jax")
    holders = {} if jax is None else jax.config._value_holders
    found = {name: one.get_global() if hasattr(one, "get_global") else one.value for name, one in holders.items()}
    return {
        n: v.value
        if isinstance(getattr(v, "value", None), str)
        else getattr(v, "name", str(v)).lower()
        if hasattr(v, "_value_")
        else v
        for n, v in found.items()
    }


def value(name: str) -> Any:
    """Of a setting, what is in force."""
    return (
        flags_now().get(name)
        if name in FLAGS
        else options_now().get(name)
        if name.startswith("jax_")
        else os.environ.get(name)
    )


def all_now() -> tuple[dict[str, str], dict[str, Any]]:
    """Everything that a call could change."""
    return dict(os.environ), options_now()


class Process:
    """One process, and what should be in force in it.

    ``calls``: of each that stands, when it came, and what it asked for; ``user``: of each setting, when the user said what.
    ``left``: what the last call left of each, and what the user had said then. ``late``: a call came late with a part of what it asked.
    ``unread``: what the user said by variables that this process's jax does not read again.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self.time: int = known.get("time", 0)
        self.calls: list[tuple[int, dict[str, Any]]] = [(time, wanted) for time, wanted in known.get("calls", [])]
        self.user: dict[str, tuple[int, Any]] = {name: tuple(said) for name, said in known.get("user", {}).items()}
        self.touched: set[str] = set(known.get("touched", ()))
        self.environ: dict[str, str] = known.get("environ", {})
        self.late: bool = known.get("late", False)
        self.unread: dict[str, tuple[int, Any]] = {}
        self.called = not known
        self.reports: dict[int, jaxgpu_tune.Report] = {}
        self.left: dict[str, Any] = {}
        self.said: list[str] = []
        logger = logging.getLogger("jaxgpu_tune")
        logger.propagate = False
        emit = lambda _, record: self.said.append(record.getMessage())  # noqa: E731
        logger.addHandler(type("Said", (logging.Handler,), {"emit": emit})())

    def for_a_child(self) -> dict[str, Any]:
        """What a child process goes on from: what was said of a live jax.config stays behind."""
        user = {n: said for n, said in self.user.items() if not n.startswith("jax_") or said[0] == 0} | self.unread
        known = {name: getattr(self, name) for name in ("time", "calls", "environ", "late")}
        return {**known, "user": user, "touched": sorted(self.touched)}

    @property
    def started(self) -> bool:
        return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))

    def go(self, step: Step) -> None:
        """What happens, and what must hold after it."""
        self.time += 1
        self.said.clear()
        getattr(self, step[0])(*step[1:])
        self.none_said_of_the_user()
        if "JAXGPU_TUNE" not in os.environ:
            self.compare()

    def begin(self, mine: dict[str, Any], described: bool) -> None:
        os.environ.update({name.upper(): text for name, text in mine.items() if name not in FLAGS})
        flags = " ".join(f"--{name}={text}" for name, text in mine.items() if name in FLAGS)
        os.environ.update({"XLA_FLAGS": flags} if flags else {})
        os.environ.update({"JAXGPU_TUNE_MACHINE": os.environ["TESTS_MACHINE"]} if described else {})
        self.user = {one: (0, text) for name, text in mine.items() for one in (GUARDS if name == GUARD else (name,))}
        self.environ = dict(os.environ)

    def call(self, how: str, arguments: dict[str, Any]) -> None:
        before = all_now()
        try:
            report = made(how, arguments)
        except jaxgpu_tune.TooLate:
            assert self.started and arguments.get("late") != "warn"
            assert all_now() == before, "what was refused has changed something"
            return
        assert report.applied == ("JAXGPU_TUNE" not in os.environ)
        if not report.applied:
            assert all_now() == before, "what was not applied has changed something"
            return
        self.late = self.late or any(d.status == "late" for d in report.decisions)
        assert self.started or not self.late or not self.called
        self.calls.append((self.time, asked(arguments)))
        self.unread = {name: said for name, said in self.unread.items() if name not in asked(arguments)}
        self.reports[self.time] = report
        self.called = True
        self.look()
        told_truly(report)

    def restore(self, n: int) -> None:
        for time in [sorted(self.reports)[n % len(self.reports)]] if self.reports else []:
            report = self.reports.pop(time)
            report.restore()
            after = all_now()
            report.restore()
            assert all_now() == after, "a second restore() changes something"
            self.calls = [one for one in self.calls if one[0] != time]
            self.look()

    def within(self, manager: str, step: Step) -> None:
        """A context manager of jax's holds around it, in this thread alone."""
        if "jax" in sys.modules:
            with getattr(sys.modules["jax"], manager)(MANAGERS[manager]):
                getattr(self, step[0])(*step[1:])

    def start(self) -> None:
        getattr(self, "import")()
        sys.modules["jax"].devices()

    def fork(self) -> None:
        """The child goes on."""
        if not self.started and (pid := os.fork()):
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def off(self) -> None:
        os.environ["JAXGPU_TUNE"] = self.environ["JAXGPU_TUNE"] = "off"

    def on(self) -> None:
        for environ in (os.environ, self.environ):
            environ.pop("JAXGPU_TUNE", None)

    def env(self, name: str, text: str | None) -> None:
        if os.environ.get(name) != text:
            os.environ.pop(name, None) if text is None else os.environ.update({name: text})
            self.note(name, text)

    def flag(self, name: str, text: str | None) -> None:
        words = os.environ.get("XLA_FLAGS", "").split()
        rest = [word for word in words if not word.startswith(f"--{name}=")] + ([f"--{name}={text}"] if text else [])
        if sorted(rest) != sorted(words):
            os.environ["XLA_FLAGS"] = " ".join(rest)
            self.note(name, text)

    def option(self, name: str, said: Any) -> None:
        said = DEFAULTS[name] if said is None else said
        if "jax" in sys.modules and options_now()[name] != said and not (name in AT_START and self.started):
            sys.modules["jax"].config.update(name, said)
            for one in GUARDS if name == GUARD else (name,):
                self.note(one, said)

    def variable(self, n: int, gone: bool) -> None:
        """Of an option, one that is there if any is; it stays until a call asks for the option itself."""
        there = [name for name in BY_IMPORT if name.upper() in os.environ] or BY_IMPORT
        name = there[n % len(there)]
        text = None if gone else USERS[name][0]
        if "jax" in sys.modules and os.environ.get(name.upper()) != text:
            for environ in (os.environ, self.environ):
                environ.pop(name.upper(), None) if text is None else environ.update({name.upper(): text})
            self.unread |= dict.fromkeys(GUARDS if name == GUARD else (name,), (self.time, text))
            self.touched.add(name)

    def note(self, name: str, said: Any) -> None:
        """The user has said that; what was changed back before the next call saw it has not been changed."""
        self.touched.add(name)
        undone = name in self.left and self.left[name][0] == value(name)
        self.user[name] = (self.left[name][1] or (0, DEFAULTS.get(name))) if undone else (self.time, said)

    def look(self) -> None:
        names = (*FLAGS, *VARIABLES, *(OPTIONS if "jax" in sys.modules else ()))
        self.left = {name: (value(name), self.user.get(name)) for name in names}

    def none_said_of_the_user(self) -> None:
        """Nothing is told as changed by the user that was not."""
        for text in self.said:
            names = [name for name in (*FLAGS, *VARIABLES, GUARD, *OPTIONS) if name in text or name.upper() in text]
            assert "changed or taken out" not in text or self.touched.intersection(names), text

    def compare(self) -> None:
        """What is in force is what was said last. Options that no variable carries reach a child with its first call."""
        for name, (_, text) in self.unread.items():
            assert name in GUARDS or os.environ.get(name.upper()) == text, (name, text)
        for name in (*FLAGS, *VARIABLES, *(OPTIONS if "jax" in sys.modules and self.called else ())):
            if name in AT_START and (name.startswith("jax_") or self.late) and (self.started or not self.called):
                continue
            since, said = self.user.get(name, (-1, None))
            said = [said, *(wanted[name] for time, wanted in self.calls if name in wanted and time > since)][-1]
            should = DEFAULTS.get(name) if said is None else said
            assert value(name) == should, (name, value(name), should, self.calls, self.user)

    def end(self) -> None:
        """What is proven is true; when all is taken back, everything is as the user has it."""
        if self.started and self.reports and not self.late and "JAXGPU_TUNE" not in os.environ:
            items = [item for item in jaxgpu_tune.verify().items if item.name not in self.touched]
            assert not [item for item in items if item.status in ("overwritten", "overridden")], items
        self.said.clear()
        for n in (5, 2, 7, *range(len(self.reports))):
            self.restore(n)
        self.none_said_of_the_user()
        if not self.calls:
            self.on()
            self.compare()
            wrong = {*os.environ.items()} ^ {*self.environ.items()}
            assert not {name for name, _ in wrong} - {"XLA_FLAGS", *VARIABLES, *JAXS_OWN}, wrong


def import_jax(_: Process) -> None:
    importlib.import_module("jax")


setattr(Process, "import", import_jax)
DEFAULTS: dict[str, Any] = {}


def made(how: str, arguments: dict[str, Any]) -> jaxgpu_tune.Report:
    """The report of a call, by whichever of the ways."""
    from jaxgpu_tune import notebook
    from jaxgpu_tune.host.apply import last_applied

    text = line(arguments)
    if how == "magic" and text is not None:
        report = notebook.configure_line(text)
        assert report is not None
        return report
    if how == "configured" and "JAXGPU_TUNE" not in os.environ:
        jaxgpu_tune.configured(**arguments)(lambda: None)()
        report = last_applied()
        assert report is not None
        return report
    return jaxgpu_tune.configure(**arguments)


def told_truly(report: jaxgpu_tune.Report) -> None:
    """What the report says is in force."""
    live = "jax" in sys.modules
    assert report.xla_flags == os.environ.get("XLA_FLAGS", "")
    for name, text in report.environ.items():
        assert os.environ.get(name) == text, (name, text, os.environ.get(name))
    for name, wanted in report.jax_config.items() if live else ():
        assert options_now()[name] == (DEFAULTS[name] if wanted is None else wanted), (name, wanted)
    for d in report.decisions:
        if d.status in ("set", "kept", "merged") and (live or d.kind != "jax_config") and d.name != GUARD:
            now = flags_now().get(d.name) if d.kind == "xla_flag" else value(d.name)
            assert str(now).lower() == str(d.value).lower(), (d, now)


def wrong_with(steps: list[Step]) -> str:
    """What does not hold in a life; it goes on from one process to the next, each a fork of this one."""
    known: dict[str, Any] = {}
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("XLA_", "JAX", "NCCL_", "TF_"))}
    while steps:
        with tempfile.TemporaryFile("w+") as file:
            if (pid := os.fork()) == 0:
                file.write(json.dumps(_lived(steps, known, environ)))
                file.flush()
                os._exit(0)
            os.waitpid(pid, 0)
            file.seek(0)
            wrong, steps, known, environ = json.loads(file.read() or '["it died", [], {}, {}]')
        if wrong:
            return str(wrong)
    return ""


def _lived(steps: list[Step], known: dict[str, Any], environ: dict[str, str]) -> tuple[str, list[Step], Any, Any]:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.environ.clear()
    os.environ.update(environ)
    process = Process(known)
    try:
        for n, step in enumerate(steps):
            if step[0] == "child":
                return "", steps[n + 1 :], process.for_a_child(), dict(os.environ)
            process.go(step)
        process.end()
    except BaseException:  # noqa: BLE001 - whatever it is, it should not have been
        return traceback.format_exc()[-1500:], [], {}, {}
    return "", [], {}, {}


def _shorter(steps: list[Step]) -> Iterator[list[Step]]:
    yield from (steps[:n] + steps[n + 1 :] for n in range(len(steps) - 1, 0, -1))
    for n, step in enumerate(steps):
        for name in step[2] if step[0] == "call" else ():
            less = {key: one for key, one in step[2].items() if key != name}
            yield [*steps[:n], [*step[:2], less], *steps[n + 1 :]]


def shortened(steps: list[Step]) -> list[Step]:
    """The same with as few steps and arguments as are still wrong."""
    while less := next((one for one in _shorter(steps) if wrong_with(one)), None):
        steps = less
    return steps


def prepare(folder: str) -> None:
    """Load what jax loads but not jax; describe a machine with GPUs and the releases that are installed here; see jax's defaults."""
    for name in (*BEFORE_JAX, "jaxgpu_tune.notebook", "jaxgpu_tune.cli.group"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    warnings.simplefilter("ignore")
    here, path = installed_versions(), Path(folder, "machine.json")
    machine = json.loads((Path(__file__).parent / "machines" / "h100x8.json").read_text())
    path.write_text(json.dumps({**machine, "jaxlib": here.jaxlib, "jax": here.jax}))
    os.environ["TESTS_MACHINE"] = str(path)
    with tempfile.TemporaryFile("w+") as file:
        if (pid := os.fork()) == 0:
            importlib.import_module("jax")
            file.write(json.dumps(options_now(), default=str))
            file.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        file.seek(0)
        DEFAULTS.update(json.load(file))


def found(seeds: Iterable[int]) -> list[str]:
    """The first life in which something does not hold, shortened, and what that is."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        for seed in seeds:
            steps = life(Random(seed))
            if wrong_with(steps):
                short = shortened(steps)
                return [f"seed {seed}", *map(json.dumps, short), wrong_with(short)]
    return []


def main() -> int:
    """Try so many lives; exit code 1 if something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.lives")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    wrong = found(range(args.seed, args.seed + args.cases))
    print("\n".join(wrong or [f"{args.cases} lives, and everything held"]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
