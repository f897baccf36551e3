# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading parts: x[1:, None, i, tokens], as NumPy, with what only the running program knows."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal import ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import broadcast_shapes, broadcast_to
from shoal.frontend.checks import as_axis, as_shape, check
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, as_array, as_value, emit_one
from shoal.frontend.elementwise import where
from shoal.frontend.logic import less
from shoal.frontend.shape import concatenate, expand_dims, flip, reshape

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = ["dynamic_slice", "take", "take_along_axis"]


@dataclass
class Index:
    """An index expression, an entry for each dimension of the operand.

    entries: a slice; an int; a Value, scalar or not; or a NumPy array.
    new_dims: for each None, the number of entries before it.
    """

    entries: list[Any] = field(default_factory=list)
    new_dims: list[int] = field(default_factory=list)

    @property
    def arrays(self) -> list[int]:
        """The dimensions with entries that have dimensions of their own."""
        return [d for d, entry in enumerate(self.entries) if getattr(entry, "ndim", 0)]


def parse(index: Any, shape: Sequence[int]) -> Index:
    """The expression with Ellipsis and what is missing written out; checks bounds and types."""
    parts = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    check(len(places) <= 1, "index: more than one ...")
    given = sum(part is not None and part is not Ellipsis for part in parts)
    check(given <= len(shape), f"index: {given} entries for {len(shape)} dimensions, {list(shape)}")
    rest = [slice(None)] * (len(shape) - given)
    at = places[0] if places else len(parts)
    result = Index()
    for part in [*parts[:at], *rest, *parts[at + 1 :]]:
        if part is None:
            result.new_dims.append(len(result.entries))
        else:
            dim = len(result.entries)
            result.entries.append(_entry(part, shape[dim], dim))
    return result


def _entry(part: Any, size: int, dim: int) -> Any:
    from shoal.frontend.value import Value

    if isinstance(part, slice):
        return slice(*map(_bound, (part.start, part.stop, part.step)))
    if isinstance(part, Value):
        if not dtypes.is_integer(part.dtype):
            raise TraceTypeError(
                f"index of dimension {dim}: {part!r}; expected integers (for a mask: shoal.where)"
            )
        return part
    if isinstance(part, (bool, np.bool_)) or getattr(part, "dtype", None) == dtypes.BOOL:
        raise TraceTypeError(f"index of dimension {dim}: a mask of bool; use shoal.where")
    if isinstance(part, (list, np.ndarray)) and np.ndim(part):
        array = as_array(part, f"index of dimension {dim}")
        if not dtypes.is_integer(array.dtype):
            raise TraceTypeError(f"index of dimension {dim}: {array.dtype}; expected integers")
        return _counted_from_front(array, size, dim)
    try:
        return int(_counted_from_front(np.array(operator.index(part)), size, dim))
    except TypeError:
        raise TraceTypeError(
            f"index of dimension {dim}: {type(part).__name__}; expected integers, slices, None, ..."
        ) from None


def _bound(bound: Any) -> int | None:
    from shoal.frontend.value import Value

    if isinstance(bound, Value):
        raise TraceTypeError(
            "a bound of a slice is a Value, its size would be known only when the program runs; "
            "use shoal.dynamic_slice, which has a fixed size"
        )
    try:
        return None if bound is None else operator.index(bound)
    except TypeError:
        raise TraceTypeError(
            f"a bound of a slice: expected an integer, got {type(bound).__name__}"
        ) from None


def _counted_from_front(array: np.ndarray, size: int, dim: int) -> np.ndarray:
    """What NumPy refuses, too: an index that is known and out of range."""
    array = array.astype(np.int64)
    for number in (array.min(initial=0), array.max(initial=-1)):
        check(-size <= number < size or not array.size,
              f"index of dimension {dim}: {number} is out of range for size {size}")
    return np.where(array < 0, array + size, array)


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
    shape = _with_ones(parsed, value.shape)
    dropped = [d for d, entry in enumerate(_with_ones(parsed, parsed.entries, slice(None)))
               if not isinstance(entry, slice)]
    return reshape(value, [size for d, size in enumerate(shape) if d not in dropped])


def _static(entry: Any) -> slice:
    if isinstance(entry, slice):
        return entry
    return slice(entry, entry + 1) if isinstance(entry, int) else slice(None)


def _with_ones(parsed: Index, listed: Sequence[Any], one: Any = 1) -> list[Any]:
    """What is listed for each dimension, with a one where None stands."""
    result = list(listed)
    for dim in reversed(parsed.new_dims):
        result.insert(dim, one)
    return result


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


def start_of(entry: ArrayLike, size: int) -> Value:
    """Indices known at run time: signed, negative ones counted from the end."""
    index = signed_index(as_value(entry))
    if not dtypes.is_unsigned(as_value(entry).dtype):
        index = where(less(index, 0), index + size, index)
    return index


def signed_index(index: Value) -> Value:
    """int32 or int64, of equal numbers."""
    is_wide = index.dtype.itemsize > 4 or index.dtype == np.dtype("uint32")
    return convert(index, dtypes.INT64 if is_wide else dtypes.INT32)


def dynamic_slice(
    operand: ArrayLike, starts: Sequence[ArrayLike], sizes: Sequence[int]
) -> Value:
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


def as_starts(starts: Sequence[ArrayLike], what: str) -> list[Value]:
    """Scalars of one signed type."""
    values = [as_value(start) for start in starts]
    for i, value in enumerate(values):
        if value.ndim or not dtypes.is_integer(value.dtype):
            raise TraceTypeError(f"{what}: start {i} is {value!r}; expected a scalar integer")
    values = [signed_index(value) for value in values]
    widest = max((value.dtype for value in values), key=lambda t: t.itemsize, default=dtypes.INT32)
    return [convert(value, widest) for value in values]


def _gather(value: Value, parsed: Index) -> Value:
    """Where an entry is an array. Integers beside it are arrays, too, as in NumPy."""
    whole = slice(None)
    value = _slice(value, [e if isinstance(e, slice) else whole for e in parsed.entries])
    value = reshape(value, _with_ones(parsed, value.shape))
    entries = _with_ones(parsed, parsed.entries, whole)
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


def index_vectors(entries: Sequence[Any], sizes: Sequence[int]) -> Value:
    """Indices that broadcast, one a dimension, as the last dimension of one tensor."""
    columns = [
        start_of(entry, size) if not isinstance(entry, (int, np.ndarray)) else _constant(entry)
        for entry, size in zip(entries, sizes)
    ]
    shape = broadcast_shapes([column.shape for column in columns], "index")
    widest = max((column.dtype for column in columns), key=lambda dtype: dtype.itemsize)
    spread = [expand_dims(broadcast_to(convert(c, widest), shape), len(shape)) for c in columns]
    return concatenate(spread, len(shape))


def _constant(entry: int | np.ndarray) -> Value:
    array = np.asarray(entry)
    return as_value(array.astype(np.int32 if array.max(initial=0) < 2**31 else np.int64))


def take(operand: ArrayLike, indices: ArrayLike, axis: int) -> Value:
    """Rows of a dimension: x[..., indices, ...]. Out of range: the nearest end."""
    value = as_value(operand)
    dim = as_axis(axis, value.ndim, "take")
    return getitem(value, (*[slice(None)] * dim, as_index(indices)))


def as_index(indices: ArrayLike) -> Any:
    from shoal.frontend.value import Value

    return indices if isinstance(indices, (Value, int)) else np.asarray(indices)


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
