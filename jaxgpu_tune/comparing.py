"""Variants of one function compared in this very process, as in a notebook: each compiled with its own options, called in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .api import compiler_options, detect, plan
from .arms import CLEAN, NONE, NOTHING
from .errors import BadSetting
from .measure.calling import Caller, copied
from .measure.checks import STEP, check_arguments
from .measure.clock import percentile as nearest_rank
from .measure.comparison import Comparison, Variant, VariantRun
from .measure.doubts import empty_variant
from .measure.statistics import PAIRS, Verdict, order, ratios, unclaimed, verdict
from .model import Finding
from .wording import is_above_zero

__all__ = ["CompiledVariant", "compare", "difference"]

PROCESS_WIDE = ("set", "merged", "removed")
WARM = 3
TOLERANCE = 0.01


class CompiledVariant:
    """A variant, compiled: how it is called, how long compiling took, and what its first call gave back."""

    def __init__(
        self, name: str, options: dict[str, Any], step: Callable[..., Any], shapes: Sequence[tuple[Any, ...]]
    ) -> None:

        self.name, self.options, self.cause = name, options, ""
        self.callers: list[Caller] = []
        self.peak_bytes: int | None = None
        self.result: Any = None
        jitted, shapes = _jitted(step, shapes)
        begun = time.perf_counter()
        try:
            lowered = [jitted.lower(*args) for args in shapes]
            compiled = [one.compile(compiler_options=options or None) for one in lowered]
            self.compile_seconds = time.perf_counter() - begun
            self.peak_bytes = max(filter(None, map(_memory, compiled)), default=None)
            given = [_dynamic(args, one.args_info[0]) for args, one in zip(shapes, lowered, strict=True)]
            self.callers = [Caller(one, args) for one, args in zip(compiled, given, strict=True)]
            self.result = [copied(one(*copied(args))) for one, args in zip(compiled, given, strict=True)]
            self.run(WARM)
        except (
            RuntimeError,
            ValueError,
            TypeError,
        ) as error:  # of XLA, of options, of the function itself: a variant that fails is a result
            self.compile_seconds = time.perf_counter() - begun
            self.cause = f"{type(error).__name__}: {error}".split("\n")[0][:400]

    def run(self, calls: int) -> float:
        """Seconds for a call of each shape, of so many that are waited for at the end."""
        return sum(caller.run(calls) for caller in self.callers)


def compare(
    step: Callable[..., Any],
    *args: Any,
    variants: Sequence[str] | Mapping[str, Mapping[str, Any]],
    shapes: Sequence[tuple[Any, ...]] = (),
    pairs: int = PAIRS,
    seconds: float = 0.5,
    percentile: float | None = None,
) -> Comparison:
    """Which settings make a function faster: it is compiled with those of each variant, and all are called in turns.

    Only what acts per compile can be compared in one process. What acts on the whole process (NCCL's variables, memory)
    is left out, with a warning. For that, and for a whole program as it is, there is
    ``jaxgpu-tune compare none fsdp -- python train.py``.

    Args:
        step: Any function that JAX can compile, jitted or not; what it takes over (``donate_argnums``) it must give back.
        *args: What to call it with.
        variants: Names of presets, paths of preset files, or ``"none"``; or a mapping of names to arguments of
            ``configure()``, such as ``{"none": {}, "flat": {"flags": {…}}}``, which set nothing else unless "preset" is among them. The first is the reference.
        shapes: More tuples of arguments; a call is then one of each, as of a server whose requests differ.
        pairs: Pairs of blocks of calls; fewer than six show no difference.
        seconds: Of each block.
        percentile: Compare this percentile of single calls, such as 99, instead of the mean.

    Returns:
        The comparison; in a notebook it shows itself. ``.verdict`` is "faster", "slower", "no-difference" or "failed".

    Raises:
        UnknownPreset, BadSetting: An argument is wrong, or nothing of a variant can be compared within one process.

    Examples:
        >>> jaxgpu_tune.compare(train_step, state, batch, variants=["none", "simulation"]).verdict
    """
    _check(step, variants, pairs, seconds, percentile)
    begun, began = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    found, inputs = list(_options(variants)), [args, *shapes] if args or not shapes else list(shapes)
    built = [CompiledVariant(name, options, step, inputs) for name, options, _ in found]
    trials, ended = _trials(built, pairs, seconds, percentile)
    findings = [finding for _, _, told in found for finding in told]
    results = tuple(_variant(number, built, trials) for number in range(len(built)))
    findings += [_other_numbers(one) for one in results[1:] if (one.loss_difference or 0) > TOLERANCE]
    own = [trial.value for trial in trials[0] if trial.value]
    return Comparison(
        results,
        "blocks",
        ended,
        getattr(step, "__name__", type(step).__name__),
        own[0] / own[1] if len(own) > 1 else None,
        percentile=percentile,
        findings=tuple(findings),
        machine=detect().to_dict(),
        began=began,
        seconds=time.monotonic() - begun,
    )


def _check(step: Any, variants: Any, pairs: Any, seconds: Any, percentile: Any) -> None:
    """Raises BadSetting with all that is wrong."""
    several = not isinstance(variants, str) and hasattr(variants, "__len__") and len(variants) >= 2
    is_percentile = percentile is None or (isinstance(percentile, (int, float)) and 0 < percentile < 100)
    check_arguments(
        ("step", step, callable(step), STEP),
        ("variants", variants, several, 'two or more, the reference first, such as ["none", "fsdp"]'),
        ("pairs", pairs, isinstance(pairs, int) and pairs >= 1, "whole numbers of at least 1"),
        ("seconds", seconds, is_above_zero(seconds), "numbers above 0"),
        ("percentile", percentile, is_percentile, "a number between 0 and 100, such as 99"),
    )


def _options(
    variants: Sequence[str] | Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, dict[str, Any], tuple[Finding, ...]]]:
    """(name, what acts per compile, what is left out) of each variant. Raises BadSetting where nothing is left."""
    given = variants if isinstance(variants, Mapping) else {name: {"preset": name} for name in variants}
    for name, how in given.items():
        wanted = dict(how)
        preset = str(wanted.pop("preset", NONE))
        if preset == CLEAN:
            raise BadSetting.of([_not_here("clean", "what is set acts on the whole process")])
        yield (name, *_per_compile(name, preset, wanted))


def _per_compile(name: str, preset: str, wanted: dict[str, Any]) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    if preset == NONE and not wanted:
        return {}, ()
    chosen = NOTHING if preset == NONE else preset
    options, report = compiler_options(chosen, **wanted), plan(chosen, **wanted)
    left = sorted(d.name for d in report.decisions if d.status in PROCESS_WIDE and d.name not in options)
    if left and not options:
        raise BadSetting.of([_not_here(name, f"{', '.join(left)} act on the whole process")])
    if not options:
        return options, (empty_variant(name),)
    return options, (_left_out(name, left),) if left else ()


def _jitted(step: Any, shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, Sequence[tuple[Any, ...]]]:
    """The step as jax.jit makes it, and what to call it with.

    What another library jits (equinox.filter_jit) is wrapped: arrays go in and come out, everything else stays as it is.
    """
    import jax
    import numpy as np

    if not hasattr(step, "lower") or isinstance(step, type(jax.jit(len))):
        return step if hasattr(step, "lower") else jax.jit(step), shapes
    leaves, structure = jax.tree.flatten(shapes[0])
    is_array = [isinstance(leaf, (jax.Array, np.ndarray)) for leaf in leaves]

    def call(*arrays: Any) -> list[Any]:
        given = iter(arrays)
        whole = [next(given) if dynamic else leaf for leaf, dynamic in zip(leaves, is_array, strict=True)]
        return [
            leaf for leaf in jax.tree.leaves(step(*jax.tree.unflatten(structure, whole))) if isinstance(leaf, jax.Array)
        ]

    dynamic = [[leaf for leaf in jax.tree.leaves(one) if isinstance(leaf, (jax.Array, np.ndarray))] for one in shapes]
    return jax.jit(call), [tuple(one) for one in dynamic]


def _trials(
    built: list[CompiledVariant], pairs: int, seconds: float, share: float | None
) -> tuple[list[list[VariantRun]], str]:
    """The trials of each variant: the reference's first, then all there and back again."""
    trials: list[list[VariantRun]] = [[] for _ in built]
    calls = [max(1, round(seconds / max(one.run(1), 1e-7))) if not one.cause else 0 for one in built]
    rounds = ((0,), *order(len(built), pairs))
    try:
        for number, arms in enumerate(rounds):
            for arm in arms:
                if not built[arm].cause or not trials[arm]:
                    trials[arm].append(_trial(built[arm], number, calls[arm], share))
    except KeyboardInterrupt:
        return trials, "interrupted"
    return trials, "failed" if built[0].cause else "complete"


def _trial(one: CompiledVariant, number: int, calls: int, share: float | None) -> VariantRun:
    told: dict[str, Any] = {"compile_seconds": one.compile_seconds, "peak_bytes": one.peak_bytes, "clock": "blocks"}
    if one.cause:
        return VariantRun(one.name, number, "compile-error", one.cause, **told)
    begun = time.perf_counter()
    value = one.run(calls) if share is None else nearest_rank([one.run(1) for _ in range(calls)], share)
    return VariantRun(one.name, number, "ok", value=value, seconds=time.perf_counter() - begun, steps=calls, **told)


def _variant(number: int, built: list[CompiledVariant], trials: list[list[VariantRun]]) -> Variant:
    one, mine = built[number], tuple(trials[number])
    found = ratios([t.value for t in trials[0][1:] if t.value], [t.value for t in mine if t.value]) if number else ()
    said = verdict(found) if number else Verdict("no-difference")
    if not one.options and not built[0].options:
        said = unclaimed(said)
    if one.cause:
        said = Verdict("failed")
    return Variant(
        *(one.name, said, found, mine, "compile-error" if one.cause else "ok", one.cause),
        difference(built[0].result, one.result) if number and not one.cause and not built[0].cause else None,
        {key: str(value) for key, value in one.options.items()},
    )


def difference(reference: Any, result: Any) -> float:
    """The largest difference of two results, relative to the largest number of its array."""
    import jax
    import numpy as np

    pairs = zip(jax.tree.leaves(reference), jax.tree.leaves(result), strict=True)
    arrays = [(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in pairs if _is_real(a)]
    return max((float(np.max(np.abs(a - b)) / (np.max(np.abs(a)) or 1.0)) for a, b in arrays if a.size), default=0.0)


def _is_real(leaf: Any) -> bool:
    import jax
    import jax.numpy as jnp

    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)


def _dynamic(args: Sequence[Any], wanted: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments that a compiled program takes: those that jit was told are static are part of it."""
    import jax
    import numpy as np

    def form(tree: Any) -> Any:
        leaves, structure = jax.tree.flatten(tree)
        return structure, [getattr(leaf, "shape", None) or np.shape(leaf) for leaf in leaves]

    left, kept = list(wanted), []
    for one in args:
        if left and form(one) == form(left[0]):
            left.pop(0)
            kept.append(one)
    return tuple(kept)


def _memory(compiled: Any) -> int | None:
    """Bytes that the program needs beside its code: arguments, results and what lies between, without what is shared."""
    found = compiled.memory_analysis()
    parts = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    return None if found is None else sum(getattr(found, part) for part in parts) - found.alias_size_in_bytes


def _not_here(name: str, why: str) -> Finding:
    message = f"The variant {name} cannot be compared within one process: {why}."
    return Finding("process-wide", "error", message, f"Use: jaxgpu-tune compare none {name} -- python PROGRAM")


def _left_out(name: str, left: list[str]) -> Finding:
    message = f"{name}: left out, since they act on the whole process: {', '.join(left)}."
    return Finding("process-wide", "warning", message, "`jaxgpu-tune compare … -- python PROGRAM` compares them, too.")


def _other_numbers(variant: Variant) -> Finding:
    message = f"{variant.name}: its results differ from the reference's by up to {variant.loss_difference:.1%}."
    return Finding(
        "results-differ", "warning", message, "Check the numbers before you use it: it may compute less precisely."
    )
