"""Equinox and Optax: the entry point is decorated, and imports what imports jax. Needs ``pip install equinox optax``."""

from __future__ import annotations

import jaxgpu_tune

STEPS, BATCH, FEATURES = 40, 64, 8


@jaxgpu_tune.configured("data_parallel")
def main() -> None:
    """Train a small network, its batch split over all devices; print the first and the last loss."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    model = eqx.nn.MLP(FEATURES, "scalar", width_size=64, depth=1, key=jax.random.PRNGKey(0))
    optimizer = optax.adam(1e-2)
    moments = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, moments, x, y):  # noqa: ANN001, ANN202 - PyTrees
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        updates, moments = optimizer.update(grads, moments)
        return eqx.apply_updates(model, updates), moments, loss

    x = np.random.default_rng(0).normal(size=(BATCH * mesh.size, FEATURES)).astype(np.float32)
    x, y = jax.device_put((x, np.sin(x.sum(axis=1))), NamedSharding(mesh, PartitionSpec("data")))
    losses = []
    for _ in range(STEPS):
        model, moments, loss = step(model, moments, x, y)
        losses.append(float(loss))
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, on {mesh.size} x {jax.devices()[0].device_kind}")


if __name__ == "__main__":
    main()
