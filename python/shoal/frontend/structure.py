# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements in other places: moved, repeated, cut out, put together, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal import ir
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_elements, broadcast_in_dim, broadcast_to, dtype_of
from shoal.frontend.checks import as_axes, as_axis, as_int, as_shape, check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.reshape import expand_dims, reshaped
from shoal.frontend.value import Value

__all__ = [
    "broadcast_in_dim", "broadcast_to", "concatenate", "flip", "iota", "moveaxis", "pad", "repeat",
    "roll", "stack", "swapaxes", "tile", "transpose",
]  # fmt: skip


def iota(shape: int | Sequence[int], axis: int = 0, dtype: Any = dtypes.INT32) -> Value:
    """Each element is its index along one dimension."""
    sizes, kind = as_shape(shape, "iota"), dtypes.as_dtype(dtype)
    if dtypes.is_bool(kind):
        raise TraceTypeError("iota: indices are not bool")
    dim = as_axis(axis, len(sizes), "iota")
    return emit_one("shoal.iota", [], sizes, kind, {"dim": f"{dim} : i64"})


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


def take_slices(value: Value, slices: Sequence[slice]) -> Value:
    """A part of each dimension, the last ones whole: slice and, for negative steps, reverse."""
    parts = [*slices, *[slice(None)] * (value.ndim - len(slices))]
    bounds = [part.indices(size) for part, size in zip(parts, value.shape)]
    ranges = [range(*bound) for bound in bounds]
    if all(r == range(size) for r, size in zip(ranges, value.shape)):
        return value
    flipped = [d for d, r in enumerate(ranges) if r.step < 0]
    rising = [r[::-1] if r.step < 0 else r for r in ranges]
    starts = [r.start if len(r) else 0 for r in rising]
    limits = [r[-1] + 1 if len(r) else 0 for r in rising]
    attributes = {
        "starts": ir.i64s(starts),
        "limits": ir.i64s(limits),
        "strides": ir.i64s([r.step for r in rising]),
    }
    result = emit_one("shoal.slice", [value], list(map(len, rising)), value.dtype, attributes)
    return flip(result, flipped) if flipped else result


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
    attributes = {"dim": f"{dim} : i64", "shift": f"{places} : i64"}
    return emit_one("shoal.roll", [value], value.shape, value.dtype, attributes)


def repeat(operand: ArrayLike, count: int, axis: int) -> Value:
    """Each element of the dimension `count` times in a row."""
    value = as_value(operand)
    dim, times = as_axis(axis, value.ndim, "repeat"), as_int(count, "repeat: count")
    shape = list(value.shape)
    wide = [*shape[: dim + 1], times, *shape[dim + 1 :]]
    kept = [i for i in range(len(wide)) if i != dim + 1]
    shape[dim] *= times
    return reshaped(broadcast_in_dim(value, as_shape(wide, "repeat"), kept), shape)


def tile(operand: ArrayLike, counts: Sequence[int]) -> Value:
    """The whole tensor counts[d] times along each dimension d, as NumPy's tile."""
    value = as_value(operand)
    times = [as_int(count, "tile: count") for count in counts]
    rank = max(len(times), value.ndim)
    times = [1] * (rank - len(times)) + times
    value = reshaped(value, [1] * (rank - value.ndim) + list(value.shape))
    wide = [size for pair in zip(times, value.shape) for size in pair]
    repeated = broadcast_in_dim(value, as_shape(wide, "tile"), range(1, 2 * rank, 2))
    return reshaped(repeated, [count * size for count, size in zip(times, value.shape)])
