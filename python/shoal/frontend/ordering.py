# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order along a dimension: extrema's places, sorting."""

from __future__ import annotations

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.bits import from_signed_order, to_signed_order
from shoal.frontend.checks import as_axis, as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit, emit_one
from shoal.frontend.reshape import reshaped
from shoal.frontend.structure import iota
from shoal.frontend.value import Value

__all__ = ["argmax", "argmin", "argsort", "sort", "sort_by", "top_k"]


def argmax(operand: ArrayLike, axis: int | None = None) -> Value:
    """The place of the largest element, the first of equal ones, as int32; a NaN is larger
    than all. None counts places in the flattened tensor."""
    return _place_of("argmax", operand, axis)


def argmin(operand: ArrayLike, axis: int | None = None) -> Value:
    """As `argmax`, of the smallest element; a NaN is smaller than all."""
    return _place_of("argmin", operand, axis)


def _place_of(name: str, operand: ArrayLike, axis: int | None) -> Value:
    value = to_signed_order(as_value(operand))
    if axis is None:
        value, axis = reshaped(value, (-1,)), 0
    dim = as_axis(axis, value.ndim, name)
    check(value.shape[dim] > 0, f"{name}: dimension {dim} of {list(value.shape)} has no elements")
    shape = value.shape[:dim] + value.shape[dim + 1 :]
    return emit_one(f"shoal.{name}", [value], shape, dtypes.INT32, {"dim": f"{dim} : i64"})


def sort_by(
    operands: list[ArrayLike] | tuple[ArrayLike, ...],
    axis: int = -1,
    *,
    num_keys: int = 1,
    descending: bool = False,
) -> list[Value]:
    """Sorts lines by the first `num_keys` operands, compared one after the other.

    The others are carried along; all have one shape. Stable in both directions;
    NaNs are larger than all numbers, as in NumPy.
    """
    values = [as_value(operand) for operand in operands]
    count = as_int(num_keys, "sort_by: num_keys")
    check(1 <= count <= len(values), f"sort_by: {count} keys of {len(values)} operands")
    for i, value in enumerate(values):
        check(
            value.shape == values[0].shape,
            f"sort_by: operand 0 is {list(values[0].shape)} and operand {i} is {list(value.shape)}",
        )
    dim = as_axis(axis, values[0].ndim, "sort")
    attributes: dict[str, str | None] = {"dim": f"{dim} : i64", "num_keys": f"{count} : i64"}
    if descending:
        attributes["descending"] = None
    signed = [to_signed_order(value) for value in values]
    results = emit(
        "shoal.sort", signed, [(value.shape, value.dtype) for value in signed], attributes
    )
    return [from_signed_order(result, value.dtype) for result, value in zip(results, values)]


def sort(operand: ArrayLike, axis: int = -1, *, descending: bool = False) -> Value:
    """Each line of the dimension in ascending or descending order."""
    return sort_by([operand], axis, descending=descending)[0]


def argsort(operand: ArrayLike, axis: int = -1, *, descending: bool = False) -> Value:
    """The places of the elements in order, as int32; equal ones keep theirs."""
    value = as_value(operand)
    dim = as_axis(axis, value.ndim, "argsort")
    return sort_by([value, iota(value.shape, dim)], dim, descending=descending)[1]


def top_k(operand: ArrayLike, k: int) -> tuple[Value, Value]:
    """The k largest elements of the last dimension, from the largest on, and their places (int32).

    Of equal elements the first comes first; a NaN is larger than all.
    """
    value = as_value(operand)
    count = as_int(k, "top_k: k")
    if dtypes.is_bool(value.dtype):
        raise TraceTypeError("top_k: the operand is bool; use .astype")
    size = value.shape[-1] if value.ndim else 0
    check(1 <= count <= size, f"top_k: k = {count} of the last dimension of {list(value.shape)}")
    signed = to_signed_order(value)
    shape = (*value.shape[:-1], count)
    types = [(shape, signed.dtype), (shape, dtypes.INT32)]
    best, places = emit("shoal.top_k", [signed], types, {"k": f"{count} : i64"})
    return from_signed_order(best, value.dtype), places
