"""The same training as in fsdp_training.py; what it needs is set when the decorated entry point is called."""

from __future__ import annotations

import jaxgpu_tune


@jaxgpu_tune.configured("fsdp")
def main() -> None:
    """Train, and print the step time and the loss."""
    import sharded_transformer

    print(sharded_transformer.train(sharded_transformer.size_from()))


if __name__ == "__main__":
    main()
