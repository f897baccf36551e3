# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other shapes of the same elements, and tensors put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import ir
from shoal.errors import TraceError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_elements, broadcast_in_dim, broadcast_to, dtype_of
from shoal.frontend.checks import as_axes, as_axis, as_int, as_shape, check
from shoal.frontend.conversion import convert
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = [
    "broadcast_in_dim", "broadcast_to", "concatenate", "expand_dims", "flip", "moveaxis", "pad",
    "repeat", "reshape", "roll", "squeeze", "stack", "swapaxes", "tile", "transpose",
]  # fmt: skip


def reshape(operand: ArrayLike, shape: int | Sequence[int]) -> Value:
    """The same elements, row-major; one size may be -1."""
    value = as_value(operand)
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


def transpose(operand: ArrayLike, permutation: Sequence[int] | None = None) -> Value:
    """Dimension i of the result is dimension permutation[i]; all reversed for None."""
    value = as_value(operand)
    if permutation is None:
        permutation = range(value.ndim)[::-1]
    dims = [as_axis(dim, value.ndim, "transpose") for dim in permutation]
    check(
        sorted(dims) == list(range(value.ndim)),
        f"transpose: {list(permutation)} is not a permutation of {value.ndim} dimensions",
    )
    if dims == list(range(value.ndim)):
        return value
    shape = [value.shape[dim] for dim in dims]
    return emit_one("shoal.transpose", [value], shape, value.dtype, {"permutation": ir.i64s(dims)})


def swapaxes(operand: ArrayLike, first: int, second: int) -> Value:
    """Two dimensions in each other's place."""
    value = as_value(operand)
    dims = list(range(value.ndim))
    i, j = (as_axis(axis, value.ndim, "swapaxes") for axis in (first, second))
    dims[i], dims[j] = dims[j], dims[i]
    return transpose(value, dims)


def moveaxis(operand: ArrayLike, source: int, target: int) -> Value:
    """Dimension `source` in place `target`, the others in their order."""
    value = as_value(operand)
    dims = list(range(value.ndim))
    moved = dims.pop(as_axis(source, value.ndim, "moveaxis"))
    dims.insert(as_axis(target, value.ndim, "moveaxis"), moved)
    return transpose(value, dims)


def squeeze(operand: ArrayLike, axis: int | Sequence[int] | None = None) -> Value:
    """Without the dimensions of size 1, or those of `axis`, whose size must be 1."""
    value = as_value(operand)
    dims = as_axes(axis, value.ndim, "squeeze")
    if axis is None:
        dims = [dim for dim in dims if value.shape[dim] == 1]
    for dim in dims:
        check(value.shape[dim] == 1, f"squeeze: dimension {dim} has size {value.shape[dim]}, not 1")
    return reshape(value, [size for dim, size in enumerate(value.shape) if dim not in dims])


def expand_dims(operand: ArrayLike, axis: int | Sequence[int]) -> Value:
    """With dimensions of size 1 at these places of the result."""
    value = as_value(operand)
    count = len(axis) if isinstance(axis, Sequence) else 1
    dims = as_axes(axis, value.ndim + count, "expand_dims")
    sizes = iter(value.shape)
    return reshape(value, [1 if dim in dims else next(sizes) for dim in range(value.ndim + count)])


def concatenate(operands: Sequence[ArrayLike], axis: int = 0) -> Value:
    """One behind the other; the other dimensions agree, the types promote."""
    dtype = dtypes.promote(*map(dtype_of, operands)) if operands else dtypes.FLOAT32
    values = [convert(as_value(operand, dtype), dtype) for operand in operands]
    check(values, "concatenate: no operands")
    first = values[0]
    dim = as_axis(axis, first.ndim, "concatenate")
    for i, value in enumerate(values):
        others = [shape[:dim] + shape[dim + 1 :] for shape in (first.shape, value.shape)]
        check(
            value.ndim == first.ndim and others[0] == others[1],
            f"concatenate along {dim}: operand 0 is {list(first.shape)} and "
            f"operand {i} is {list(value.shape)}",
        )
    shape = list(first.shape)
    shape[dim] = sum(value.shape[dim] for value in values)
    if len(values) == 1:
        return first
    return emit_one("shoal.concatenate", values, shape, dtype, {"dim": f"{dim} : i64"})


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Value:
    """Along a new dimension of the result; operands have one shape."""
    dtype = dtypes.promote(*map(dtype_of, operands)) if operands else dtypes.FLOAT32
    values = [as_value(operand, dtype) for operand in operands]
    check(values, "stack: no operands")
    for i, value in enumerate(values):
        check(
            value.shape == values[0].shape,
            f"stack: operand 0 is {list(values[0].shape)} and operand {i} is {list(value.shape)}",
        )
    dim = as_axis(axis, values[0].ndim + 1, "stack")
    return concatenate([expand_dims(value, dim) for value in values], dim)


def pad(
    operand: ArrayLike,
    widths: Sequence[tuple[int, ...]],
    value: ArrayLike | None = None,
) -> Value:
    """Surrounded by a value, zero or False where it is None.

    widths: for each dimension (before, behind) or (before, behind, between),
    the elements added there; negative ones before and behind take away.
    """
    tensor = as_value(operand)
    check(
        len(widths) == tensor.ndim,
        f"pad: expected widths for {tensor.ndim} dimensions, got {len(widths)}",
    )
    low, high, interior = zip(*(_width(width) for width in widths)) if widths else ((),) * 3
    sizes = [
        before + size + behind + between * max(size - 1, 0)
        for size, before, behind, between in zip(tensor.shape, low, high, interior)
    ]
    shape = as_shape(sizes, f"pad: {list(tensor.shape)} by {list(widths)}")
    attributes = {"low": ir.i64s(low), "high": ir.i64s(high), "interior": ir.i64s(interior)}
    filling = as_elements(False if value is None else value, tensor.dtype, "pad: the value")
    check(filling.ndim == 0, f"pad: the value is {filling!r}; expected a scalar")
    return emit_one("shoal.pad", [tensor, filling], shape, tensor.dtype, attributes)


def _width(width: Sequence[int]) -> tuple[int, int, int]:
    entries = [as_int(number, "pad: width") for number in width]
    check(
        len(entries) in (2, 3) and (len(entries) == 2 or entries[2] >= 0),
        f"pad: expected (before, behind) or (before, behind, between), got {tuple(width)}",
    )
    return (entries[0], entries[1], entries[2] if len(entries) == 3 else 0)


def flip(operand: ArrayLike, axis: int | Sequence[int] | None = None) -> Value:
    """In opposite order along the dimensions, all for None."""
    value = as_value(operand)
    dims = as_axes(axis, value.ndim, "flip")
    if not dims:
        return value
    return emit_one("shoal.reverse", [value], value.shape, value.dtype, {"dims": ir.i64s(dims)})


def roll(operand: ArrayLike, shift: int, axis: int) -> Value:
    """Each element `shift` places further along the dimension, around its end."""
    value = as_value(operand)
    dim = as_axis(axis, value.ndim, "roll")
    size = value.shape[dim]
    places = as_int(shift, "roll: shift") % size if size else 0
    if not places:
        return value
    head = (slice(None),) * dim
    return concatenate(
        [value[(*head, slice(size - places, None))], value[(*head, slice(size - places))]], dim
    )


def repeat(operand: ArrayLike, count: int, axis: int) -> Value:
    """Each element of the dimension `count` times in a row."""
    value = as_value(operand)
    dim, times = as_axis(axis, value.ndim, "repeat"), as_int(count, "repeat: count")
    shape = list(value.shape)
    wide = [*shape[: dim + 1], times, *shape[dim + 1 :]]
    kept = [i for i in range(len(wide)) if i != dim + 1]
    shape[dim] *= times
    return reshape(broadcast_in_dim(value, as_shape(wide, "repeat"), kept), shape)


def tile(operand: ArrayLike, counts: Sequence[int]) -> Value:
    """The whole tensor counts[d] times along each dimension d, as NumPy's tile."""
    value = as_value(operand)
    times = [as_int(count, "tile: count") for count in counts]
    rank = max(len(times), value.ndim)
    times = [1] * (rank - len(times)) + times
    value = reshape(value, [1] * (rank - value.ndim) + list(value.shape))
    wide = [size for pair in zip(times, value.shape) for size in pair]
    repeated = broadcast_in_dim(value, as_shape(wide, "tile"), range(1, 2 * rank, 2))
    return reshape(repeated, [count * size for count, size in zip(times, value.shape)])
