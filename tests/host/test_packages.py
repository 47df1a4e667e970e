"""Versions from the names of metadata folders (R57, R58)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jaxgpu_tune.host.packages import Installed, installed_versions


def site(folder: Path, *names: str, **sources: str) -> str:
    """A folder of packages: metadata folders by name, and version.py texts by package."""
    for name in names:
        (folder / name).mkdir(parents=True)
    for package, text in sources.items():
        (folder / package).mkdir(parents=True, exist_ok=True)
        (folder / package / "version.py").write_text(text)
    return str(folder)


def test_r57_r58_each_distribution_by_its_own_version(tmp_path: Path) -> None:
    """Mismatches are visible from metadata alone."""
    path = site(
        tmp_path,
        *(
            "jax-0.9.2.dist-info",
            "jaxlib-0.9.0.1.dist-info",
            "jax_cuda12_plugin-0.9.2.dist-info",
            "jax_cuda12_pjrt-0.9.2.dist-info",
        ),
        *(
            "nvidia_nccl_cu12-2.27.3.dist-info",
            "jaxtyping-0.3.dist-info",
            "tensorflow-2.20.0.dist-info",
            "jax_rocm60_plugin-0.9.1.post6.dist-info",
        ),
    )
    assert installed_versions([path]) == Installed(
        "0.9.2",
        "0.9.0.1",
        "2.27.3",
        {"jax-cuda12-pjrt": "0.9.2", "jax-cuda12-plugin": "0.9.2", "jax-rocm60-plugin": "0.9.1.post6"},
        {"nvidia-nccl-cu12": "2.27.3", "tensorflow": "2.20.0"},
    )


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("jaxlib-0.6.1.dev20250514+abc.dist-info", "0.6.1.dev20250514+abc"),
        ("jaxlib-0.4.30+cuda12.cudnn89.dist-info", "0.4.30+cuda12.cudnn89"),
        ("jaxlib-0.12.0.dev20260101.dist-info", "0.12.0.dev20260101"),
        ("jaxlib-0.4.20-py3.11.egg-info", "0.4.20"),
        ("jaxlib-0.11.0rc0.dist-info", "0.11.0rc0"),
    ],
)
def test_every_form_of_a_name(tmp_path: Path, folder: str, version: str) -> None:
    """Nightlies, containers, local versions, eggs."""
    assert installed_versions([site(tmp_path, folder)]).jaxlib == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("_version = '0.6.1'\n_release_version: str | None = '0.6.1.dev20250514+abc'\n", "0.6.1.dev20250514+abc"),
        ('_version = "0.6.1"\n_release_version: str | None = None\n', "0.6.1.dev0"),
        ("nothing of the kind", None),
        ("_version = 'unknown'\n", None),
    ],
)
def test_version_py_where_there_is_no_metadata(tmp_path: Path, text: str, version: str | None) -> None:
    """An unreleased source tree comes before the release that it names."""
    assert installed_versions([site(tmp_path, jaxlib=text)]).jaxlib == version


def test_the_first_folder_wins_metadata_or_source(tmp_path: Path) -> None:
    """As import does."""
    first = site(tmp_path / "a", "jaxlib-0.10.2.dist-info")
    second = site(tmp_path / "b", "jaxlib-0.11.2.dist-info")
    source = site(tmp_path / "c", jaxlib="_version = '0.12.0'\n_release_version = '0.12.0'\n")
    assert [installed_versions(path).jaxlib for path in ([first, second], [second, first], [source, first])] == [
        "0.10.2",
        "0.11.2",
        "0.12.0",
    ]


def test_an_interrupted_upgrade_leaves_two_and_the_code_decides(tmp_path: Path) -> None:
    """Sorting names would take 0.10.2."""
    path = site(
        tmp_path,
        "jaxlib-0.10.2.dist-info",
        "jaxlib-0.9.2.dist-info",
        jaxlib="_version = '0.9.2'\n_release_version = '0.9.2'\n",
    )
    assert installed_versions([path]).jaxlib == "0.9.2"


def test_of_two_nccls_the_plugins_own(tmp_path: Path) -> None:
    """Without a plugin it is not known which."""
    names = ("nvidia_nccl_cu12-2.27.3.dist-info", "nvidia_nccl_cu13-2.28.9.dist-info")
    assert installed_versions([site(tmp_path / "a", *names)]).nccl is None
    assert installed_versions([site(tmp_path / "b", *names, "jax_cuda13_plugin-0.11.2.dist-info")]).nccl == "2.28.9"


def test_nothing_there(tmp_path: Path) -> None:
    """Folders that are missing, files and zips on sys.path are no error."""
    (tmp_path / "x.zip").touch()
    assert installed_versions([str(tmp_path / "none"), str(tmp_path / "x.zip")]) == Installed()


def test_agrees_with_importlib_metadata() -> None:
    """On this very environment."""
    from importlib.metadata import version

    here = installed_versions()
    assert (here.jax, here.jaxlib) == (version("jax"), version("jaxlib"))


def test_what_import_passes_over(tmp_path: Path) -> None:
    """Entries that are no text, and names that no folder can have."""
    odd: list[Any] = [b".", None, 0, tmp_path, "a\0b", site(tmp_path, "jaxlib-0.11.2.dist-info")]
    assert installed_versions(odd).jaxlib == "0.11.2"
    assert installed_versions(odd[:-1]) == Installed()


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is passed over; root may read any, so the refusal is the system's answer to listing it."""
    closed, other = site(tmp_path / "a", "jaxlib-0.10.2.dist-info"), site(tmp_path / "b", "jaxlib-0.11.2.dist-info")
    listdir = os.listdir

    def refusing(folder: str) -> list[str]:
        if folder == closed:
            raise PermissionError(folder)
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", refusing)
    assert installed_versions([closed, other]).jaxlib == "0.11.2"


def test_an_empty_entry_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``python -c``."""
    monkeypatch.chdir(site(tmp_path, "jaxlib-0.11.2.dist-info"))
    assert installed_versions([""]).jaxlib == "0.11.2"


def test_conda_has_metadata_and_no_plugin(tmp_path: Path) -> None:
    """CUDA is inside jaxlib there."""
    path = site(tmp_path, "jax-0.6.2.dist-info", "jaxlib-0.6.2.dist-info", jaxlib="_version = '0.6.2'\n")
    assert installed_versions([path]) == Installed("0.6.2", "0.6.2", None, {})


def test_condas_jaxlib_has_its_cuda_inside(tmp_path: Path) -> None:
    """Which its build tells, so that no plugin is missed."""
    path = site(tmp_path / "lib" / "python3.12" / "site-packages", "jax-0.6.2.dist-info", "jaxlib-0.6.2.dist-info")
    (tmp_path / "conda-meta").mkdir()
    assert installed_versions([path]).jaxlib == "0.6.2"
    (tmp_path / "conda-meta" / "jaxlib-0.6.2-cuda126py312h1b4f8f8_200.json").touch()
    assert installed_versions([path]).jaxlib == "0.6.2+cuda126"


@pytest.mark.parametrize(
    ("name", "there"),
    [
        *(
            (name, True)
            for name in ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "torch", "torch-xla")
        ),
        *((name, True) for name in ("cupy", "cupy-cuda12x", "nvidia-cudnn-cu12", "nvidia-nccl")),
        *((name, False) for name in ("nvidia-ml-py", "torchvision", "tensorflow-io", "tf-keras", "cupyx", "jaxtyping")),
        *((name, False) for name in ("numpy", "my-torch", "xcupy", "upy")),
    ],
)
def test_what_uses_the_gpu_or_holds_an_xla_is_told(name: str, there: bool, tmp_path: Path) -> None:
    """By its distribution's name, however its folder spells it."""
    spelled = name.replace("-", "_")
    path = site(tmp_path, f"{spelled}-1.2.dist-info")
    assert installed_versions([path]).libraries == ({name: "1.2"} if there else {})
