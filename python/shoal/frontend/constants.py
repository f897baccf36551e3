# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays and numbers of Python as constants of the program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from shoal.errors import TraceError, TraceTypeError
from shoal.frames import called_with
from shoal.frontend import dtypes
from shoal.frontend.core import ArrayLike, emit_one, is_value, tensor_type
from shoal.frontend.value import Value
from shoal.masks import is_masked


def as_value(operand: ArrayLike, dtype: np.dtype | None = None, what: str = "") -> Value:
    """A value of the program; arrays and numbers become constants.

    what: it is called in errors; by default as the parameter of the function that the user calls with it.
    dtype: the type of a Python number, which has none of its own. Values and
    arrays keep theirs. TraceTypeError for what is neither.
    """
    if is_value(operand):
        return operand
    if is_scalar(operand):
        return splat(operand, (), dtype or dtypes.of_scalar(operand))
    return constant(as_array(operand, what))


def is_scalar(operand: Any) -> TypeGuard[bool | int | float]:
    """A Python number, whose type is that of what it is used with."""
    return isinstance(operand, (bool, int, float))


def as_array(operand: Any, what: str = "") -> np.ndarray:
    """A NumPy array of supported elements; a list's numbers are Python's. what: as of `as_value`."""
    if not isinstance(operand, (np.ndarray, np.generic, list, tuple, bool, int, float)):
        got = type(operand).__name__
        raise _refused(operand, what, f"expected a Value, a NumPy array or a number, got {got}")
    if isinstance(operand, (list, tuple)) and _contains_value(operand):
        raise _refused(operand, what, "a list with Values in it; make one by shoal.stack")
    array = _narrowed(operand) if not isinstance(operand, (np.ndarray, np.generic)) else operand
    if is_masked(operand):
        raise _refused(operand, what, "a masked array; fill it by .filled()")
    return np.asarray(array, dtypes.as_dtype(np.asarray(array).dtype))


def _refused(operand: Any, what: str, why: str) -> TraceTypeError:
    return TraceTypeError(f"{what or called_with(operand) or 'operand'}: {why}")


def _contains_value(operand: Any) -> bool:
    if isinstance(operand, (list, tuple)):
        return any(map(_contains_value, operand))
    return is_value(operand)


def _narrowed(numbers: Any) -> np.ndarray:
    """Python's numbers as int32 or float32, not NumPy's 64 bits."""
    try:
        array = np.asarray(numbers)
    except ValueError as error:
        raise TraceError(f"not an array: {error}") from None
    if array.dtype == dtypes.INT64:
        for number in (array.min(initial=0), array.max(initial=0)):
            dtypes.check_fits(int(number), dtypes.INT32)
        return array.astype(dtypes.INT32)
    return array.astype(dtypes.FLOAT32) if array.dtype == dtypes.FLOAT64 else array


def splat(number: bool | int | float, shape: Sequence[int], dtype: np.dtype) -> Value:
    """A constant of one number everywhere."""
    if isinstance(number, int) and not dtypes.is_float(dtype):
        dtypes.check_fits(int(number), dtype)
    return _constant(np.array(number).astype(dtype), tuple(shape))


def constant(array: np.ndarray) -> Value:
    """A constant of the array's shape and type."""
    # Bits are equal also for NaNs, and differ for zeros of two signs.
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    is_splat = bits.size > 0 and bool((bits == bits[0]).all())
    return _constant(array.reshape(-1)[0] if is_splat else array, array.shape)


def _constant(array: np.ndarray, shape: tuple[int, ...]) -> Value:
    array = np.asarray(array)
    type = tensor_type(shape, array.dtype)
    attributes = {"value": f"dense<{_literal(array)}> : {type}"}
    return emit_one("arith.constant", [], shape, array.dtype, attributes)


def _literal(array: np.ndarray) -> str:
    if dtypes.is_bool(array.dtype):  # MLIR packs the bits of i1 in its binary form
        return json.dumps(array.tolist())
    if array.size == 0:
        return ""
    if array.ndim == 0 and np.isfinite(array):
        return _number(array)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return f'"0x{little.tobytes().hex().upper()}"'


def _number(array: np.ndarray) -> str:
    if dtypes.is_integer(array.dtype):
        return str(int(array))
    mantissa, exponent = f"{float(array)!r}e".split("e")[:2]
    mantissa += "" if "." in mantissa else ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa
