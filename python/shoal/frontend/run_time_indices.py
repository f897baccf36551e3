# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices that only the running program knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import broadcast_shapes, broadcast_to
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike
from shoal.frontend.elementwise import add, less, where
from shoal.frontend.reshape import expand_dims
from shoal.frontend.structure import concatenate
from shoal.frontend.value import Value


def start_of(entry: ArrayLike, size: int) -> Value:
    """Indices known at run time: signed, negative ones counted from the end."""
    index = signed_index(as_value(entry))
    if not dtypes.is_unsigned(as_value(entry).dtype):
        index = where(less(index, 0), add(index, size), index)
    return index


def signed_index(index: Value) -> Value:
    """int32 or int64, of equal numbers."""
    is_wide = index.dtype.itemsize > 4 or index.dtype == np.dtype("uint32")
    return convert(index, dtypes.INT64 if is_wide else dtypes.INT32)


def as_starts(starts: Sequence[ArrayLike], what: str) -> list[Value]:
    """Scalars of one signed type."""
    values = [as_value(start) for start in starts]
    for i, value in enumerate(values):
        if value.ndim or not dtypes.is_integer(value.dtype):
            raise TraceTypeError(f"{what}: start {i} is {value!r}; expected a scalar integer")
    values = [signed_index(value) for value in values]
    widest = max((value.dtype for value in values), key=lambda t: t.itemsize, default=dtypes.INT32)
    return [convert(value, widest) for value in values]


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
