"""What the scheduler looks up, against XLA's own words for the very programs (compiled by jaxlib 0.12.0.1 for two H200)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle import words
from jaxgpu_tune.pgle.program import program_of_proto, program_of_text, read_program

FILES = Path(__file__).parent / "files"


def missing() -> set[str]:
    """All that XLA's checker missed of an FSDP step in a profile of something else."""
    (use,), failed = words.uses_in((FILES / "fsdp_missing.log").read_text().splitlines())
    assert not failed and use.found == 0
    return set(use.missing)


def test_what_is_looked_up_is_what_xla_misses() -> None:
    """All but the ends of asynchronous fusions, which run nothing that could be measured."""
    program = read_program(FILES / "fsdp.hlo.txt")
    told = missing()
    ends = {name for name in told if name.startswith("fusion-done")}
    assert program.looked_up == told - ends and len(program.looked_up) > 20


def test_names_change_after_scheduling() -> None:
    """What no kernel ran beside is synchronous: a trace tells another name than the scheduler looks up."""
    names = read_program(FILES / "fsdp_no_overlap.hlo.txt").scheduled_names
    changed = {after: before for after, before in names.items() if after != before and "gather" in after}
    assert changed and all(before.startswith("all-gather-start") for before in changed.values())
    assert set(changed.values()) <= read_program(FILES / "fsdp.hlo.txt").looked_up


def test_a_program_that_runs_without_overlap_has_the_names_of_the_one_that_overlaps() -> None:
    """So a profile of the one serves the other."""
    apart, together = (read_program(FILES / name) for name in ("fsdp_no_overlap.hlo.txt", "fsdp.hlo.txt"))
    assert together.looked_up == apart.looked_up
    assert apart.fingerprint != together.fingerprint


def test_the_programs_facts() -> None:
    program = read_program(FILES / "fsdp.hlo.txt")
    assert program.name == "jit_f" and len(program.fingerprint) == 32
    assert len(program.looped) == 5  # the entry, and two loops' bodies and conditions


def test_a_program_in_protocol_buffers_reads_as_its_text() -> None:
    """Of a program that XLA compiled here: names, opcodes, computations, loops."""
    import jax
    from jax import numpy as jnp

    def step(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.tanh(y @ y), x)

    compiled = jax.jit(step).lower(jnp.ones((8, 8))).compile()
    executable: Any = compiled.runtime_executable()
    (module,) = executable.hlo_modules()
    by_proto = program_of_proto(module.as_serialized_hlo_module_proto())
    by_text = program_of_text(module.to_string())
    assert sorted(by_proto.instructions) == sorted(by_text.instructions) and len(by_proto.instructions) > 5
    assert by_proto.looped == by_text.looped and len(by_proto.looped) == 3
    assert (by_proto.name, by_proto.looked_up) == (by_text.name, by_text.looked_up)


def test_a_file_without_a_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("no HLO")
    with pytest.raises(BadSetting, match="no HLO text"):
        read_program(tmp_path / "x.txt")
    with pytest.raises(BadSetting, match="No such file"):
        read_program(tmp_path / "absent.txt")
