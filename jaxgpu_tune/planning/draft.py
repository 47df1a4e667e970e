"""A plan made with what is held to be in force: select -> merge, each stage from values to one outcome. Pure."""

from __future__ import annotations

from ..model import Decision, Machine, Observation, Preset, Setting
from ..values import Value
from .base.wish import Outcome, Problem, Repaired, Stated, Wish, together
from .findings.option_needs import companions, refused_here
from .in_force import Settled
from .merging.assemble import carried, flags_text, ordered
from .merging.inherit import inherit, read_flags
from .merging.merge import merge
from .release.adapt import adapt, mistakes
from .release.target import Target, target_of
from .request import Request
from .select import facts_of, nothing_set, select, unheeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..knowledge.installs import InstallFault
    from .base.conditions import Facts


__all__ = ["Draft", "Sight", "drafted"]


class Sight(Value):
    """What a plan is made from, beside the request. ``refused``, ``accepted``: what the installed binaries said of flags, against or beyond the tables.

    ``looks_around``: at what is installed, and not only at what is set.
    """

    observation: Observation
    preset: Preset
    refused: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    looks_around: bool = True


class Draft(Value):
    """A plan made with what the ``request`` holds to be in force; it stands if that is what it puts in force."""

    request: Request
    preset: Preset
    facts: Facts
    target: Target
    faults: tuple[InstallFault, ...]
    outcome: Outcome
    flags: str
    settled: Settled

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What is in force."""
        return self.outcome.wishes

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """One for each setting, by kind and name."""
        return ordered(self.outcome.decisions)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the arguments."""
        return (*self.request.problems, *self.outcome.problems)


def drafted(request: Request, sight: Sight) -> Draft:
    """select -> merge, with what the request holds to be in force."""
    observation, machine = sight.observation, sight.observation.machine
    facts = facts_of(machine, request)
    target = target_of(machine, sight.refused, sight.accepted, request.held.unified)
    faults = _faults(request, machine, facts)
    chosen = _chosen(request, sight, facts, target, faults)
    inherited = read_flags(observation, target)
    stated = _in_words(sight, chosen, target, inherited)
    sensible = refused_here(stated.wishes, facts, observation, request.prefer)
    reaching = carried(sensible.wishes, target.jax_release, observation.live)
    merged = merge(reaching.wishes, target, request.prefer)
    before = (one._replace(wishes=()) for one in (chosen.outcome, stated, sensible, reaching))
    flags = flags_text(merged.wishes, inherited, observation.environ.get("XLA_FLAGS", ""))
    return Draft(
        request, sight.preset, facts, target, faults, together((*before, merged)), flags, Settled.of(merged.wishes)
    )


class Chosen(Value):
    """The settings of each origin whose turn it is here, and of a preset those that do not come to it (``unmet``)."""

    preset: tuple[Setting, ...]
    unmet: tuple[Setting, ...]
    faults: tuple[Setting, ...]
    earlier: tuple[Setting, ...]
    asked: tuple[Setting, ...]
    outcome: Outcome

    @property
    def wanted(self) -> frozenset[str]:
        """The variables and options among them."""
        settings = (*self.preset, *self.earlier, *self.asked)
        return frozenset(setting.name for setting in settings if setting.kind != "xla_flag")


def _chosen(request: Request, sight: Sight, facts: Facts, target: Target, faults: tuple[InstallFault, ...]) -> Chosen:
    preset, machine = sight.preset, sight.observation.machine
    fraction = _fraction_of(preset, request, sight.observation, facts)
    whole = preset._replace(settings=(*preset.settings, *fraction.settings))
    ours = select(whole.settings, "preset", request, facts)
    avoiding = tuple(setting for fault in faults if sight.looks_around for setting in fault.settings)
    theirs = select(avoiding, "fault", request, facts)
    earlier, asked = _explicit(request, sight.observation, facts, target)
    told = (
        *unheeded(preset, request),
        *earlier.findings,
        *asked.findings,
        *(nothing_set(whole, ours, request, facts, machine) if sight.looks_around else ()),
    )
    decisions = (*fraction.decisions, *ours.decisions, *theirs.decisions, *earlier.decisions, *asked.decisions)
    outcome = Outcome(decisions=decisions, findings=told)
    return Chosen(ours.settings, ours.unmet, theirs.settings, earlier.settings, asked.settings, outcome)


def _in_words(sight: Sight, chosen: Chosen, target: Target, inherited: Repaired) -> Outcome:
    """What is set already and what is chosen, in the words of the build, in the order of their rank."""
    beside = companions((*chosen.earlier, *chosen.asked), target.jax_release)
    return together(
        (
            inherit(sight.observation, inherited, chosen.wanted, target),
            adapt(chosen.preset, "preset", target),
            adapt(chosen.faults, "fault", target),
            mistakes(sight.preset, chosen.unmet, target),
            adapt(beside, "preset", target),
            adapt(chosen.earlier, "request", target),
            adapt(chosen.asked, "argument", target),
        )
    )


def _fraction_of(preset: Preset, request: Request, observation: Observation, facts: Facts) -> Stated:
    """The share of the memory that the preset states."""
    if preset.memory_fraction is None:
        return Stated()
    from .fraction import stated_fraction

    return stated_fraction(preset, request, observation, facts)


def _explicit(request: Request, observation: Observation, facts: Facts, target: Target) -> tuple[Stated, Stated]:
    """What earlier calls asked for and still holds, in their order; and what this one asks for."""
    fraction = Stated()
    if request.memory_fraction is not None or request.processes_per_gpu is not None:
        from .fraction import asked_fraction

        fraction = asked_fraction(request, observation, facts)
    if not request.earlier and not request.remembered:
        return Stated(), fraction._replace(settings=(*request.settings, *fraction.settings))
    from .layers import explicit

    return explicit(request, fraction, observation, target)


def _faults(request: Request, machine: Machine, facts: Facts) -> tuple[InstallFault, ...]:
    """The faults of what is installed that flags avoid."""
    if not machine.gpus:
        return ()
    from .findings.faults import faults_here

    return faults_here(machine, facts, for_cpu=request.platform == "cpu")
