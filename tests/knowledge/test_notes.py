"""Notes: complete, and of things that exist or existed."""

from __future__ import annotations

from jaxgpu_tune.knowledge import flags
from jaxgpu_tune.knowledge.notes import all_notes, note
from jaxgpu_tune.knowledge.presets import all_presets

RELEASES = flags.releases()


def test_notes_are_complete() -> None:
    """Sentences and a public source; of this library's own variables it is the source itself."""
    for one in all_notes().values():
        assert one.does.endswith("."), one.name
        assert not one.traps or one.traps.endswith("."), one.name
        assert one.source.startswith("https://") or one.name.startswith("JAXGPU_TUNE"), one.name


def test_notes_name_flags_that_exist_or_existed() -> None:
    """A misspelt flag would never be found."""
    names = {one.name for one in all_notes().values() if one.kind == "xla_flag"}
    missing = {name for name in names if not any(flags.flag(name, release) for release in RELEASES)}
    assert missing == set()


def test_a_variable_finds_its_option_s_note() -> None:
    """JAX_ENABLE_PGLE is jax_enable_pgle."""
    assert note("JAX_ENABLE_PGLE") == note("jax_enable_pgle") is not None
    assert note("XLA_MAKE_IT_FAST") is None
    assert note("JAX_MAKE_IT_FAST") is None


def test_no_note_denies_a_gain_for_which_a_preset_sets_the_setting() -> None:
    """What a measurement has changed is changed in both places."""
    set_for_speed = {s.name for preset in all_presets() if preset.kind == "maintained" for s in preset.settings}
    assert [one.name for one in all_notes().values() if "No gain" in one.traps and one.name in set_for_speed] == []
