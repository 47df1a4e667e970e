"""What kind of program it is, told from the text of what it was compiled to. Pure."""

from __future__ import annotations

import re

__all__ = ["kinds_of"]

SMALL = 50
"""So many fusions in one program are many small kernels."""
PATTERNS = {
    "collectives": r"\b(?:all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(",
    "loops": r"\bwhile\(",
    "convolutions": r"\bconvolution\(|cudnn\$conv",
    "products": r"\bdot\(|cublas|gemm",
}


def kinds_of(program: str) -> tuple[str, ...]:
    """The kinds, in the words of the search's candidates, of an optimized HLO module's text."""
    found = [kind for kind, pattern in PATTERNS.items() if re.search(pattern, program)]
    small = len(re.findall(r"\bfusion\(", program)) >= SMALL
    return (*found, *(("small-kernels",) if small else ()))
