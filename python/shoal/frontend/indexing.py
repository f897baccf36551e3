# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors, read and replaced: x[1:, None, i, tokens] and x.at[i].set(y).

As NumPy, with what only the running program knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shoal import ir
from shoal.enums import kind_attribute
from shoal.errors import TraceError
from shoal.frontend import dtypes
from shoal.frontend.bits import in_signed_order, to_signed_order
from shoal.frontend.broadcasting import as_elements, as_operand, broadcast_to
from shoal.frontend.checks import as_axis, as_shape, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one, is_value
from shoal.frontend.elementwise import add, maximum, minimum, multiply, where
from shoal.frontend.index_expressions import Index, parse
from shoal.frontend.reduction import check_reducible
from shoal.frontend.reshape import reshaped
from shoal.frontend.run_time_indices import as_starts, index_vectors, start_of
from shoal.frontend.structure import flip, pad, take_slices
from shoal.frontend.value import Value

__all__ = ["dynamic_slice", "dynamic_update_slice", "scatter_add", "take", "take_along_axis"]

_COMBINERS: dict[str, Callable[[ArrayLike, ArrayLike], Any]] = {
    "sum": add,
    "prod": multiply,
    "max": maximum,
    "min": minimum,
}


def getitem(value: Value, index: Any) -> Value:
    """NumPy's value[index].

    Integers, slices of any step, None, ... and arrays of integers, which
    broadcast. Scalars and arrays that are Values read at run time: negative
    ones count from the end, and those out of range read at the nearest end.
    """
    parsed = parse(index, value.shape)
    if parsed.arrays:
        return _gather(value, parsed)
    value = take_slices(value, [_static(entry) for entry in parsed.entries])
    value = _read_at(value, parsed.entries)
    shape = parsed.with_ones(value.shape)
    dropped = [
        d
        for d, entry in enumerate(parsed.with_ones(parsed.entries, slice(None)))
        if not isinstance(entry, slice)
    ]
    return reshaped(value, [size for d, size in enumerate(shape) if d not in dropped])


def _static(entry: Any) -> slice:
    if isinstance(entry, slice):
        return entry
    return slice(entry, entry + 1) if isinstance(entry, int) else slice(None)


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
    value = take_slices(value, [e if isinstance(e, slice) else whole for e in parsed.entries])
    value = reshaped(value, parsed.with_ones(value.shape))
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


def dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, starts: Sequence[ArrayLike]
) -> Value:
    """The operand with a box replaced that begins where scalars of the program say.

    A start per dimension; clamped so that the box lies inside.
    """
    value = as_value(operand)
    new = as_elements(update, value.dtype, "dynamic_update_slice: an update")
    check(
        len(starts) == value.ndim == new.ndim
        and all(part <= size for part, size in zip(new.shape, value.shape)),
        f"dynamic_update_slice: {list(new.shape)} into {list(value.shape)}, {len(starts)} starts",
    )
    operands = [value, new, *as_starts(starts, "dynamic_update_slice")]
    return emit_one("shoal.dynamic_update_slice", operands, value.shape, value.dtype)


def scatter_add(operand: ArrayLike, indices: ArrayLike, updates: ArrayLike, axis: int = 0) -> Value:
    """Adds rows of `updates` to the rows of a dimension that `indices` name.

    updates: the operand's shape with that of the indices in place of `axis`.
    """
    value = as_value(operand)
    dim = as_axis(axis, value.ndim, "scatter_add")
    return At(value)[(*[slice(None)] * dim, as_index(indices))].add(updates)


class At:
    """What `Value.at` is: index it, then say what to do there."""

    def __init__(self, value: Value):
        self._value = value

    def __getitem__(self, index: Any) -> Part:
        return Part(self._value, index)


class Part:
    """x.at[index]. All methods return x with this part changed.

    The index is as in x[index]; updates broadcast to the part's shape and take
    the type of x. Arrays of indices may name an element several times: `set`
    keeps the last update, others combine all. What is out of range is dropped,
    but a scalar Value writes at the nearest end.
    """

    def __init__(self, value: Value, index: Any):
        self._value = value
        self._index = index

    def set(self, updates: ArrayLike) -> Value:
        """The updates in place of the part."""
        return self._update(None, updates)

    def add(self, updates: ArrayLike) -> Value:
        """The updates added to the part."""
        return self._update("sum", updates)

    def multiply(self, updates: ArrayLike) -> Value:
        """The part times the updates."""
        return self._update("prod", updates)

    def max(self, updates: ArrayLike) -> Value:
        """The larger of part and updates."""
        return self._update("max", updates)

    def min(self, updates: ArrayLike) -> Value:
        """The smaller of part and updates."""
        return self._update("min", updates)

    def _update(self, kind: str | None, updates: ArrayLike) -> Value:
        parsed = parse(self._index, self._value.shape)
        if parsed.arrays:
            return _scatter(self._value, parsed, kind, updates)
        part = getitem(self._value, self._index)
        new = _as_update(updates, part.shape, self._value.dtype)
        if kind is not None:
            new = _COMBINERS[kind](part, new)
        return _replace(self._value, parsed, new)


def _as_update(updates: ArrayLike, shape: Sequence[int], dtype: Any) -> Value:
    value = as_elements(updates, dtype, "at: an update")
    try:
        return broadcast_to(value, shape)
    except TraceError:
        raise TraceError(
            f"at: an update of shape {list(value.shape)} for a part of shape {list(shape)}"
        ) from None


def _replace(value: Value, parsed: Index, new: Value) -> Value:
    """Where the part is a box, by a dynamic_update_slice; else every s-th row, by a mask."""
    box, ranges = [], []
    for entry, size in zip(parsed.entries, value.shape):
        rows = range(*entry.indices(size)) if isinstance(entry, slice) else range(1)
        ranges.append(rows)
        box.append(len(rows))
    new = flip(reshaped(new, box), [d for d, rows in enumerate(ranges) if rows.step < 0])
    ranges = [rows[::-1] if rows.step < 0 else rows for rows in ranges]
    if any(len(rows) > 1 and rows.step > 1 for rows in ranges):
        return _replace_rows(value, parsed, ranges, new)
    starts = [
        _begin(entry, rows, size) for entry, rows, size in zip(parsed.entries, ranges, value.shape)
    ]
    return dynamic_update_slice(value, new, starts) if new.size else value


def _begin(entry: Any, rows: range, size: int) -> ArrayLike:
    if isinstance(entry, slice):
        return rows.start
    return entry if isinstance(entry, int) else start_of(entry, size)


def _replace_rows(value: Value, parsed: Index, ranges: list[range], new: Value) -> Value:
    """Spreads the update over the operand's shape; selects it where it has elements."""
    starts = []
    for entry, rows in zip(parsed.entries, ranges):
        check(
            isinstance(entry, (slice, int)),
            "at: slices of several steps beside an index known at run time",
        )
        starts.append(entry if isinstance(entry, int) else rows.start)
    widths = [
        (start, size - (start + (len(rows) - 1) * rows.step + 1), rows.step - 1)
        for start, rows, size in zip(starts, ranges, value.shape)
    ]
    is_new = pad(as_operand(True, new.shape, dtypes.BOOL), widths, False)
    return where(is_new, pad(new, widths), value)


def _scatter(value: Value, parsed: Index, kind: str | None, updates: ArrayLike) -> Value:
    """Arrays of indices, with whole dimensions beside them."""
    entries = parsed.entries
    for dim, entry in enumerate(entries):
        check(
            not isinstance(entry, slice)
            or entry.indices(value.shape[dim]) == (0, value.shape[dim], 1),
            f"at: a slice of dimension {dim} beside arrays of indices; only : can stand there",
        )
    check(not parsed.new_dims, "at: None beside arrays of indices")
    arrays = [d for d, entry in enumerate(entries) if not isinstance(entry, slice)]
    indices = index_vectors([entries[d] for d in arrays], [value.shape[d] for d in arrays])
    sizes = [value.shape[d] for d in range(value.ndim) if d not in arrays]
    rank = indices.ndim - 1
    first = arrays[0] if arrays[-1] - arrays[0] + 1 == len(arrays) else 0
    shape = [*sizes[:first], *indices.shape[:-1], *sizes[first:]]
    attributes: dict[str, str | None] = {
        "update_window_dims": ir.i64s([i if i < first else i + rank for i in range(len(sizes))]),
        "inserted_window_dims": ir.i64s(arrays),
        "scatter_dims_to_operand_dims": ir.i64s(arrays),
        "index_vector_dim": f"{rank} : i64",
    }
    if kind is not None:
        check_reducible(kind, value, "at")
        attributes["kind"] = kind_attribute(kind)
    new = _as_update(updates, shape, value.dtype)

    def run(signed: Value) -> Value:
        operands = [signed, indices, to_signed_order(new) if signed is not value else new]
        return emit_one("shoal.scatter", operands, value.shape, signed.dtype, attributes)

    return in_signed_order(value, run) if kind in ("max", "min") else run(value)
