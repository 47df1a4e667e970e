"""The options that XLA really compiles with, by the names of their fields: read from the running process.

jaxlib and the CUDA plugin each parse XLA_FLAGS into options of their own, once. jaxlib's go into every compile, after jax
has edited them; the plugin's decide what lasts as long as the process. Field names come from the descriptor that every
jaxlib carries, so nothing here depends on a release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache

from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["jax_options", "parsed_options", "plugin_options", "read_text", "schema"]

LIBRARIES = ("libjax_common.so", "xla_extension.so")
FILE, MESSAGE = "xla/xla.proto", ".xla.DebugOptions"
BUILD_OPTIONS = DEBUG_OPTIONS = 3
"""The fields of CompileOptionsProto and of ExecutableBuildOptionsProto that lead to the debug options."""

PROGRAM = """module @jaxgpu_tune_verify {
  func.func public @main() -> tensor<f32> {
    %0 = stablehlo.constant dense<0.0> : tensor<f32>
    return %0 : tensor<f32>
  }
}"""
"""Nothing to tune, and no device runs it."""

Options = Mapping[str, "Any"]


def parsed_options() -> Options | None:
    """What jaxlib made of XLA_FLAGS; None where it cannot be read."""
    from jaxlib import xla_client

    return _decoded(xla_client.CompileOptions())


def jax_options() -> Options | None:
    """The same as jax hands it to the compiler, with what jax's own options change in it."""
    try:
        from jax._src.compiler import get_compile_options

        return _decoded(get_compile_options(num_replicas=1, num_partitions=1))
    except (ImportError, TypeError):
        return None


def plugin_options(device: Any) -> Options | None:
    """What the library behind a device made of XLA_FLAGS itself; None where it does not tell.

    It compiles a program of one constant with options that state nothing, so that its own count, and dumps them.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="jaxgpu_tune_") as folder:
        try:
            _compile(device, folder)
        except Exception:  # noqa: BLE001 - a private interface: whatever it raises, it does not tell
            return None
        return _filled(read_text(_dumped(folder)))


def _compile(device: Any, folder: str) -> None:
    import numpy as np
    from jaxlib import xla_client

    options = xla_client.CompileOptions.ParseFromString(b"")
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([[device.id]]))
    options.env_option_overrides = [("xla_dump_to", folder)]
    client = device.client
    if hasattr(client, "compile_and_load"):
        client.compile_and_load(PROGRAM, xla_client.DeviceList((device,)), options)
    else:
        client.compile(PROGRAM, options)


def _dumped(folder: str) -> str:
    for name in os.listdir(folder):
        if name.endswith("debug_options"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                return file.read()
    return ""


def read_text(text: str) -> Options | None:
    """The fields of options that were dumped as text, lists as lists; None: there is no text."""
    found: dict[str, list[Any]] = {}
    for name, value in _lines(text):
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()} if text else None


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    import json

    for line in text.splitlines():
        name, colon, value = line.partition(": ")
        if not colon or name.startswith(" "):
            continue
        try:
            yield name, json.loads(value)
        except ValueError:
            yield name, value


def _decoded(compile_options: Any) -> Options | None:
    declared = schema()
    if declared is None:
        return None
    build = wire.Message(compile_options.SerializeAsString()).message(BUILD_OPTIONS)
    return _filled(wire.decode(declared, MESSAGE, build.raw(DEBUG_OPTIONS)))


def _filled(found: Options | None) -> Options | None:
    """With the fields that no one writes out because they are zero, false or empty."""
    declared = schema()
    return None if declared is None or found is None else {**wire.zeros(declared, MESSAGE), **found}


@cache
def schema() -> wire.Schema | None:
    """The descriptor that the installed jaxlib carries; None if it carries none."""
    import mmap

    import jaxlib

    for name in LIBRARIES:
        path = os.path.join(jaxlib.__path__[0], name)
        if os.path.exists(path):
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                found = wire.schema_of(data, FILE, levels=1)
            return found if MESSAGE in found.messages else None
    return None
