"""Families of variables: each record's form, and that the library does with a family's names what its record says."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import jaxgpu_tune
from jaxgpu_tune import arms
from jaxgpu_tune.host import probe
from jaxgpu_tune.host.processes import find_processes
from jaxgpu_tune.knowledge.families import ACTS, Family, Launcher, acts, families, family_of, launchers
from jaxgpu_tune.knowledge.hazards import hazards
from jaxgpu_tune.knowledge.presets import load_preset, preset_names
from jaxgpu_tune.knowledge.tables import DATA, read_table, read_toml
from jaxgpu_tune.knowledge.variables import is_read
from jaxgpu_tune.measure.observer.facts import RANKS
from jaxgpu_tune.planning.base.secrets import shown_value
from jaxgpu_tune.planning.settings.variable_checks import check_variable
from jaxgpu_tune.proof.variables_read_back import Signs, verified_variable
from jaxgpu_tune.proof.wanted import Wanted
from tests.fleet import machine

TABLES = read_toml(f"{DATA}/variables.toml")
KEYS = {"owner", "reader", "acts"}
CONTAINERS = {f"NVIDIA_{name}" for name in TABLES["beside"]["NVIDIA_"].split()}
"""They speak to what starts a container: known only so that none is taken for another one misspelt."""


def names_of(family: Family) -> list[str]:
    """Names of a family: whole ones, and one of each beginning that nothing is known of."""
    return [*family.names, *(f"{start}OF_NO_LIBRARY" for start in family.starts)]


NAMES = [name for family in families() for name in names_of(family)]


@pytest.mark.parametrize("table", TABLES["family"], ids=lambda table: table["owner"])
def test_a_record_has_its_form(table: dict[str, object]) -> None:
    assert KEYS < set(table) <= KEYS | {"starts", "names"} and table["owner"] and table["reader"]
    assert isinstance(table["acts"], list) and set(table["acts"]) <= set(ACTS)
    assert not str(table["reader"]).endswith(".")


def test_what_a_family_can_do_is_what_the_code_asks_for() -> None:
    assert {act for family in families() for act in family.acts} == set(ACTS)
    head = Path(DATA, "variables.toml").read_text(encoding="utf-8")
    assert all(f'#     "{act}"' in head for act in ACTS)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.owner)
def test_its_own_names_are_of_it(family: Family) -> None:
    """No record is hidden behind another, and no beginning stands twice."""
    assert {family_of(name) for name in names_of(family)} == {family}


def test_the_longest_beginning_counts() -> None:
    assert family_of("HOME") is None and not acts("HOME", "told")
    assert acts("TF_FORCE_UNIFIED_MEMORY", "gpu") and not acts("TF_CPP_MIN_LOG_LEVEL", "gpu")
    assert acts("CUDA_INJECTION64_PATH", "profiles") and not acts("CUDA_VISIBLE_DEVICES", "profiles")


def spoken_of() -> set[str]:
    """Every variable that some table of this library says something of."""
    listed = [
        name for table in ("known", "beside") for start, names in TABLES[table].items() for name in spelt(start, names)
    ]
    sets = [setting.name for name in preset_names() for setting in load_preset(name).settings if setting.kind == "env"]
    bad = [
        name for hazard in hazards() for trigger in hazard.triggers if trigger.kind == "env" for name in trigger.names
    ]
    return {
        *listed,
        *TABLES["not_settings"],
        *sets,
        *bad,
        *TABLES["instead"],
        *TABLES["programs"],
        *TABLES["nobody"],
        *(name for name in read_table("notes")["env"] if not is_of_others(name)),
    }


def is_of_others(name: str) -> bool:
    """Whether a program beside JAX reads it, so that no plan depends on it."""
    return any(fnmatchcase(name, names) for names in TABLES["others"])


def spelt(start: str, names: str) -> list[str]:
    return [start + name for name in names.split()]


def test_what_anything_is_said_of_is_told() -> None:
    """A plan may depend on it, so its report holds it: NVIDIA_TF32_OVERRIDE had fallen between several lists."""
    assert {name for name in spoken_of() if not acts(name, "told")} <= set(CONTAINERS)


@pytest.mark.parametrize("entry", read_table("processes")["compared"], ids=lambda entry: entry["reason"][:30])
def test_what_is_compared_over_processes_is_of_a_family(entry: dict[str, list[str]]) -> None:
    known = [name for name in (*spoken_of(), *NAMES) if acts(name, "told")]
    assert all(any(fnmatchcase(name, pattern) for name in known) for pattern in entry.get("env", ()))


@pytest.mark.parametrize("name", NAMES)
def test_a_report_keeps_it_where_it_is_told(name: str) -> None:
    report = jaxgpu_tune.plan("auto", environ={name: "1"}, machine=machine(), probe=False)
    assert (name in report.inputs["environ"]) is acts(name, "told")


@pytest.mark.parametrize("name", NAMES)
def test_on_a_cpu_nothing_looks_for_what_gpus_do(name: str) -> None:
    signs = Signs("cpu", {name: "1"}, (), "")
    assert (verified_variable(Wanted("env", name, ("1",)), signs).status == "ignored") is acts(name, "gpu")


@pytest.mark.parametrize("name", NAMES)
def test_clean_takes_out_what_tunes(name: str) -> None:
    kept = arms._cleaned({name: "1", "HOME": "/"})
    assert kept["HOME"] == "/"
    assert (name not in kept) is ((acts(name, "tunes") or is_read(name)) and name not in arms.STAYING)


@pytest.mark.parametrize("family", families(), ids=lambda family: family.owner)
def test_names_with_words_of_secrets_are_masked_where_they_are_not_public(family: Family) -> None:
    for start in family.starts:
        assert (shown_value(f"{start}_KEY_X".replace("__", "_"), "s3cr3t") == "s3cr3t") is ("public" in family.acts)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("CUDA_VISIBLE")])
def test_what_stands_around_a_value_goes_where_it_is_read_as_it_stands(name: str) -> None:
    assert (check_variable(name, ' "1" ', "0.11.2", False).value == "1") is acts(name, "exact")


def test_the_child_that_is_asked_gets_what_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "1")
    given = probe.child_environ()
    assert {name for name in NAMES if given.get(name) == "1"} == {name for name in NAMES if not acts(name, "hidden")}


@pytest.mark.parametrize("launcher", launchers().values(), ids=lambda launcher: launcher.name)
def test_a_launchers_variables_are_what_is_read_of_it(launcher: Launcher) -> None:
    """Each of its names, alone or behind the others; told, so that a plan can be made again."""
    more = {
        "slurm": {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "a", "SLURM_PROCID": "1"},
        "torchrun": {"LOCAL_RANK": "1"},
    }
    pod = {"KUBERNETES_SERVICE_HOST": "h"} if launcher.name == "kubernetes" else {}
    for rank in launcher.rank:
        for count in launcher.count:
            found = find_processes({**more.get(launcher.name, {}), **pod, rank: "1", count: "4"})
            assert (found.rank, found.count, found.launcher) == (1, 4, launcher.name)
    assert all(
        acts(name, "told") for name in (*launcher.rank, *launcher.count, *launcher.local_rank, *launcher.local_count)
    )


def test_the_observer_which_imports_nothing_knows_the_same_ranks() -> None:
    assert set(RANKS) <= {name for launcher in launchers().values() for name in launcher.rank}
    assert {launcher.rank[0] for launcher in launchers().values()} - set(RANKS) == {"JAX_PROCESS_ID"}
