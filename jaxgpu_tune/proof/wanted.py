"""What was applied to this process: by the last ``configure()`` here, else by the parent that launched it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..host.apply import last_applied
from ..host.late import STARTED
from ..host.marker import touched
from ..knowledge import options
from ..model import Decision, Machine, Report, SettingKind
from ..planning.settings.setting_names import GUARD_UMBRELLA
from ..planning.xla_flags.grammar import FLAGS, scan
from ..values import Value

__all__ = ["Wanted", "applied_here", "flag_values", "left_by_parent"]

HELD = ("set", "kept", "merged", "removed", "late")


class Wanted(Value):
    """One setting that is to hold.

    ``values``: the texts that were applied, several where a flag is given several times, none where it is removed.
    ``late``: why it was not applied, in a sentence.
    """

    kind: SettingKind
    name: str
    values: tuple[str, ...]
    late: str = ""

    @property
    def text(self) -> str | None:
        """All its texts as one; None: removed."""
        return " ".join(self.values) if self.values else None


def applied_here() -> tuple[Report, tuple[Wanted, ...]] | None:
    """The last report that this process carried out, and its settings; None: there is none."""
    report = last_applied()
    return None if report is None else (report, tuple(_of_report(report)))


def left_by_parent(environ: Mapping[str, str], machine: Machine) -> tuple[Wanted, ...]:
    """What the parent that launched this process set, as the marker variable tells."""
    found = {name: ours for name, (_, ours) in touched(environ).items()}
    flags = flag_values(found.pop(FLAGS, None) or "")
    variables = tuple(_variable(name, text, machine) for name, text in sorted(found.items()))
    return (*(Wanted("xla_flag", name, values) for name, values in flags.items()), *variables)


def flag_values(text: str) -> dict[str, tuple[str, ...]]:
    """Each flag of an XLA_FLAGS text with its values in order."""
    found: dict[str, tuple[str, ...]] = {}
    for token in scan(text).tokens:
        name = token.name or token.text
        found[name] = (*found.get(name, ()), token.meant)
    return found


def _of_report(report: Report) -> Iterator[Wanted]:
    flags = flag_values(report.xla_flags)
    for decision in report.decisions:
        if decision.status not in HELD or _is_vehicle(decision, report):
            continue
        late = _why_late(decision) if decision.status == "late" else ""
        own = () if decision.value is None else (decision.value,)
        yield Wanted(decision.kind, decision.name, own if late else flags.get(decision.name, own), late)
    yield from _undecided(report, (decision.name for decision in report.decisions))


def _why_late(decision: Decision) -> str:
    """Without what the setting is for, so that those of one cause are told as one."""
    return STARTED if decision.reason.startswith(STARTED) else decision.reason


def _is_vehicle(decision: Decision, report: Report) -> bool:
    """Whether it is the umbrella of the transfer guards, which is out as a request, and whose variable carries the three of them."""
    return (decision.name, decision.status) == (GUARD_UMBRELLA, "removed") and bool(
        report.environ.get(GUARD_UMBRELLA.upper())
    )


def _undecided(report: Report, decided: Iterable[str]) -> Iterator[Wanted]:
    """Variables that come without a decision of their own, as one of the two names of the memory fraction does."""
    names = {*decided, FLAGS}
    for name, text in report.environ.items():
        if name not in names and not options.known(name.lower()):
            yield Wanted("env", name, () if text is None else (text,))


def _variable(name: str, text: str | None, machine: Machine) -> Wanted:
    values = () if text is None else (text,)
    is_option = options.known(name.lower()) and options.option(name.lower(), machine.jax) is not None
    return Wanted("jax_config", name.lower(), values) if is_option else Wanted("env", name, values)
