# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index expressions: what stands between the brackets of x[...]."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.frontend.constants import as_array
from shoal.frontend.core import is_value


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

    def with_ones(self, listed: Sequence[Any], one: Any = 1) -> list[Any]:
        """What is listed for each dimension, with a one where None stands."""
        result = list(listed)
        for dim in reversed(self.new_dims):
            result.insert(dim, one)
        return result


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
    if isinstance(part, slice):
        check(part.step != 0, f"index of dimension {dim}: a slice with a step of 0")
        return slice(*map(_bound, (part.start, part.stop, part.step)))
    if is_value(part):
        if not dtypes.is_integer(part.dtype):
            raise TraceTypeError(
                f"index of dimension {dim}: {part!r}; expected integers (for a mask: shoal.where)"
            )
        return part
    if isinstance(part, (bool, np.bool_)) or getattr(part, "dtype", None) == dtypes.BOOL:
        raise TraceTypeError(f"index of dimension {dim}: a mask of bool; use shoal.where")
    if isinstance(part, (list, np.ndarray)) and (np.ndim(part) or not np.size(part)):
        array = as_array(part, f"index of dimension {dim}")
        array = array if array.size else array.astype(dtypes.INT32)  # [] has no type
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
    if is_value(bound):
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
    """Refuses what NumPy refuses, too: an index that is known and out of range."""
    array = array.astype(np.int64)
    for number in array[(array < -size) | (array >= size)]:
        raise TraceError(f"index of dimension {dim}: {number} is out of range for size {size}")
    return np.where(array < 0, array + size, array)
