"""What goes together, by the tables of installs.toml: ends of ranges, versions between two rows, and what is in no table."""

from __future__ import annotations

import pytest

from jaxgpu_tune.knowledge import installs
from jaxgpu_tune.knowledge.tables import read_table

TABLES = read_table("installs")
CUDAS = [table["version"] for table in TABLES["cuda"]]


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [(None, 13), ("13.0", 13), ("13.2", 13), ("14.1", 13), ("12.9", 12), ("12.0", 12), ("11.8", 12), ("3.0", 12)],
)
def test_the_newest_cuda_that_a_driver_serves(driver: str | None, cuda: int) -> None:
    """One that serves none gets the oldest."""
    assert installs.newest_cuda_served(driver) == cuda


@pytest.mark.parametrize(("capability", "cuda"), [("9.0", 13), ("7.5", 13), ("7.0", 12), ("5.2", 12), ("5.0", None)])
def test_the_newest_cuda_for_a_gpu(capability: str, cuda: int | None) -> None:
    assert installs.newest_cuda_for(capability) == cuda


def test_what_a_cuda_needs() -> None:
    """The newest one's where it is in no table."""
    assert [installs.needs_of(cuda)["version"] for cuda in (13, 12, 99)] == [13, 12, CUDAS[0]]
    assert set(installs.NVCC) == set(CUDAS)
    assert sorted(CUDAS, reverse=True) == CUDAS


@pytest.mark.parametrize(
    ("capability", "cuda", "nvcc", "unknown"),
    [
        ("9.0", 12, "12.0.1", False),
        ("10.0", 12, "12.6.85", True),
        ("10.0", 12, "12.7.0", False),
        ("12.0", 12, "12.7.0", True),
        ("12.0", 12, "12.8.93", False),
        ("12.1", 12, "12.8", True),
        ("12.1", 12, "12.9.86", False),
        ("12.1", 12, None, False),
        ("11.0", 12, None, True),
        ("11.0", 13, None, False),
        ("12.1", 13, "13.0.88", False),
        ("99.0", 13, "13.0", True),
        ("99.0", 13, "13.1", False),  # newer than the table
        ("99.0", 14, None, False),
    ],
)
def test_a_gpu_that_is_newer_than_the_compiler(capability: str, cuda: int, nvcc: str | None, unknown: bool) -> None:
    assert installs.unknown_to_compiler(capability, cuda, nvcc) is unknown


def test_the_least_libraries_of_a_plugin() -> None:
    """Those of the last release in the table that is not newer; nothing before the first."""
    cudnn = {
        version: installs.least_libraries(12, version).get("nvidia-cudnn-cu12") for version in ("0.4.29", "0.4.30")
    }
    assert cudnn == {"0.4.29": None, "0.4.30": "9.0"}
    assert installs.least_libraries(12, "0.5.0")["nvidia-cudnn-cu12"] == "9.1"
    for cuda in CUDAS:
        newest = installs.least_libraries(cuda, "99.0")
        rows = [table for table in TABLES["library"] if table["cuda"] == cuda]
        assert newest == {table["name"]: list(table["least"].values())[-1] for table in rows} and newest
        assert installs.least_libraries(cuda, "0.0.1") == {}
    assert installs.least_libraries(99, "99.0") == {}


def test_what_was_dropped_is_told_by_cuda() -> None:
    told = {cuda: installs.dropped(cuda) for cuda in (*CUDAS, 99)}
    rows = [(table["cuda"], table["name"], table["from"], table["least"]) for table in TABLES["dropped"]]
    assert [(cuda, one.name, one.since, one.least) for cuda, found in told.items() for one in found] == sorted(
        rows, key=lambda row: CUDAS.index(row[0])
    )
    assert all(one.source.startswith("https://") and one.does for found in told.values() for one in found)


def test_a_fault_comes_with_what_avoids_it() -> None:
    found, rows = installs.install_faults(), TABLES["avoid"]
    assert [one.code for one in found] == [row["code"] for row in rows] and len(found) > 1
    for one, row in zip(found, rows, strict=True):
        assert [(s.name, s.value, s.reason, s.measured) for s in one.settings] == [
            (s["flag"], s["value"], s["reason"], s["measured"]) for s in row.get("settings", [])
        ]
        assert {s.kind for s in one.settings} <= {"xla_flag"}
        assert {s.source for s in one.settings} <= {installs.FAULT + one.code} and installs.FAULT == "fault "
    assert any(one.settings for one in found) and any(not one.settings for one in found)


@pytest.mark.parametrize(
    ("ptxas", "driver", "slow"), [("12.5.1", "12.4", True), ("12.4.9", "12.4", False), ("12.3", "12.4", False)]
)
def test_old_releases_compile_serially_with_a_ptxas_that_is_newer_than_the_driver(
    ptxas: str, driver: str, slow: bool
) -> None:
    assert installs.compiles_serially("0.4.26", ptxas, driver) is slow
    assert not installs.compiles_serially("0.11.2", ptxas, driver)


def test_what_old_releases_took_from_path_and_the_least_jaxlib() -> None:
    assert installs.takes_ptxas_of_path("0.4.20") and not installs.takes_ptxas_of_path("0.11.2")
    assert installs.least_jaxlib("99.9") is None
    assert {installs.least_jaxlib(jax) for jax in TABLES["jaxlib"]} == set(TABLES["jaxlib"].values())
