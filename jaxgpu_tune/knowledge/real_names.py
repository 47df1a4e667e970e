"""Names that mean something in the field, where something else is asked for: no nearest name is ever offered for one."""

from __future__ import annotations

from typing import Literal

from ..arguments import Arguments
from ..values import Value
from ..wording import capital
from . import flags, options, variables
from .families import family_of
from .tables import read_table

__all__ = ["RealName", "also_called", "calls", "elsewhere", "option_of_argument", "other_names", "real_name"]

OURS = ("cpu", "cuda", "gpu")
SETTINGS = {"": "", "preset": "", "flags": "--flag", "env": "--env", "jax_config": "--config", "late": ""}
"""The options of arguments that are not called as these are."""
OF_TPUS = ("xla_tpu_", "xla_jf_", "xla_sc_", "megascale_")


class RealName(Value):
    """What a name is, as the end of a sentence; a sentence on where it belongs; and the argument of ``configure()`` that takes it."""

    what: str
    instead: str
    argument: str = ""
    name: str = ""

    @property
    def sentence(self) -> str:
        """Both, where the name was told just before."""
        return f"It is {self.what}. {self.instead}"


def other_names() -> dict[str, str]:
    """What the field calls what a preset is for, and that preset."""
    return {name: preset for preset, names in read_table("names")["preset"].items() for name in names}


def also_called(name: str) -> str | None:
    """The preset that the field calls by this name."""
    return other_names().get(name.strip().lower().replace("-", "_"))


def calls(kind: Literal["start_backend", "set_xla_flags", "start_cuda"]) -> frozenset[str]:
    """The full names of calls in Python programs that start JAX's backend, that put a flag into XLA_FLAGS, or by which torch starts CUDA."""
    return frozenset(read_table("names")["calls"][kind])


def elsewhere(platform: object) -> RealName | None:
    """A platform of jax that is none of NVIDIA's GPUs and not the CPU; None: any other name."""
    name = str(platform)
    whose = next((one["is"] for one in read_table("names")["platform"] if one["name"] == name.lower()), None)
    if whose is None:
        return None
    instead = (
        f"This library sets up NVIDIA's GPUs; leave it out there, and choose the platform by JAX_PLATFORMS={name}."
    )
    return RealName(f"JAX's name for {whose}", instead)


def real_name(text: str) -> RealName | None:
    """What a name is that was given for something else, dashes and a value aside; None: nothing that is known."""
    name = text.strip().lstrip("-").split("=", 1)[0]
    if name.lower() in OURS:
        own = "cpu" if name.lower() == "cpu" else "cuda"
        return RealName("a platform of JAX", f"Pass platform={own!r}.", "platform", own)
    return elsewhere(name) or _argument(name) or _flag(name) or _option(name) or _variable(name)


def option_of_argument(name: str) -> str:
    """The option of a command line that takes what an argument of ``configure()`` takes; empty: none does."""
    return SETTINGS.get(name, f"--{name.replace('_', '-')}")


def _argument(name: str) -> RealName | None:
    plain = name.replace("-", "_")
    if plain not in Arguments.__annotations__ and plain != "preset":
        return None
    option = option_of_argument(plain)
    instead = f"Pass {plain}=…{f', on a command line {option}' * bool(option)}."
    return RealName("an argument of configure()", instead, plain, plain)


def _flag(name: str) -> RealName | None:
    plain = name.replace("-", "_")
    if flags.known(plain):
        return _passed("an XLA flag", "flags", plain)
    if plain.startswith(OF_TPUS):
        return RealName("a flag for TPUs", "Their runtime reads LIBTPU_INIT_ARGS; here it has no use.")
    return None


def _option(name: str) -> RealName | None:
    option = name.lower().replace("-", "_")
    return _passed("an option of jax", "jax_config", option) if options.known(option) else None


def _variable(name: str) -> RealName | None:
    family, program, other = family_of(name), variables.program_of(name), variables.instead_of(name)
    if other:
        return RealName("a variable that jaxlib does not read", f"It reads {other}.")
    if program:
        return RealName(f"a variable that is read by {program}", "Set it in the environment.")
    if family and not name.startswith(tuple(variables.spellings())):
        return RealName(f"a variable of {family.owner}", f"{capital(family.reader)}.")
    if not variables.is_spelt(name):
        return None
    what = f"a variable of {family.owner}" if family else "a variable of NVIDIA's containers"
    return _passed(what, "env", name) if variables.is_read(name) else RealName(what, "No more is known of it.")


def _passed(what: str, argument: str, name: str) -> RealName:
    return RealName(what, f'Pass {argument}={{"{name}": …}}.', argument, name)
