# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bringing operands to one shape and type, as NumPy does, by explicit ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal import ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.constants import as_array, as_value, constant, is_scalar, splat
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, emit_one, is_value
from shoal.frontend.value import Value


def shape_of(operand: ArrayLike) -> tuple[int, ...]:
    if is_value(operand):
        return operand.shape
    return () if is_scalar(operand) else as_array(operand).shape


def dtype_of(operand: ArrayLike) -> np.dtype | bool | int | float:
    """As `dtypes.promote` takes it: a Python number stands for itself."""
    if is_value(operand):
        return operand.dtype
    return operand if is_scalar(operand) else as_array(operand).dtype


def promote_types(*operands: ArrayLike) -> np.dtype:
    """The type of the sum of these values, arrays and numbers. See docs/guide/Python.md."""
    return dtypes.promote(*map(dtype_of, operands))


def broadcast_shapes(shapes: Sequence[tuple[int, ...]], what: str) -> tuple[int, ...]:
    """NumPy's rule: aligned at the last dimension, sizes are equal or 1."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[dim] not in (1, size):
                listed = " and ".join(str(list(shape)) for shape in shapes)
                raise TraceError(
                    f"{what}: shapes {listed} do not broadcast: "
                    f"dimension {dim} is {result[dim]} and {size}"
                )
            result[dim] = size if size != 1 else result[dim]
    return tuple(result)


def broadcast_in_dim(value: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
    """Dimension i becomes dims[i] of the new shape; sizes of 1 and other dims are repeated."""
    if tuple(shape) == value.shape and list(dims) == list(range(value.ndim)):
        return value
    attributes = {"dims": ir.i64s(dims)}
    return emit_one("shoal.broadcast_in_dim", [value], shape, value.dtype, attributes)


def broadcast_to(operand: ArrayLike, shape: Sequence[int]) -> Value:
    """NumPy's broadcast_to: the operand repeated along new dimensions and those of size 1."""
    return _repeated(as_value(operand), shape)


def _repeated(value: Value, shape: Sequence[int]) -> Value:
    target = tuple(int(size) for size in shape)
    if broadcast_shapes([value.shape, target], "broadcast_to") != target:
        raise TraceError(f"broadcast_to: {list(value.shape)} does not fit into {list(target)}")
    first = len(target) - value.ndim
    return broadcast_in_dim(value, target, range(first, len(target)))


def as_operand(operand: ArrayLike, shape: Sequence[int], dtype: np.dtype) -> Value:
    """The operand converted to the type and repeated to the shape."""
    if is_value(operand):
        return _repeated(convert(operand, dtype), shape)
    if is_scalar(operand):
        return splat(operand, shape, dtype)
    if isinstance(operand, (np.ndarray, np.generic)) and operand.size == 1:
        return constant(np.broadcast_to(as_array(operand).astype(dtype), shape))
    return broadcast_to(convert(as_value(operand), dtype), shape)


def as_elements(operand: ArrayLike, dtype: np.dtype, what: str) -> Value:
    """The operand as elements of a type that must hold them all; else TraceTypeError."""
    given = dtype_of(operand)
    if dtypes.promote(given, dtype) != dtype:
        name = given if isinstance(given, np.dtype) else type(given).__name__
        raise TraceTypeError(f"{what}: {name} for elements of {dtype}; use .astype")
    return convert(as_value(operand, dtype), dtype)


def join(what: str, *operands: ArrayLike, dtype: np.dtype | None = None) -> list[Value]:
    """The operands in their common shape and type, or in `dtype`."""
    shape = broadcast_shapes([shape_of(operand) for operand in operands], what)
    dtype = dtype or dtypes.promote(*map(dtype_of, operands))
    return [as_operand(operand, shape, dtype) for operand in operands]
