"""Installed pieces that do not fit, before JAX segfaults, refuses to start or runs on the CPU over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...knowledge import installs as known
from ...knowledge.versions import numbers
from ...model import Finding, Machine, Observation
from ...wording import capital
from ..settings.platforms import CPU_WITHOUT_GPU_SINCE

__all__ = ["cudas", "misfits", "older_gpus", "shadowed", "shared_flags"]

PLUGIN = r"jax-cuda(\d+)-(?:plugin|pjrt)"
ROCM = "jax-rocm"
OTHER_XLA = {
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "tf-nightly": "tensorflow",
    "torch-xla": "torch_xla",
}
"""Distributions that hold an XLA of their own, and the module of each."""


def cudas(machine: Machine) -> list[int]:
    """The CUDAs of the plugins that are installed, the oldest first."""
    return sorted({int(found[1]) for name in machine.plugins or {} if (found := re.fullmatch(PLUGIN, name))})


def misfits(machine: Machine, *, for_cpu: bool = False) -> Iterator[Finding]:
    """The findings about versions: jax with jaxlib, and where there are GPUs the plugins, NVIDIA's wheels and the driver.

    ``for_cpu``: JAX is told to leave the GPUs out, so that what they need does not matter.
    """
    yield from _jax(machine)
    plugins = machine.plugins
    if machine.jaxlib is None or plugins is None or "+cuda" in machine.jaxlib:
        return
    yield from _rocm(plugins)
    yield from _skew(machine)
    if for_cpu:
        return
    versions = cudas(machine)
    if not machine.gpus:
        yield from _unused_without_gpu(machine, versions)
        return
    if not versions:
        yield _no_plugin(machine)
    unfit = {cuda: [*_driver(machine, cuda), *_gpus(machine, cuda)] for cuda in versions}
    needless = _needless(unfit)
    releases = {version for name, version in plugins.items() if re.fullmatch(PLUGIN, name)}
    if len(versions) > 1 and len(releases) == 1:  # else the one that does not match jaxlib is told
        yield _two_plugins(versions, needless or versions[0])
    yield from _unused(machine)
    for cuda in versions:
        yield from _half(machine, cuda)
        yield from (_with_one_plugin(one, cuda, needless) for one in unfit[cuda])
        yield from _libraries(machine, cuda)
        if known.NVCC.get(cuda) in (machine.libraries or {}):
            from .compiler import slow_compiles

            yield from slow_compiles(machine, cuda)


def _jax(machine: Machine) -> Iterator[Finding]:
    """What jax itself refuses when it is imported (jax/_src/lib/__init__.py)."""
    if not (machine.jax and machine.jaxlib):
        return
    release = known.whole_of(machine.jax, machine.jaxlib)
    hint = known.installs_all(max(cudas(machine), default=None), release or "")
    if release == machine.jax:
        least = known.least_jaxlib(machine.jax.partition("+")[0])
        message = (
            f"jaxlib {machine.jaxlib} is older than {least}, the least with which jax {machine.jax} can be imported."
        )
        yield Finding("jaxlib-too-old", "error", message, hint)
    elif release:
        message = f"jaxlib {machine.jaxlib} is newer than jax {machine.jax}, which refuses to be imported."
        yield Finding("jaxlib-too-new", "error", message, hint)


def _skew(machine: Machine) -> Iterator[Finding]:
    """A segmentation fault at the first array, on the CPU too; nothing where jax refuses to be imported at all."""
    halves = {cuda: (machine.plugins or {}).get(f"jax-cuda{cuda}-pjrt") for cuda in cudas(machine)}
    jaxlib = (machine.jaxlib or "").partition("+")[0]
    others = {cuda: version for cuda, version in halves.items() if version and version.partition("+")[0] != jaxlib}
    if not others or known.whole_of(machine.jax, jaxlib):
        return
    named = ", ".join(f"jax-cuda{cuda}-pjrt {version}" for cuda, version in others.items())
    hint = f"Install matching versions: {known.installs_all(max(others), jaxlib)}"
    if jaxlib in halves.values():
        hint = f"Another plugin matches, so take this one away: {'; '.join(map(known.without_plugin, others))}"
    message = f"The CUDA plugin ({named}) does not match jaxlib {machine.jaxlib}: the process can end at the first array, or JAX runs on the CPU. Both read XLA_FLAGS, so only flags that both accept are set."
    yield Finding("version-skew", "error", message, hint)


def _rocm(plugins: Mapping[str, str]) -> Iterator[Finding]:
    found = sorted(name for name in plugins if name.startswith(ROCM))
    if found:
        message = (
            f"{found[0]} {plugins[found[0]]} is installed: AMD GPUs are not known here, and nothing is set for them."
        )
        yield Finding("rocm", "note", message, "What you set yourself stays as it is.")


def _unused_without_gpu(machine: Machine, versions: list[int]) -> Iterator[Finding]:
    """That there is no GPU is told with the preset that sets nothing; here, what is wrong with the plugin."""
    if versions and machine.gpus == () and numbers(machine.jaxlib or "") < CPU_WITHOUT_GPU_SINCE:
        message = f"The CUDA plugin of jaxlib {machine.jaxlib} raises where there is no GPU, instead of leaving JAX to the CPU."
        yield Finding(
            "plugin-without-gpu", "warning", message, "Set JAX_PLATFORMS=cpu (platform='cpu'), or update jax."
        )


def _no_plugin(machine: Machine) -> Finding:
    message = "GPUs are here, but no CUDA plugin of JAX is installed: JAX runs on the CPU."
    hint = f"pip install 'jax[cuda{known.newest_cuda_served(machine.cuda_driver)}]=={machine.jax or machine.jaxlib}'"
    return Finding("no-cuda-plugin", "error", message, hint)


def _needless(unfit: Mapping[int, list[Finding]]) -> int | None:
    """The plugin that does not fit, where another one does."""
    wrong = [cuda for cuda, findings in unfit.items() if findings]
    return wrong[0] if len(wrong) == 1 and len(unfit) > 1 else None


def _two_plugins(versions: list[int], needless: int) -> Finding:
    message = f"The plugins of CUDA {' and '.join(map(str, versions))} are installed side by side; JAX uses but one."
    return Finding("two-cuda-plugins", "warning", message, known.without_plugin(needless))


def _with_one_plugin(finding: Finding, cuda: int, needless: int | None) -> Finding:
    """Its way out leaves one plugin: pip takes none away where it installs that of another CUDA."""
    if cuda == needless:
        return finding._replace(hint=known.without_plugin(cuda))
    others = [other for other in re.findall(r"jax\[cuda(\d+)\]", finding.hint) if int(other) != cuda]
    if not others:
        return finding
    then = f"once jax[cuda{others[0]}] is installed, {known.without_plugin(cuda)}: JAX uses but one of them."
    return finding._replace(hint=f"{finding.hint.rstrip('.')}; {then}")


def _unused(machine: Machine) -> Iterator[Finding]:
    """jaxlib leaves a plugin of another version aside with no more than a Python warning (jaxlib/plugin_support.py).

    Where its other half is of that version too, the skew is told of both.
    """
    plugins = machine.plugins or {}
    for name in (f"jax-cuda{cuda}-plugin" for cuda in cudas(machine)):
        version = plugins.get(name, machine.jaxlib or "")
        both = plugins.get(name.replace("-plugin", "-pjrt")) == version
        if not both and numbers(version) != numbers(machine.jaxlib or ""):
            message = f"{name} {version} is not for jaxlib {machine.jaxlib}, which does not use it."
            yield Finding("plugin-unused", "error", message, f"pip install {name}=={machine.jaxlib}")


def _half(machine: Machine, cuda: int) -> Iterator[Finding]:
    missing = [n for part in ("plugin", "pjrt") if (n := f"jax-cuda{cuda}-{part}") not in (machine.plugins or {})]
    if missing:
        message = f"{missing[0]} is not installed, its other half is: JAX does not start on the GPU."
        yield Finding("half-a-plugin", "error", message, f"pip install {missing[0]}=={machine.jaxlib}")


def _driver(machine: Machine, cuda: int) -> Iterator[Finding]:
    needs = known.needs_of(cuda)
    if machine.cuda_driver and numbers(machine.cuda_driver) < numbers(needs["serves"]):
        driver = f"The driver {machine.driver}" if machine.driver else "The driver"
        message = f"{driver} serves CUDA {machine.cuda_driver}; the plugin needs {needs['serves']}: JAX does not start on the GPU."
        older = known.newest_cuda_served(machine.cuda_driver)
        other = f", or pip install 'jax[cuda{older}]=={machine.jaxlib}'" if older != cuda else ""
        yield Finding("driver-too-old", "error", message, f"Update the driver to {needs['driver']} or newer{other}.")


def _gpus(machine: Machine, cuda: int) -> Iterator[Finding]:
    nvcc = (machine.libraries or {}).get(known.NVCC.get(cuda, ""))
    least = known.needs_of(cuda)["least"]
    each = [(g.name or "a GPU", g.compute_capability) for g in machine.gpus or () if g.compute_capability]
    old = sorted({name for name, capability in each if numbers(capability) < numbers(least)})
    unknown = [c for _, c in each if known.unknown_to_compiler(c, cuda, nvcc)]
    new = sorted({f"{name} ({c})" for name, c in each if c in unknown})
    if old:
        message = f"CUDA {cuda} needs compute capability {least}, which {', '.join(old)} has not."
        yield Finding("gpu-too-old", "error", message, _instead_of_old(each, least))
    if new:
        compiler = f"{known.NVCC[cuda]} {nvcc}" if nvcc else f"CUDA {cuda}"
        message = f"{', '.join(new)} is newer than the compiler of {compiler}: the first operation can end the process."
        yield Finding("gpu-too-new", "error", message, _compiler_for_new(unknown, cuda, machine.cuda_driver))


def _compiler_for_new(capabilities: list[str], cuda: int, cuda_driver: str | None) -> str:
    """A newer compiler that the driver serves: of the newest CUDA with a plugin, else of this one, else with another driver."""
    newest, served = known.newest_cuda_served(None), known.newest_cuda_served(cuda_driver)
    if cuda == newest:
        return f"pip install -U {known.NVCC.get(cuda, 'jax')}"
    plugin = f"pip install -U 'jax[cuda{newest}]'"
    if served == newest:
        return plugin
    knowing = [known.first_compiler_for(capability, cuda) for capability in capabilities]
    updated = f"update the driver to {known.needs_of(newest)['driver']} or newer, then {plugin}"
    if not all(knowing):
        return f"{capital(updated)}: no compiler of CUDA {cuda} knows it."
    least = max(filter(None, knowing), key=numbers)
    return f"pip install -U 'jax[cuda{cuda}]' '{known.NVCC[cuda]}>={least}', since this driver does not serve CUDA {newest}; or {updated}"


def _instead_of_old(each: list[tuple[str, str]], least: str) -> str:
    """What runs on the least of the GPUs that are too old: an older CUDA, where JAX has a plugin for one that knows it."""
    oldest = min((capability for _, capability in each if numbers(capability) < numbers(least)), key=numbers)
    serves = known.newest_cuda_for(oldest)
    if serves is None:
        return 'JAX has no plugin that runs on it: hide it with CUDA_VISIBLE_DEVICES, or use the CPU (platform="cpu").'
    return f"Install jax[cuda{serves}], or hide it with CUDA_VISIBLE_DEVICES."


def _libraries(machine: Machine, cuda: int) -> Iterator[Finding]:
    """NVIDIA's wheels below what the plugin's own metadata asks for, as another package's pin leaves them, or too new for the GPUs."""
    plugin = (machine.plugins or {}).get(f"jax-cuda{cuda}-plugin")
    installed = machine.libraries or {}
    least = known.least_libraries(cuda, plugin) if plugin else {}
    too_new = {one.name: one for one in known.dropped(cuda) if older_gpus(machine, one.least)}
    for name in least:
        if name in installed and numbers(installed[name]) < numbers(least[name]):
            message = f"{name} {installed[name]} is older than {least[name]}, which jax-cuda{cuda}-plugin {plugin} needs: JAX fails or runs on the CPU."
            hint = _pip(name, least, too_new)
            if "torch" in installed:
                hint = f"PyTorch {installed['torch']} asks for the one that is here: install JAX in an environment of its own ({hint})."
            yield Finding("cuda-library-too-old", "error", message, hint)
    for name, one in too_new.items():
        if name in installed and numbers(installed[name]) >= numbers(one.since):
            message = f"{name} {installed[name]}: from {one.since} on it has no code for GPUs below compute capability {one.least}, such as {older_gpus(machine, one.least)[0]}: {one.does} (source: {one.source})"
            yield Finding("cuda-library-too-new", "warning", message, _pip(name, least, too_new))


def _pip(name: str, least: Mapping[str, str], too_new: Mapping[str, known.Dropped]) -> str:
    """The line that installs a version which the plugin takes and which knows the GPUs."""
    bounds = [
        *([f">={least[name]}"] if name in least else []),
        *([f"<{too_new[name].since}"] if name in too_new else []),
    ]
    return f"pip install -U '{name}{','.join(bounds)}'"


def older_gpus(machine: Machine, least: str) -> list[str]:
    """Those below a compute capability, each as "NVIDIA A100 (8.0)"."""
    each = ((gpu.name or "the GPU", gpu.compute_capability) for gpu in machine.gpus or ())
    return [f"{name} ({found})" for name, found in each if found and numbers(found) < numbers(least)]


def shadowed(machine: Machine, folders: tuple[str, ...]) -> Iterator[Finding]:
    """``folders`` of LD_LIBRARY_PATH hold CUDA, and pip's CUDA is installed too. Too late to change for this process."""
    if folders and machine.plugins and any(name.startswith("nvidia-") for name in machine.libraries or {}):
        message = f"LD_LIBRARY_PATH names {', '.join(folders)}, whose CUDA libraries come before those that pip installed with JAX."
        hint = "Start without LD_LIBRARY_PATH, or import jax before tensorflow (jax-ml/jax#17497)."
        yield Finding("library-path", "warning", message, hint)


def shared_flags(observation: Observation, flags: str) -> Iterator[Finding]:
    """Every XLA of this process and its children reads XLA_FLAGS, and ends the process on a flag that it lacks."""
    installed = {OTHER_XLA[n]: f"{n} {v}" for n, v in (observation.machine.libraries or {}).items() if n in OTHER_XLA}
    for name in sorted({*installed, *observation.modules} & set(OTHER_XLA.values())) if flags else ():
        here = "is imported here" if name in observation.modules else "is installed"
        message = f"{installed.get(name, name)} {here}: it has an XLA of its own, which reads the same XLA_FLAGS and ends the process on a flag that it lacks."
        hint = "Where both run in one process, pass compiler_options() to jax.jit instead. Start programs of the other without the variable: after restore(), or by env -u XLA_FLAGS python …"
        yield Finding("xla-flags-shared", "warning" if name in observation.modules else "note", message, hint)
