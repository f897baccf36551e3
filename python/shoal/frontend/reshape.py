# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same elements, row-major, in another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.errors import TraceError
from shoal.frontend.checks import as_axes, as_int, as_shape, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.value import Value

__all__ = ["expand_dims", "reshape", "squeeze"]


def reshape(operand: ArrayLike, shape: int | Sequence[int]) -> Value:
    """The same elements, row-major; one size may be -1."""
    return reshaped(as_value(operand), shape)


def reshaped(value: Value, shape: int | Sequence[int]) -> Value:
    """`reshape` of what is a value already."""
    listed = [shape] if not isinstance(shape, Sequence) else list(shape)
    sizes = [as_int(size, "reshape: size") for size in listed]
    if -1 in sizes:
        known = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1 or known <= 0 or value.size % known:
            raise TraceError(f"reshape: {list(value.shape)} to {sizes}: no size fits for -1")
        sizes[sizes.index(-1)] = value.size // known
    target = as_shape(sizes, "reshape")
    check(
        math.prod(target) == value.size,
        f"reshape: {list(value.shape)} has {value.size} elements, "
        f"{list(target)} has {math.prod(target)}",
    )
    if target == value.shape:
        return value
    return emit_one("shoal.reshape", [value], target, value.dtype)


def squeeze(operand: ArrayLike, axis: int | Sequence[int] | None = None) -> Value:
    """Without the dimensions of size 1, or those of `axis`, whose size must be 1."""
    value = as_value(operand)
    dims = as_axes(axis, value.ndim, "squeeze")
    if axis is None:
        dims = [dim for dim in dims if value.shape[dim] == 1]
    for dim in dims:
        check(value.shape[dim] == 1, f"squeeze: dimension {dim} has size {value.shape[dim]}, not 1")
    return reshaped(value, [size for dim, size in enumerate(value.shape) if dim not in dims])


def expand_dims(operand: ArrayLike, axis: int | Sequence[int]) -> Value:
    """With dimensions of size 1 at these places of the result."""
    value = as_value(operand)
    count = len(axis) if isinstance(axis, Sequence) else 1
    dims = as_axes(axis, value.ndim + count, "expand_dims")
    sizes = iter(value.shape)
    return reshaped(value, [1 if dim in dims else next(sizes) for dim in range(value.ndim + count)])
