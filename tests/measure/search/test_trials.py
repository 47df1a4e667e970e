"""What a search speaks of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxgpu_tune.measure.search.trials import NOTHING, Atom, Config, Move, Trial, settings_of, toggled
from tests.measure.atoms import atom


def test_a_move_replaces_another_value_of_its_settings() -> None:
    one, two = atom("--a=1"), atom("--a=2")
    assert toggled(frozenset([one]), Move(frozenset([two]))) == frozenset([two])
    assert toggled(frozenset([two]), Move(frozenset([two]))) == NOTHING
    assert str(Atom("env", "NAME", "x")) == "NAME=x"
    assert str(one) == "--a=1"


ATOMS = st.builds(atom, st.sampled_from(["--a=1", "--a=2", "--b=", "--c=x=y"]), st.sampled_from(["env", "xla_flag"]))


@given(st.frozensets(ATOMS, max_size=3), st.frozensets(ATOMS, min_size=1, max_size=2))
def test_a_move_is_there_or_gone_and_the_rest_stays(config: Config, settings: Config) -> None:
    """Switched on, no setting has two values that had one; switched off again, what it replaced is not back."""
    after = toggled(config, Move(settings))
    if settings <= config:
        assert after == config - settings
        return
    assert settings <= after
    assert after - settings == {one for one in config if settings_of([one]).isdisjoint(settings_of(settings))}
    assert toggled(after, Move(settings)) == after - settings


def test_a_setting_is_written_as_it_is_set() -> None:
    """The value is all behind the first equals sign."""
    assert atom("--c=x=y") == Atom("xla_flag", "c", "x=y")
    assert atom("NAME=", "env") == Atom("env", "NAME", "")
    assert settings_of([atom("a=1"), atom("a=2"), atom("a=1", "env")]) == {("xla_flag", "a"), ("env", "a")}


def test_a_run_beside_others_spends_its_share_of_the_budget() -> None:
    alone = Trial(NOTHING, "start", 5.0, "", 12.0)
    assert alone.spent == 12.0
    assert alone._replace(detail={"spent": 3.0}).spent == 3.0
