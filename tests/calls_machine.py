"""Calls that meet, as a state machine: a launcher, two libraries, an application, a child, and a user who edits in between.

It runs in a process of its own (``test_session.py``), on that process's real environment. What should be in force is worked out by
another way than the library's: setting by setting, from what was done in which order.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import jaxgpu_tune
from jaxgpu_tune.api import fresh_environ
from jaxgpu_tune.host.marker import MARKER, follow, read_state
from jaxgpu_tune.planning.xla_flags.grammar import scan

FLAGS = {
    "xla_dump_to": ("/a", "/b", "/c"),
    "xla_gpu_autotune_level": ("1", "2", "3"),
    "xla_dump_hlo_pass_re": ("x", "y", "z"),
}
VARIABLES = {"NCCL_DEBUG": ("INFO", "WARN", "TRACE"), "XLA_CLIENT_MEM_FRACTION": ("0.3", "0.4", "0.5")}
NAMES = (*FLAGS, *VARIABLES)
DAMAGED = ("{}", "\u2013\u2013{0[2:]}", '"{}"', "'{}'", "{} # why", "stray {}", "{},", "{} \\\n", " \t{}", "export {}")
PRESETS = {"one": {"xla_dump_to": "/one", "xla_dump_hlo_pass_re": "one"}, "two": {"xla_dump_to": "/two"}}
USERS = ("", "--xla_dump_to=/u", "  --xla_dump_to=/u   --xla_gpu_autotune_level=3 ", "--xla_dump_to = /u stray")
Value = str | None
"""None: it is removed."""


def in_force(environ: dict[str, str]) -> dict[str, str]:
    """What XLA and the others read."""
    read = scan(environ.get("XLA_FLAGS", ""))
    assert not read.lost and not read.file and not read.fatal, environ["XLA_FLAGS"]
    flags = {str(token.name): str(token.value) for token in read.tokens}
    return {**flags, **{name: environ[name] for name in VARIABLES if name in environ}}


requests = st.dictionaries(st.sampled_from(NAMES), st.integers(-1, 2), max_size=2).map(
    lambda found: {name: None if n < 0 else {**FLAGS, **VARIABLES}[name][n] for name, n in found.items()}
)
presets = st.sampled_from(["auto", "auto", "one", "two"])


def arguments(wanted: dict[str, Value]) -> dict[str, Any]:
    """Each request as an argument of the call; the share of the memory as one of its own."""
    share = wanted.get("XLA_CLIENT_MEM_FRACTION")
    found: dict[str, Any] = {
        "flags": {name: text for name, text in wanted.items() if name in FLAGS},
        "env": {name: text for name, text in wanted.items() if name in VARIABLES and not (share and "MEM" in name)},
    }
    return {name: value for name, value in found.items() if value} | (
        {"memory_fraction": float(share)} if share else {}
    )


class Calls(RuleBasedStateMachine):
    """``calls``: of each that stands, when it came, its preset and its requests. ``user``: of each setting, since when, and what."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.time = 1
        self.calls: dict[int, tuple[str, dict[str, Value]]] = {}
        self.reports: dict[int, jaxgpu_tune.Report] = {}
        self.user: dict[str, tuple[int, Value]] = {}
        self.edited = False
        for name, flags in PRESETS.items():
            lines = (f'[[set]]\nflag = "{flag}"\nvalue = "{text}"\nreason = "tried"\n' for flag, text in flags.items())
            Path(self.folder.name, f"{name}.toml").write_text("\n".join(lines))

    def path(self, preset: str) -> str:
        """The preset's name as a call gives it."""
        return preset if preset == "auto" else str(Path(self.folder.name, f"{preset}.toml"))

    def expected(self, calls: dict[int, tuple[str, dict[str, Value]]] | None = None) -> dict[str, str]:
        """Each setting: of explicit requests and edits the latest, then what the user had, then the preset."""
        standing = self.calls if calls is None else calls
        named = [preset for _, (preset, _) in sorted(standing.items()) if preset != "auto"]
        found: dict[str, Value] = dict(PRESETS[named[-1]]) if named else {}
        for name in NAMES:
            since, text = self.user.get(name, (0, None))
            asked = [wanted[name] for time, (_, wanted) in sorted(standing.items()) if name in wanted and time > since]
            if asked:
                found[name] = asked[-1]
            elif name in self.user:
                found[name] = text
        return {name: text for name, text in found.items() if text is not None}

    @initialize(flags=st.sampled_from(USERS), wanted=requests, preset=presets, launched=st.booleans())
    def start(self, flags: str, wanted: dict[str, Value], preset: str, launched: bool) -> None:
        """What the user has, and perhaps a launcher on top of it, which nobody in this process can take back."""
        for name in (*VARIABLES, "XLA_FLAGS", MARKER):
            os.environ.pop(name, None)
        if flags:
            os.environ["XLA_FLAGS"] = flags
            self.user = {
                name: (0, text)
                for name, text in (("xla_dump_to", "/u"), ("xla_gpu_autotune_level", "3"))
                if name in flags
            }
        if launched:
            _, final = fresh_environ(self.path(preset), os.environ, who="jaxgpu-tune run", **arguments(wanted))
            os.environ.update(final)
            for name in set(os.environ) - set(final):
                del os.environ[name]
            self.calls |= {self.time: (preset, wanted)} if wanted or preset != "auto" else {}
        self.begun = dict(os.environ)

    @rule(wanted=requests, preset=presets)
    def call(self, wanted: dict[str, Value], preset: str) -> None:
        """The application or a library."""
        before = self.expected({time: ("auto", asked) for time, (_, asked) in self.calls.items()})
        self.time += 1
        report = jaxgpu_tune.configure(self.path(preset), **arguments(wanted))
        self.calls[self.time] = (preset, wanted)
        self.reports[self.time] = report
        told = " ".join(finding.message for finding in report.findings)
        told += " ".join(decision.name for decision in report.decisions if decision.status == "removed")
        for name, text in before.items():
            if self.expected().get(name) != text:
                said = (name, "memory_fraction") if "FRACTION" in name else (name,)
                assert any(one in told for one in said), (name, text, told)
        self.compare()

    @rule(wanted=requests, preset=presets)
    def child(self, wanted: dict[str, Value], preset: str) -> None:
        """A process that this one starts; it goes on from what is in force here."""
        made = jaxgpu_tune.environ(self.path(preset), base=dict(os.environ), **arguments(wanted))
        assert in_force(made) == self.expected({**self.calls, self.time + 1: (preset, wanted)})
        assert follow(made).environ == follow(os.environ).environ

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Any of the calls, in any order, and twice."""
        time = data.draw(st.sampled_from(sorted(self.reports)))
        report = self.reports.pop(time)
        del self.calls[time]
        report.restore()
        after = dict(os.environ)
        report.restore()
        assert dict(os.environ) == after
        if all(call == ("auto", {}) for call in self.calls.values()) and (not self.calls or self.is_damaged()):
            self.user = {name: (0, text) for name, (_, text) in self.user.items() if text is not None}
        else:
            self.compare()

    @rule(name=st.sampled_from(sorted(FLAGS)), n=st.integers(0, 2), form=st.sampled_from(DAMAGED))
    def append(self, name: str, n: int, form: str) -> None:
        """The program adds a flag, damaged or not."""
        said = f"--{name}={FLAGS[name][n]}"
        said = f"\u2013\u2013{said[2:]}" if "0[2:]" in form else form.format(said)
        now = os.environ.get("XLA_FLAGS", "")
        if self.is_damaged():
            return
        self.settle(f"{now} {said}" if now else said, name, (self.time, FLAGS[name][n]))

    @rule(name=st.sampled_from(sorted(FLAGS)), n=st.integers(0, 2))
    def prepend(self, name: str, n: int) -> None:
        """XLA has the last: what is there already stays in force, unless a preset alone says it."""
        there = os.environ.get("XLA_FLAGS", "")
        if self.is_damaged():
            return
        known = self.user.get(name, (0, None))
        asked = [wanted[name] for time, (_, wanted) in sorted(self.calls.items()) if name in wanted and time > known[0]]
        value = (
            known if known[1] is not None and not asked else (0 if asked and asked[-1] else self.time, FLAGS[name][n])
        )
        self.settle(f"--{name}={FLAGS[name][n]} {there}".strip(), name, value)

    @rule(name=st.sampled_from(sorted(FLAGS)), n=st.integers(-1, 2))
    def change(self, name: str, n: int) -> None:
        """One flag is given another value where it stands, or one of ours is taken out."""
        words = os.environ.get("XLA_FLAGS", "").split()
        mine = [word for word in words if word.startswith(f"--{name}=")]
        if not mine or self.is_damaged() or (n < 0 and self.is_users(name)):
            return
        new = [] if n < 0 else [f"--{name}={FLAGS[name][n]}"]
        if mine == new:
            return
        rest = [part for word in words for part in (new if word == mine[-1] else [] if word in mine else [word])]
        self.settle(" ".join(rest), name, (self.time, None if n < 0 else FLAGS[name][n]))

    @rule(name=st.sampled_from(sorted(VARIABLES)), n=st.integers(-1, 2))
    def set_variable(self, name: str, n: int) -> None:
        """The program sets or deletes a variable."""
        text = None if n < 0 else VARIABLES[name][n]
        if os.environ.get(name) == text:
            return
        os.environ.pop(name, None) if text is None else os.environ.update({name: text})
        self.note(name, (self.time, text))

    def is_users(self, name: str) -> bool:
        """Whether what is in force is the user's own."""
        since, text = self.user.get(name, (0, None))
        asked = any(name in wanted and time > since for time, (_, wanted) in self.calls.items())
        return text is not None and not asked

    def is_damaged(self) -> bool:
        """Whether XLA would not read the text as it is meant."""
        read = scan(os.environ.get("XLA_FLAGS", ""))
        return bool(read.lost or read.file or read.fatal or any(token.name is None for token in read.tokens))

    def settle(self, text: str, name: str, value: tuple[int, Value]) -> None:
        """XLA_FLAGS is edited, and something is called so that it is looked at before the next edit."""
        os.environ["XLA_FLAGS"] = text
        self.note(name, value)
        self.call_nothing()

    def note(self, name: str, value: tuple[int, Value]) -> None:
        """The user has said something of a setting."""
        self.user[name] = value
        self.edited = True

    def call_nothing(self) -> None:
        """The application calls and asks for nothing."""
        self.time += 1
        self.reports[self.time] = jaxgpu_tune.configure()
        self.calls[self.time] = ("auto", {})
        self.compare()

    def compare(self) -> None:
        """What is in force is what should be."""
        assert in_force(dict(os.environ)) == self.expected(), (os.environ.get("XLA_FLAGS"), os.environ.get(MARKER))
        assert read_state(os.environ) is not None

    def teardown(self) -> None:
        """After the last call is taken back all is as the user, or the launcher, had it; to the letter where nobody edited."""
        for time in sorted(self.reports, key=lambda time: (time % 3, time)):
            self.reports[time].restore()
        if not self.edited and hasattr(self, "begun"):
            assert dict(os.environ) == self.begun
        self.folder.cleanup()


def main(examples: int) -> None:
    """Try that many histories."""
    logging.getLogger("jaxgpu_tune").setLevel(logging.CRITICAL)
    checks = settings(
        max_examples=examples,
        stateful_step_count=14,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=not os.environ.get("QUICK"),
        report_multiple_bugs=False,
        phases=[Phase.explicit, Phase.generate] if os.environ.get("QUICK") else list(Phase),
    )
    run_state_machine_as_test(Calls, settings=checks)
