# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over dimensions, and running ones along a dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal import ir
from shoal.enums import REDUCE_KINDS, kind_attribute
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.bits import in_signed_order
from shoal.frontend.checks import as_axes, as_axis, check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import as_float, convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.elementwise import divide, equal, or_one, sqrt, square, subtract, where
from shoal.frontend.reshape import reshaped
from shoal.frontend.value import Value

__all__ = [
    "all", "any", "cummax", "cummin", "cumprod", "cumsum", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip

Axes = int | Sequence[int] | None


def _reduce(kind: str, value: Value, axis: Axes, keepdims: bool) -> Value:
    dims = as_axes(axis, value.ndim, kind)
    shape = [size for dim, size in enumerate(value.shape) if dim not in dims]
    result = value
    if dims:
        attributes = {"kind": kind_attribute(kind), "dims": ir.i64s(dims)}
        result = emit_one("shoal.reduce", [value], shape, value.dtype, attributes)
    if not keepdims:
        return result
    return reshaped(result, [1 if dim in dims else size for dim, size in enumerate(value.shape)])


def sum(
    operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None
) -> Value:
    """The sum over the dimensions, all for None.

    dtype: the type of the sum; without one that of the elements, but bools and
    integers of less than 32 bits are added as int32 or uint32, floats of 8 bits
    as float32.
    """
    return _reduce("sum", _addend(as_value(operand), dtype), axis, keepdims)


def prod(
    operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None
) -> Value:
    """The product over the dimensions, of the types of `sum`."""
    return _reduce("prod", _addend(as_value(operand), dtype), axis, keepdims)


def _addend(value: Value, dtype: Any) -> Value:
    if dtype is not None:
        return convert(value, dtypes.as_dtype(dtype))
    if dtypes.is_float8(value.dtype):
        return convert(value, dtypes.FLOAT32)
    if dtypes.is_float(value.dtype) or value.dtype.itemsize >= 4:
        return value
    return convert(value, np.dtype("uint32" if dtypes.is_unsigned(value.dtype) else "int32"))


def max(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The largest element; NaN where there is one; of bools: or. Of none: the type's lowest."""
    return _extremum("max", "or", operand, axis, keepdims)


def min(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The smallest element; NaN where there is one; of bools: and. Of none: the type's highest."""
    return _extremum("min", "and", operand, axis, keepdims)


def _extremum(kind: str, of_bools: str, operand: ArrayLike, axis: Axes, keepdims: bool) -> Value:
    value = as_value(operand)
    if dtypes.is_bool(value.dtype):
        return _reduce(of_bools, value, axis, keepdims)
    return in_signed_order(value, lambda signed: _reduce(kind, signed, axis, keepdims))


def any(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Whether an element is not zero."""
    return _reduce("or", convert(as_value(operand), dtypes.BOOL), axis, keepdims)


def all(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Whether no element is zero."""
    return _reduce("and", convert(as_value(operand), dtypes.BOOL), axis, keepdims)


def mean(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The sum over the number of elements; integers as float32. TraceError for none."""
    value = as_float(operand)
    dims = as_axes(axis, value.ndim, "mean")
    count = math.prod(value.shape[dim] for dim in dims)
    check(count > 0, f"mean: of no elements, {list(value.shape)} over {dims}")
    return divide(sum(value, dims, keepdims=keepdims), count)


def var(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The mean of the squared distances from the mean; integers as float32."""
    value = as_float(operand)
    distance = subtract(value, mean(value, axis, keepdims=True))
    return mean(square(distance), axis, keepdims=keepdims)


def std(operand: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The square root of `var`. Its gradient where all elements are equal, which has no limit, is 0."""
    return root_of(var(operand, axis, keepdims=keepdims))


def root_of(squares: Value) -> Value:
    """The square root, with a gradient of 0 at 0: that of sqrt is infinite, and times the 0 of what it is of NaN."""
    return where(equal(squares, 0), 0.0, sqrt(or_one(squares)))


def _cumulative(kind: str, operand: ArrayLike, axis: int, exclusive: bool, reverse: bool) -> Value:
    value = as_value(operand)
    check_reducible(kind, value, f"cum{kind}")
    dim = as_axis(axis, value.ndim, f"cum{kind}")
    attributes: dict[str, str | None] = {"kind": kind_attribute(kind), "dim": f"{dim} : i64"}
    flags = {"exclusive": exclusive, "reverse": reverse}
    attributes |= {name: None for name, is_set in flags.items() if is_set}

    def run(signed: Value) -> Value:
        return emit_one("shoal.cumulative", [signed], signed.shape, signed.dtype, attributes)

    return in_signed_order(value, run) if kind in ("max", "min") else run(value)


def cumsum(
    operand: ArrayLike, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Value:
    """Element i is the sum of 0 ... i of its line; bools are counted in int32.

    exclusive: of 0 ... i - 1, which begins with 0. reverse: from the other end.
    """
    value = as_value(operand)
    value = convert(value, dtypes.INT32) if dtypes.is_bool(value.dtype) else value
    return _cumulative("sum", value, axis, exclusive, reverse)


def cumprod(
    operand: ArrayLike, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Value:
    """As `cumsum`, of products."""
    return _cumulative("prod", operand, axis, exclusive, reverse)


def cummax(
    operand: ArrayLike, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Value:
    """As `cumsum`, of maxima."""
    return _cumulative("max", operand, axis, exclusive, reverse)


def cummin(
    operand: ArrayLike, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Value:
    """As `cumsum`, of minima."""
    return _cumulative("min", operand, axis, exclusive, reverse)


def check_reducible(kind: str, value: Value, what: str) -> None:
    """TraceTypeError where the combiner does not take the elements."""
    if kind not in REDUCE_KINDS:
        raise TraceTypeError(f"{what}: expected one of {', '.join(REDUCE_KINDS)}, got {kind!r}")
    if kind in ("and", "or") and dtypes.is_float(value.dtype):
        raise TraceTypeError(f"{what}: {kind} of {value.dtype}; expected integers or bool")
    if kind not in ("and", "or") and dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"{what}: {kind} of bool; convert it with .astype")
    if kind in ("sum", "prod") and dtypes.is_float8(value.dtype):
        raise TraceTypeError(
            f"{what}: {kind} of {value.dtype}, which would round each partial result; "
            "convert it with .astype"
        )
