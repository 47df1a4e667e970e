"""What no registry tells of compile options: every name that is written there is one of some release."""

from __future__ import annotations

from jaxgpu_tune.knowledge import compile_surface as surface
from jaxgpu_tune.knowledge import flags, options


def test_the_names_are_those_of_flags_and_options() -> None:
    """A field of another name is no flag's; "jax" alone, or in a phrase, is no option."""
    named = {*surface.PROCESS_WIDE, *surface.OTHER_NAMES, *surface.ENUM_FIELDS, *surface.JAX_SETS, *surface.JAXLIB_SETS}
    releases = [flags.flags(release) for release in flags.releases()]
    assert {name for name in named if not any(name in release for release in releases)} == set()
    fields = {*surface.OTHER_NAMES.values(), *(field for field, _ in surface.ENUM_FIELDS.values())}
    assert not any(field in release for field in fields for release in releases)
    assert all(options.known(owner) for owner in surface.JAX_SETS.values() if " " not in owner)


def test_what_the_process_reads_once_is_not_set_by_each_compile() -> None:
    assert not surface.PROCESS_WIDE & {*surface.JAX_SETS, *surface.JAXLIB_SETS, *surface.ENUM_FIELDS}
    (members,) = (members for _, members in surface.ENUM_FIELDS.values())
    assert set(members) == {True, False} and len(set(members.values())) == 2
