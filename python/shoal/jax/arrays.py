# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes `shoal.Array` an array for JAX, too: importing this module is enough.

What JAX does with one, as `jnp.sum(loss)` or `jax.grad(f)(x)`, it does on its own device, with
a copy. Functions of `shoal.jax.jit` take it where it lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core, dtypes
from jax._src.interpreters import pxla

from shoal.devices import Array

# The key of an array whose type is weak, as of 2.0 * 3: its placement's and this.
WEAK = "weak"


def is_weak(array: Array) -> bool:
    """Whether its type gives way to that of another operand."""
    return array.key is not array.placement


def make_weak(array: Array) -> None:
    array.key = (array.placement, WEAK)


def aval_of(array: Array) -> core.ShapedArray:
    """Its type in JAX."""
    dtype = dtypes.canonicalize_dtype(array.dtype)
    return core.ShapedArray(array.shape, dtype, weak_type=is_weak(array))


def _put(arrays: Sequence[Array], *rest: Any) -> Any:
    return pxla.shard_arg_handlers[np.ndarray]([np.asarray(array) for array in arrays], *rest)


core.pytype_aval_mappings[Array] = aval_of
dtypes.canonicalize_value_handlers[Array] = np.asarray
pxla.shard_arg_handlers[Array] = _put


def _to_jax(self: Array) -> jax.Array:
    return jnp.asarray(np.asarray(self))


# jnp.ones(3) + array
Array.__jax_array__ = _to_jax
