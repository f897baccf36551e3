# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors with a part replaced: x.at[index].set(y)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from shoal import ir
from shoal.enums import kind_attribute
from shoal.errors import TraceError
from shoal.frontend import dtypes
from shoal.frontend.bits import in_signed_order, to_signed_order
from shoal.frontend.broadcasting import as_elements, as_operand
from shoal.frontend.checks import as_axis, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.elementwise import add, maximum, minimum, multiply, where
from shoal.frontend.index_expressions import Index, parse
from shoal.frontend.indexing import as_index, getitem
from shoal.frontend.run_time_indices import as_starts, index_vectors, start_of
from shoal.frontend.reductions import check_reducible
from shoal.frontend.shape import broadcast_to, flip, pad, reshape

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = ["dynamic_update_slice", "scatter_add"]

_COMBINERS: dict[str, Callable[[ArrayLike, ArrayLike], Any]] = {
    "sum": add,
    "prod": multiply,
    "max": maximum,
    "min": minimum,
}


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
    new = flip(reshape(new, box), [d for d, rows in enumerate(ranges) if rows.step < 0])
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
