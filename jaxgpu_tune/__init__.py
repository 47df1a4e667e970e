"""Set JAX up right on NVIDIA GPUs: one call before JAX touches the GPU.

import jaxgpu_tune; jaxgpu_tune.configure("fsdp")
import jax
"""

from .api import (
    check,
    check_processes,
    compiler_options,
    configure,
    detect,
    environ,
    explain,
    migrate,
    plan,
    presets,
    verify,
)
from .errors import (
    BadFlagValue,
    BadSetting,
    BadXlaFlags,
    JaxGpuTuneError,
    ProbeFailed,
    TooEarly,
    TooLate,
    UnknownArgument,
    UnknownFlag,
    UnknownPreset,
)
from .model import Decision, Explanation, Finding, Gpu, Machine, Migration, Preset, Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .comparing import compare
    from .decorator import configured
    from .measure.calling import profile
    from .measure.comparison import Comparison
    from .measure.marks import step, steps
    from .measure.profile import Profile
    from .measure.tuning.tuned import Tuned
    from .proof.verification import Verification
    from .searching import tune

__all__ = [
    "BadFlagValue",
    "BadSetting",
    "BadXlaFlags",
    "Comparison",
    "Decision",
    "Explanation",
    "Finding",
    "Gpu",
    "JaxGpuTuneError",
    "Machine",
    "Migration",
    "Preset",
    "ProbeFailed",
    "Profile",
    "Report",
    "TooEarly",
    "TooLate",
    "Tuned",
    "UnknownArgument",
    "UnknownFlag",
    "UnknownPreset",
    "Verification",
    "check",
    "check_processes",
    "compare",
    "compiler_options",
    "configure",
    "configured",
    "detect",
    "environ",
    "explain",
    "migrate",
    "plan",
    "presets",
    "profile",
    "step",
    "steps",
    "tune",
    "verify",
]
__version__ = "0.1.0"

_WHEN_ASKED = {
    "Comparison": ".measure.comparison",
    "Profile": ".measure.profile",
    "Tuned": ".measure.tuning.tuned",
    "compare": ".comparing",
    "configured": ".decorator",
    "Verification": ".proof.verification",
    "profile": ".measure.calling",
    "step": ".measure.marks",
    "steps": ".measure.marks",
    "tune": ".searching",
}
"""Names that few programs need, and the modules that they are imported from when they are asked for."""


def __getattr__(name: str) -> object:
    """A name of _WHEN_ASKED, kept from then on."""
    if name not in _WHEN_ASKED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_WHEN_ASKED[name], __name__), name)
    return found


def __dir__() -> list[str]:
    """All that is here, what comes when asked for included."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext jaxgpu_tune``: adds the magic ``%jaxgpu_tune``."""
    from .notebook import load

    load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """``%unload_ext jaxgpu_tune``: takes the magic out, and says what of its settings stays."""
    from .notebook import unload

    unload(ipython)
