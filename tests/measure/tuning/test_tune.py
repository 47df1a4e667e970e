"""A search over a command: its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxgpu_tune.errors import BadSetting
from jaxgpu_tune.measure.tuning.tune import files_of


def test_a_folder_is_no_name_of_a_preset_file(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"it is a folder\. Give a file, such as .*tuned\.toml"):
        files_of(tmp_path)
