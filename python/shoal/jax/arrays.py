# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes `shoal.Array` an array for JAX, too: importing this module is enough.

What JAX does with one, as `jnp.sum(loss)` or `jax.grad(f)(x)`, it does on its own device, with
a copy. Functions of `shoal.jax.jit` take it where it lies, and give `JaxArray`s.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from shoal.devices import Array
from shoal.jax.private import core, dtypes, lax, pxla
from shoal.mesh_sharding import recall

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


def to_jax(array: Array) -> jax.Array:
    """A copy on JAX's own device."""
    copy = jnp.asarray(np.asarray(array))
    return lax._convert_element_type(copy, weak_type=True) if is_weak(array) else copy


def _forwarded(name: str) -> Any:
    """The operator of JAX's arrays."""

    def operator(self: Array, *operands: Any) -> Any:
        return getattr(to_jax(self), name)(*operands)

    operator.__name__ = name
    return operator


_BINARY = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor".split()
_OPERATORS = [f"{place}{name}" for name in _BINARY for place in ("", "r")]
_OPERATORS += "lt le eq ne gt ge neg pos abs invert round".split()

# Of JAX's own devices, where our arrays are not.
_NOT_OURS = {
    "addressable_data", "addressable_shards", "aval", "committed", "device", "format",
    "global_shards", "is_fully_addressable", "is_fully_replicated", "on_device_size_in_bytes",
    "traceback", "unsafe_buffer_pointer", "weak_type",
}  # fmt: skip


class JaxArray(Array):
    """An array on devices whose operators and methods are those of JAX's arrays.

    Steps make `Array`s; `shoal.jax.jit` makes its results these by their `__class__`.
    """

    __slots__ = ()
    __hash__ = None  # as what is compared element by element

    for _name in _OPERATORS:
        locals()[f"__{_name}__"] = _forwarded(f"__{_name}__")
    for _name in _BINARY:  # `total += loss` makes another array
        locals()[f"__i{_name}__"] = locals()[f"__{_name}__"]
    del _name

    @property
    def sharding(self) -> NamedSharding | None:
        """Over an AbstractMesh whose axes are Auto: these are no devices of JAX's. None where a mesh cannot say it in
        whole axes, or nobody has said how the array is split; `placement` has the rows of each device."""
        # JAX asks each argument of a function of its own, and would look for these devices among its own.
        if sys._getframe(1).f_globals.get("__name__", "").startswith("jax."):
            return None
        known = recall(self.placement)
        if known is None or known.is_addends or known.mesh.device_ids is not None:
            return None
        axes = known.mesh.axes
        if any(axis.size not in (0, axes[axis.name]) for dim in known.dims for axis in dim):
            return None
        # Complex numbers have one dimension more in a program.
        entries = [tuple(axis.name for axis in dim) for dim in known.dims[: self.ndim]]
        mesh = AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))
        return NamedSharding(mesh, P(*(names[0] if len(names) == 1 else names or None for names in entries)))

    def __getattr__(self, name: str) -> Any:
        """A public member that Array has not: mean, astype, at, T, ..."""
        if name.startswith("_") or name in _NOT_OURS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(to_jax(self), name)


class JaxSum(JaxArray):
    """An array of which the devices hold addends, as of `P(unreduced=...)`: what reads it reads
    their sum, and the next step takes them where they lie. `placement` and `shards` have them, with
    one more dimension, the first."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.placement.shape[1:]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def numpy(self) -> np.ndarray:
        return super().numpy().sum(axis=0, dtype=self.dtype)


Array.__jax_array__ = to_jax
for _kind in (Array, JaxArray, JaxSum):
    core.pytype_aval_mappings[_kind] = aval_of
    dtypes.canonicalize_value_handlers[_kind] = np.asarray
    pxla.shard_arg_handlers[_kind] = _put
