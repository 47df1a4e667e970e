"""Profiles on disk: a file serves where XLA would read it, and what XLA would pass over in silence is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.pgle import profile_files
from jaxgpu_tune.pgle.binary_form import print_binary
from jaxgpu_tune.pgle.cost_profile import Cost, CostProfile
from jaxgpu_tune.pgle.text_form import print_text

PROFILE = CostProfile((Cost("fusion.1", 2.5), Cost("all-gather-start", 700.25, "0" * 32)))


def test_a_file_is_read_as_xla_reads_it(tmp_path: Path) -> None:
    for name in ("profile.pbtxt", "profile.pb"):
        profile_files.write_profile(PROFILE, tmp_path / name)
        assert profile_files.read_profile(tmp_path / name) == PROFILE
    assert [one.name for one in sorted(tmp_path.iterdir())] == ["profile.pb", "profile.pbtxt"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("p.txt", print_text(PROFILE).encode(), "holds the pbtxt form: rename it to p.pbtxt"),
        ("p.bin", print_binary(PROFILE), "holds the pb form: rename it to p.pb"),
        ("p.pb", print_text(PROFILE).encode(), "holds the form of .pbtxt.*Rename it to p.pbtxt"),
        ("p.pbtxt", print_binary(PROFILE), "holds the form of .pb\\..*Rename it to p.pb"),
        ("p.pbtxt", b'costs { name: "a" cost: 1 }', "line 1"),
        ("p.pb", b"\x0a\x05\x0a", "byte 3"),
        ("p.pb", b"", "no entry"),
        ("p.pbtxt", b'costs { name: "a" cost_us: -1 }', "'a' has a cost that is not a time"),
        ("p.pbtxt", b"costs { cost_us: 1 }", "1 entries have no name"),
    ],
)
def test_what_xla_would_pass_over_is_refused(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadSetting, match=told):
        profile_files.read_profile(tmp_path / name)


@pytest.mark.parametrize("name", ["profile", "profile.txt", "t.xplane.pb"])
def test_a_name_that_xla_would_pass_over_is_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSetting, match="no name for a profile"):
        profile_files.write_profile(PROFILE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_holds_programs_by_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadSetting, match="no file that is named by a program's fingerprint"):
        profile_files.read_folder(tmp_path)
    one, other = "0" * 32, "f" * 32
    shorter = PROFILE._replace(costs=PROFILE.costs[1:])
    profile_files.write_profile(PROFILE, tmp_path / f"{one}.pb")
    profile_files.write_profile(shorter, tmp_path / f"{one}.pbtxt")
    profile_files.write_profile(PROFILE, tmp_path / f"{other}.pb")
    assert profile_files.read_folder(tmp_path) == {one: shorter, other: PROFILE}
