# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frontend's names in JAX's world: with SHOAL_WORLD=jax tests of shoal.moe that evaluate what they write run by XLA, on as
many of its host's devices as their layouts have. What looks at the frontend's text, or compiles, is skipped."""

import contextlib
import os
import types

import pytest

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=16 --xla_backend_optimization_level=0"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import shoal  # noqa: E402
from shoal import arrays  # noqa: E402

# Of `shoal.arrays` what takes arrays alone, as the frontend's do.
OF_ARRAYS = [
    "abs", "any", "argmax", "argsort", "broadcast_to", "clip", "concatenate", "cumsum", "einsum", "exp", "gelu", "log", "logical_and",
    "matmul", "max", "maximum", "mean", "minimum", "one_hot", "relu", "reshape", "rms_norm", "scan", "sigmoid", "silu", "softmax",
    "sqrt", "square", "stack", "stop_gradient", "sum", "take", "take_along_axis", "top_k", "where", "while_loop",
]  # fmt: skip


class Leaf(np.ndarray):
    """As what `shoal.jit` gives."""

    def numpy(self):
        return np.asarray(self)


class Jitted:
    """jax.jit of a function, over JAX's mesh where there is one; float64 where an argument is."""

    def __init__(self, function, mesh=None, **options):
        self.made, self.mesh = jax.jit(function), mesh

    def __call__(self, *args):
        wide = any(np.asarray(leaf).dtype == np.float64 for leaf in jax.tree.leaves(args))
        with jax.enable_x64() if wide else contextlib.nullcontext(), around(self.mesh):
            made = self.made(*jax.tree.map(jnp.asarray, args))
            return jax.tree.map(lambda leaf: np.asarray(leaf).view(Leaf), made)

    def cache_size(self):
        return self.made._cache_size()


def evaluate(tmp_path, function, *args, mesh=None, devices=0, **options):
    """The function's results by XLA, as NumPy's arrays, in its structure; skips where JAX has no name for a place."""
    try:
        return jax.tree.map(np.asarray, Jitted(function, mesh)(*args))
    except shoal.UnsupportedError as error:
        if "is a part of one" not in str(error):
            raise
        pytest.skip(f"SHOAL_WORLD=jax: {error}")


def around(mesh):
    """JAX's mesh, where there is one."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(arrays.mesh_of(mesh, jax.devices()))


def skipped(what):
    def called(*args, **options):
        pytest.skip(f"SHOAL_WORLD=jax: {what} is the frontend's")

    return called


def iota(shape, axis=0):
    shape = (shape,) if isinstance(shape, int) else shape
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


NAMES = {
    **{name: getattr(arrays, name) for name in OF_ARRAYS},
    "value_and_grad": jax.value_and_grad, "grad": jax.grad, "vjp": jax.vjp, "jvp": jax.jvp, "remat": jax.checkpoint, "jit": Jitted,
    "iota": iota, "tanh": jnp.tanh, "zeros": lambda shape, dtype="float32": jnp.zeros(shape, dtype), "ones": jnp.ones, "full": jnp.full,
    "trace": skipped("text"), "compile": skipped("an executable"),
    "constrain": lambda x, spec, **options: arrays.constrain(x, spec, arrays.mesh_around(x), **options),
    "random": types.SimpleNamespace(key=lambda seed: jax.random.key(int(seed)), **{
        name: getattr(jax.random, name) for name in ("randint", "uniform", "normal", "fold_in")
    }),
}  # fmt: skip


class World:
    """The package shoal with JAX's functions in the frontend's place."""

    def __getattr__(self, name):
        return NAMES[name] if name in NAMES else getattr(shoal, name)
