# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Components of indices along dimensions that a window covers whole.

JAX names a place in every dimension, also in those of which `x[i]` takes all. There
is one such place, so the component is left out of the indices: the dimension is
then one that nobody looks up, and devices that split it need no row of another's.
"""

from __future__ import annotations

from shoal.ir import Value, i64s
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.index_batches import Indices, joined
from shoal.jax.types import with_shape


def leave_out_whole_dims(
    arith: Arithmetic, indices: Indices, shape: list[int], sizes: list[int]
) -> None:
    """Leaves out what names the place of windows of `sizes` as large as the operand.

    Whoever calls this has made sure that each window lies inside of these dimensions.
    """
    kept = [k for k, dim in enumerate(indices.dims) if sizes[dim] != shape[dim]]
    kept = kept or [0]  # an index has at least one component
    if len(kept) == len(indices.dims):
        return
    parts = [_component(arith, indices, k) for k in kept]
    indices.dims = [indices.dims[k] for k in kept]
    indices.value = joined(arith, parts, indices)


def _component(arith: Arithmetic, indices: Indices, k: int) -> Value:
    shape, dim = list(indices.value.type.shape), indices.vector_dim
    starts = [0] * len(shape)
    starts[dim], limits = k, [*shape]
    limits[dim], shape[dim] = k + 1, 1
    bounds = {"starts": i64s(starts), "limits": i64s(limits), "strides": i64s([1] * len(shape))}
    type = with_shape(indices.value.type, tuple(shape))
    return arith.op("shoal.slice", [indices.value], type, bounds)
