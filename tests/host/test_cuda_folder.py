"""The folder that xla_gpu_cuda_data_dir names."""

from __future__ import annotations

from pathlib import Path

from jaxgpu_tune.host.cuda_folder import cuda_folder_findings, has_libdevice
from jaxgpu_tune.model import Machine
from tests.fleet import machine


def told(folder: object, where: Machine) -> list[str]:
    """The codes of what is told of a folder there."""
    return [finding.code for finding in cuda_folder_findings(str(folder) if folder else None, where)]


def test_it_is_empty_where_no_libdevice_lies_below_it(tmp_path: Path) -> None:
    """Said where XLA looks at it: on a machine with a GPU whose CUDA does not come with wheels."""
    own = machine()
    assert told(tmp_path, own) == ["cuda-folder-empty"] and not has_libdevice(str(tmp_path))
    assert told(None, own) == told("", own) == told(tmp_path, own._replace(gpus=())) == []
    (tmp_path / "nvvm" / "libdevice").mkdir(parents=True)
    assert told(tmp_path, own) == [] and has_libdevice(str(tmp_path)) and not has_libdevice(None)
    (finding,) = cuda_folder_findings("/no/such", own)
    assert "--xla_gpu_cuda_data_dir=/no/such: no nvvm/libdevice" in finding.message
