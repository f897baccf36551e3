# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made of nothing: constants, ranges, triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_operand
from shoal.frontend.checks import as_shape, check
from shoal.frontend.constants import as_array, as_value, constant
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike
from shoal.frontend.elementwise import add, equal, greater_equal, multiply, where
from shoal.frontend.structure import iota
from shoal.frontend.value import Value

__all__ = [
    "arange", "array", "eye", "full", "full_like", "ones", "ones_like", "tril", "triu", "zeros",
    "zeros_like",
]  # fmt: skip

Shape = int | Sequence[int]


def array(elements: Any, dtype: Any = None) -> Value:
    """A constant of a NumPy array, a list or a number; a list's numbers are int32 or float32."""
    value = as_value(elements) if not isinstance(elements, (list, tuple)) else _constant(elements)
    return value if dtype is None else convert(value, dtypes.as_dtype(dtype))


def _constant(elements: Any) -> Value:
    return constant(as_array(elements, "array"))


def full(shape: Shape, value: ArrayLike, dtype: Any = None) -> Value:
    """The value everywhere; its own type where no dtype is given."""
    sizes = as_shape(shape, "full")
    target = dtypes.as_dtype(dtype) if dtype is not None else as_value(value).dtype
    return as_operand(value, sizes, target)


def zeros(shape: Shape, dtype: Any = dtypes.FLOAT32) -> Value:
    """Zeros everywhere."""
    return full(shape, 0, dtype)


def ones(shape: Shape, dtype: Any = dtypes.FLOAT32) -> Value:
    """Ones everywhere."""
    return full(shape, 1, dtype)


def full_like(like: ArrayLike, value: ArrayLike, dtype: Any = None) -> Value:
    """`full` with the shape and, without a dtype, the type of `like`."""
    template = as_value(like)
    return full(template.shape, value, template.dtype if dtype is None else dtype)


def zeros_like(like: ArrayLike, dtype: Any = None) -> Value:
    """Zeros of the shape and, without a dtype, the type of `like`."""
    return full_like(like, 0, dtype)


def ones_like(like: ArrayLike, dtype: Any = None) -> Value:
    """Ones of the shape and, without a dtype, the type of `like`."""
    return full_like(like, 1, dtype)


def arange(start: int, stop: int | None = None, step: int = 1, dtype: Any = None) -> Value:
    """start, start + step, ... below stop; arange(n) is 0 ... n - 1."""
    first, end = (0, start) if stop is None else (start, stop)
    check(step != 0, "arange: step is 0")
    count = max(0, math.ceil((end - first) / step))
    kind = dtypes.as_dtype(dtype) if dtype is not None else dtypes.promote(first, end, step)
    result = iota((count,), 0, kind)
    result = result if step == 1 else multiply(result, step)
    return result if first == 0 else add(result, first)


def eye(rows: int, columns: int | None = None, dtype: Any = dtypes.FLOAT32) -> Value:
    """Ones on the diagonal."""
    shape = (rows, rows if columns is None else columns)
    return convert(equal(iota(shape, 0), iota(shape, 1)), dtypes.as_dtype(dtype))


def tril(operand: ArrayLike, k: int = 0) -> Value:
    """Zero above the k-th diagonal of the last two dimensions."""
    value = as_value(operand)
    check(value.ndim >= 2, f"tril: expected two dimensions or more, got {value.ndim}")
    rows, columns = iota(value.shape, -2), iota(value.shape, -1)
    return where(greater_equal(add(rows, k), columns), value, zeros_like(value))


def triu(operand: ArrayLike, k: int = 0) -> Value:
    """Zero below the k-th diagonal of the last two dimensions."""
    value = as_value(operand)
    return where(as_value(tril(ones_like(value, bool), k - 1)), zeros_like(value), value)
