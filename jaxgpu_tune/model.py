"""The frozen values that cross the stages: observe -> know -> select -> merge -> check -> apply -> report.

Importing this package is to cost a program that uses jax nothing, so ``dataclasses`` and the like are not used: see ``values``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .machine import Gpu, Machine, Processes
from .named import Named
from .state import Layer, Texts
from .values import EMPTY, Value, jsonable

Severity = Literal["error", "warning", "note"]
SettingKind = Literal["xla_flag", "env", "jax_config"]
Origin = Literal["argument", "request", "existing", "preset", "fault"]
"""Who wants a setting: this call, an earlier one, what is set already, a preset, or a fault of what is installed that it avoids."""
Status = Literal["set", "kept", "merged", "default", "absent", "unmet", "translated", "dropped", "removed", "late"]


__all__ = [
    "Decision",
    "Explanation",
    "Finding",
    "Gpu",
    "Machine",
    "Migration",
    "Observation",
    "Preset",
    "Presets",
    "Processes",
    "Report",
    "Setting",
]


class Finding(Value):
    """Something the user should know. ``code`` is stable kebab-case; ``hint`` says what to do next."""

    code: str
    severity: Severity
    message: str
    hint: str = ""


class Decision(Value):
    """What became of one setting, and why.

    ``name`` is the flag without dashes, the variable or the jax.config option; ``value`` the text
    that is emitted (None: nothing is); ``reason`` a sentence; ``source`` says in words who asked for it, ``origin`` as one of five.
    """

    kind: SettingKind
    name: str
    value: str | None
    status: Status
    reason: str
    source: str = ""
    origin: Origin | None = None


class Setting(Value):
    """A wish: one setting as a preset or an argument states it, before this machine is considered.

    ``value`` is the text of a flag or a variable, the typed value of an option; None removes. ``when`` maps the closed vocabulary of conditions (see
    ``planning/base/conditions.py``) to what each demands; ``measured`` says in the same words where it was measured, empty: nowhere.
    ``call``: the number of the earlier call that asked for it; ``argument``: the one of the call that stands for it.
    """

    kind: SettingKind
    name: str
    value: Any
    reason: str
    source: str
    when: Mapping[str, Any] = EMPTY
    measured: Mapping[str, Any] = EMPTY
    call: int = 0
    argument: str = ""


class Preset(Value):
    """A named set of settings. "maintained": this project's; "published": others' recipe; "user": a file of theirs.

    ``advice``: what the program itself can do, and when that holds, in the words of a setting's ``when``.
    ``use_when``: for which programs; ``revision``: of the page that is the source, and when it was read; ``call``: the code that does all that the source does.
    """

    name: str
    summary: str
    kind: Literal["maintained", "published", "user"]
    settings: tuple[Setting, ...] = ()
    evidence: tuple[str, ...] = ()
    source: str = ""
    memory_fraction: float | str | None = None
    advice: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    revision: str = ""
    call: str = ""
    use_when: str = ""


class Presets(tuple[Preset, ...]):
    """Presets by name; a table in notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from .render.html import presets_html

        return presets_html(self)


class Observation(Value):
    """All that was seen of the world before a decision: the only input of planning beside the arguments.

    ``environ`` is what was set before this library touched it (what we set earlier is taken back out), ``layers`` what
    earlier calls asked for, ``edits`` what the user changed after which of them, ``notes`` what was wrong with their record;
    ``jax_config`` the options of a live jax that differ from jax's defaults (None: jax is not imported);
    ``flag_file`` the text of the file XLA_FLAGS names; ``modules`` other users of the GPU that are imported here;
    ``live``: this process is planned for, not a fresh one; ``cuda_folders``: those of LD_LIBRARY_PATH that hold CUDA;
    ``named``: what is at the paths that ``layers`` name; ``unread``: each variable that the user changed after jax had read it, as it was and as we left it.
    """

    machine: Machine
    environ: Mapping[str, str] = EMPTY
    jax_config: Mapping[str, Any] | None = None
    flag_file: str | None = None
    modules: frozenset[str] = frozenset()
    live: bool = False
    cuda_folders: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    edits: Mapping[str, int] = EMPTY
    notes: tuple[Finding, ...] = ()
    named: Named = Named()
    unread: Mapping[str, Texts] = EMPTY


class Migration(Value):
    """XLA_FLAGS with the same intent for another jaxlib, and what became of each flag."""

    xla_flags: str
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...] = ()


class Explanation(Value):
    """Everything known of one flag, variable, option, preset, argument of ``configure()`` or candidate of ``tune``. ``here``: what holds in the installed (or given) build.

    ``life``: the spans of releases that have it, (first, last), last None where the newest has it; ``type``, ``default``,
    ``values`` and ``compile_option`` are those of this build's flag; ``presets``: who sets it to what, and whether that was measured.
    ``memory``: what it cost where that was measured. Of a preset: when to use it, what it ``sets`` and where, the ``evidence``, and ``advice`` beyond settings that holds here.
    """

    kind: SettingKind | Literal["preset", "argument", "candidate"]
    name: str
    does: str = ""
    use_when: str = ""
    traps: str = ""
    source: str = ""
    here: str = ""
    life: tuple[tuple[str, str | None], ...] = ()
    type: str = ""
    default: str | None = None
    values: tuple[str, ...] = ()
    compile_option: bool | None = None
    presets: tuple[str, ...] = ()
    translations: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return jsonable(self)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        from .render.explanation import explanation_text

        return explanation_text(self)


class Report(Value):
    """Every decision of one call with its reason.

    ``xla_flags``: the final XLA_FLAGS text. ``environ``: every variable set or changed, final values,
    None = removed (XLA_FLAGS and the JAX_* form of each option included). ``jax_config``: the options.
    ``applied``: whether this process was changed. ``inputs``: the arguments and the environment that
    were decided on, so that the report can be replayed. ``call``: its number, by which ``restore()`` knows it.
    """

    preset: str
    machine: Machine
    xla_flags: str
    environ: Mapping[str, str | None]
    jax_config: Mapping[str, Any]
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    applied: bool = False
    inputs: Mapping[str, Any] = EMPTY
    call: int = 0

    def restore(self) -> None:
        """Take this call back: what is in force follows from the other calls, and after the last is what you had before.

        In any order; a second time it does nothing, nor does it for a plan that was not applied. Once JAX has started its backend, what that has
        read stays in force in this process; a warning names it.
        """
        from .session import take_back

        if self.applied:
            take_back(self.call, self.machine.processes)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, inputs included; secrets are masked: values of variables such as HF_TOKEN, credentials in addresses."""
        from .planning.base.secrets import without_secrets

        return jsonable(without_secrets(self))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        from .planning.base.secrets import without_secrets

        return Value.__repr__(without_secrets(self))

    def details(self) -> str:
        """The whole report as text: each decision with its reason, what was left out, all findings, the environment, the machine."""
        from .render.text import render_details

        return render_details(self)

    def __str__(self) -> str:
        from .render.text import render_text

        return render_text(self)

    def _repr_html_(self) -> str:
        from .render.html import render_html

        return render_html(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """What an IPython terminal shows."""
        printer.text(str(self))
