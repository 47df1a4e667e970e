"""What is known of one flag in one release, and of the way a release reads values."""

from __future__ import annotations

from typing import Literal

from ..values import Value

__all__ = ["ENDS_PROCESS", "FlagSpec", "Rules"]

ENDS_PROCESS = "XLA would end the process"
"""What a parser does at worst with a text that it refuses, as half a sentence."""


class FlagSpec(Value):
    """One flag in one release.

    ``type``: bool, int32, int64, float or string, as registered. ``form``: what its text means: the type, or for
    strings enum, list, map, duration, ranges or text. ``default``: as registered. ``effective``: a text that gives the
    options that hold without the flag; None where no text does (``default`` may say "false" where stating it changes
    something). ``fields``: the fields of DebugOptions that it writes; none: it does nothing (``xla_fuel`` apart).
    ``compile_option``: ``jit(compiler_options=)`` takes it under this name, and there it acts.
    ``refuses``: what the setter refuses: "<=0", "<0" or "true". ``undefined``: the setter of this release writes through
    a pointer to memory that is no longer its own, so that what a value does is chance: ``effective`` is None then, and no
    answer of the parser counts.

    ``deprecated``: XLA's help text of this release says so.

    For enums and lists: ``members`` as the flag spells them and ``names`` as ``compiler_options`` does; ``case``: "any"
    if that of letters does not count; ``prefix`` may stand before a member; ``empty``: an empty value passes;
    ``aliases``: other words for members; ``ignored``: characters that do not count, wherever in a member they stand.

    For lists: ``separator`` ("": one item an occurrence); ``incremental``: ``+X,-Y`` change the default;
    ``first_only``: but only the first item counts; ``blanks`` around items pass; a ``trailing`` comma passes;
    ``suffix``: what may follow a colon, "int" or "bytes" (then also one of ``types``); ``repeat``: what a second
    occurrence does: the "last" wins, "append", or "merge" key by key.
    """

    name: str
    type: str
    default: str
    effective: str | None
    fields: tuple[str, ...]
    form: str
    members: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    case: Literal["exact", "any"] = "exact"
    prefix: str = ""
    empty: bool = True
    aliases: tuple[tuple[str, str], ...] = ()
    ignored: str = ""
    separator: str = ","
    incremental: bool = False
    first_only: bool = False
    blanks: bool = False
    trailing: bool = False
    suffix: str = ""
    types: tuple[str, ...] = ()
    repeat: Literal["last", "append", "merge"] = "last"
    refuses: str = ""
    compile_option: bool = True
    undefined: bool = False
    deprecated: bool = False


class Rules(Value):
    """How a release reads values in general, as its parser answered.

    ``bad_value_fatal``: a value that fails ends the process (else it is logged, and unknown flags go unreported).
    ``int_wraps``: a number too large wraps around silently. ``float_open_exponent``: "1e" passes, and is 1.
    """

    bad_value_fatal: bool
    bool_digits: bool
    int_wraps: bool
    int_leading_blanks: bool
    int_trailing_blanks: bool
    float_leading_blanks: bool
    float_trailing_blanks: bool
    float_hex: bool
    float_open_exponent: bool
    float_overflows: bool
    float_words: tuple[str, ...]
