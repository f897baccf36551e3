# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading parts: x[1:, None, i, tokens], as NumPy, with what only the running program knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal import ir
from shoal.errors import TraceError
from shoal.frontend.checks import as_axis, as_shape, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one, is_value
from shoal.frontend.index_expressions import Index, parse
from shoal.frontend.run_time_indices import as_starts, index_vectors, start_of
from shoal.frontend.shape import flip, reshape

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = ["dynamic_slice", "take", "take_along_axis"]


def getitem(value: Value, index: Any) -> Value:
    """NumPy's value[index].

    Integers, slices of any step, None, ... and arrays of integers, which
    broadcast. Scalars and arrays that are Values read at run time: negative
    ones count from the end, and those out of range read at the nearest end.
    """
    parsed = parse(index, value.shape)
    if parsed.arrays:
        return _gather(value, parsed)
    value = _slice(value, [_static(entry) for entry in parsed.entries])
    value = _read_at(value, parsed.entries)
    shape = parsed.with_ones(value.shape)
    dropped = [
        d
        for d, entry in enumerate(parsed.with_ones(parsed.entries, slice(None)))
        if not isinstance(entry, slice)
    ]
    return reshape(value, [size for d, size in enumerate(shape) if d not in dropped])


def _static(entry: Any) -> slice:
    if isinstance(entry, slice):
        return entry
    return slice(entry, entry + 1) if isinstance(entry, int) else slice(None)


def _slice(value: Value, slices: Sequence[slice]) -> Value:
    """slice and, for negative steps, reverse."""
    bounds = [part.indices(size) for part, size in zip(slices, value.shape)]
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


def _read_at(value: Value, entries: Sequence[Any]) -> Value:
    """dynamic_slice of one row where an entry is a scalar Value."""
    if all(isinstance(entry, (slice, int)) for entry in entries):
        return value
    is_scalar = [not isinstance(entry, (slice, int)) for entry in entries]
    starts = [
        start_of(entry, value.shape[d]) if is_scalar[d] else 0 for d, entry in enumerate(entries)
    ]
    sizes = [1 if scalar else size for scalar, size in zip(is_scalar, value.shape)]
    return dynamic_slice(value, starts, sizes)


def dynamic_slice(operand: ArrayLike, starts: Sequence[ArrayLike], sizes: Sequence[int]) -> Value:
    """The box of these sizes that begins where scalars of the program say.

    A start per dimension; clamped so that the box lies inside.
    """
    value, kept = as_value(operand), as_shape(sizes, "dynamic_slice")
    check(
        len(starts) == len(kept) == value.ndim,
        f"dynamic_slice: {len(starts)} starts and {len(kept)} sizes for {value.ndim} dimensions",
    )
    check(
        all(part <= size for part, size in zip(kept, value.shape)),
        f"dynamic_slice: sizes {list(kept)} of {list(value.shape)}",
    )
    places = as_starts(starts, "dynamic_slice")
    attributes = {"sizes": ir.i64s(kept)}
    return emit_one("shoal.dynamic_slice", [value, *places], kept, value.dtype, attributes)


def _gather(value: Value, parsed: Index) -> Value:
    """Where an entry is an array. Integers beside it are arrays, too, as in NumPy."""
    whole = slice(None)
    value = _slice(value, [e if isinstance(e, slice) else whole for e in parsed.entries])
    value = reshape(value, parsed.with_ones(value.shape))
    entries = parsed.with_ones(parsed.entries, whole)
    arrays = [d for d, entry in enumerate(entries) if not isinstance(entry, slice)]
    kept = [d for d in range(value.ndim) if d not in arrays]
    indices = index_vectors([entries[d] for d in arrays], [value.shape[d] for d in arrays])
    batch = indices.shape[:-1]
    # NumPy: the arrays' dimensions stand where the arrays do, or first where these stand apart.
    is_apart = arrays[-1] - arrays[0] + 1 != len(arrays)
    first = 0 if is_apart else arrays[0]
    sizes = [value.shape[d] for d in kept]
    shape = [*sizes[:first], *batch, *sizes[first:]]
    attributes = {
        "offset_dims": ir.i64s([i if i < first else i + len(batch) for i in range(len(kept))]),
        "collapsed_slice_dims": ir.i64s(arrays),
        "start_index_map": ir.i64s(arrays),
        "index_vector_dim": f"{len(batch)} : i64",
        "slice_sizes": ir.i64s([1 if d in arrays else value.shape[d] for d in range(value.ndim)]),
    }
    return emit_one("shoal.gather", [value, indices], shape, value.dtype, attributes)


def take(operand: ArrayLike, indices: ArrayLike, axis: int) -> Value:
    """Rows of a dimension: x[..., indices, ...]. Out of range: the nearest end."""
    value = as_value(operand)
    dim = as_axis(axis, value.ndim, "take")
    return getitem(value, (*[slice(None)] * dim, as_index(indices)))


def as_index(indices: ArrayLike) -> Any:
    return indices if is_value(indices) or isinstance(indices, int) else np.asarray(indices)


def take_along_axis(operand: ArrayLike, indices: ArrayLike, axis: int) -> Value:
    """NumPy's: element (i, j, k) is x[indices[i, j, k], j, k] for axis 0.

    Out of range: the nearest end. The other dimensions have equal sizes.
    """
    value, places = as_value(operand), as_value(indices)
    dim = as_axis(axis, value.ndim, "take_along_axis")
    others = [d for d in range(value.ndim) if d != dim]
    if places.ndim != value.ndim or any(places.shape[d] != value.shape[d] for d in others):
        raise TraceError(
            f"take_along_axis: operand {list(value.shape)} and indices {list(places.shape)} "
            f"differ besides dimension {dim}"
        )
    attributes = {
        "offset_dims": ir.i64s([]),
        "collapsed_slice_dims": ir.i64s([dim]),
        "operand_batching_dims": ir.i64s(others),
        "start_indices_batching_dims": ir.i64s(others),
        "start_index_map": ir.i64s([dim]),
        "index_vector_dim": f"{value.ndim} : i64",
        "slice_sizes": ir.i64s([1] * value.ndim),
    }
    starts = start_of(places, value.shape[dim])
    return emit_one("shoal.gather", [value, starts], places.shape, value.dtype, attributes)
