"""The release that a file installs, where it leaves no choice."""

from __future__ import annotations

import pytest

from jaxgpu_tune.planning.files.mapped import line_of
from jaxgpu_tune.planning.files.pinned import pin_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('RUN pip install -U "jax[cuda12]==0.4.37"\n', (1, "jax", "0.4.36")),
        ("x\npip install jax==0.4.25 jaxlib==0.4.25+cuda12.cudnn89 -f https://e.org\n", (2, "jaxlib", "0.4.25")),
        ("- jaxlib=0.4.25=*cuda12*\n", (1, "jaxlib", "0.4.25")),
        ("!uv pip install 'jax[cuda12,k8s]==0.11.2'\n", (1, "jax", "0.11.2")),
        ("pip install jax==0.12.0\n", (1, "jax", "0.12.0")),
        ("pip install jax==99.1.0\n", (1, "jax", "99.1.0")),
        ("pip install jax==0.4.30; pip install jax==0.4.30\n", (1, "jax", "0.4.30")),
        ("pip install jax==0.4.30\npip install jax==0.5.0\n", None),
        ("# pip install jax==0.4.30\npip install x  # jax==0.4.30\n", None),
        ("pip install jax==0.4.* 'jax>=0.4.30' jax~=0.4.30 jax==$V flax==0.8.0 my-jax==0.4.30 jax==0.5.0rc1\n", None),
        ("pip install jax-cuda12-plugin==0.4.30 ./jax==0.4.30\nassert jax.__version__ == '0.4.30'\n", None),
    ],
)
def test_only_what_leaves_no_choice_counts(text: str, found: tuple[int, str, str] | None) -> None:
    pin = pin_in(text)
    assert (pin and (line_of(text, pin.at), pin.package, pin.jaxlib)) == found
