"""JAX arrays in compiled programs."""

import jax
import jax.numpy as jnp
import turntile.jax

x = jnp.zeros((30, 40))
result: jax.Array = turntile.jax.transpose(x, (1, 0))
patches: jax.Array = turntile.jax.rearrange(x, "(h p) w -> h (p w)", p=5)
turntile.jax.transpose(x, "ab")  # type: ignore[arg-type]
