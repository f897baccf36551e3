# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: their names in MLIR, and which one two operands share."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from shoal.errors import TraceError, TraceTypeError

bfloat16 = np.dtype(ml_dtypes.bfloat16)
"""The type of floats of 16 bits with the exponent of float32; NumPy takes it as any other."""
float8_e4m3fn = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e5m2 = np.dtype(ml_dtypes.float8_e5m2)

# The floats that NumPy has not.
_OWN_FLOATS = {bfloat16: "bf16", float8_e4m3fn: "f8E4M3FN", float8_e5m2: "f8E5M2"}

_ELEMENTS = {
    np.dtype(name): element
    for name, element in (
        ("bool", "i1"),
        ("int8", "i8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("uint8", "i8"),
        ("uint16", "i16"),
        ("uint32", "i32"),
        ("uint64", "i64"),
        ("float16", "f16"),
        ("float32", "f32"),
        ("float64", "f64"),
    )
} | _OWN_FLOATS

BOOL, INT32, INT64, FLOAT32, FLOAT64 = map(
    np.dtype, ("bool", "int32", "int64", "float32", "float64")
)


def as_dtype(dtype: Any) -> np.dtype:
    """The NumPy type, or a TraceTypeError where Shoal has no such elements."""
    try:
        result = np.dtype(dtype)
    except TypeError:
        raise TraceTypeError(f"{dtype!r} is not a type of elements") from None
    if result not in _ELEMENTS:
        supported = ", ".join(str(known) for known in _ELEMENTS)
        raise TraceTypeError(f"elements of type {result} are not supported; expected {supported}")
    return result.newbyteorder("=")


def element(dtype: np.dtype) -> str:
    """MLIR's name. Its integers have no sign: uint32 and int32 are both i32."""
    return _ELEMENTS[dtype]


def is_bool(dtype: np.dtype) -> bool:
    return dtype == BOOL


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype in _OWN_FLOATS


def is_float8(dtype: np.dtype) -> bool:
    return dtype in (float8_e4m3fn, float8_e5m2)


def is_unsigned(dtype: np.dtype) -> bool:
    return dtype.kind == "u"


def is_integer(dtype: np.dtype) -> bool:
    """Signed or unsigned, not bool."""
    return dtype.kind in "iu"


def of_scalar(number: bool | int | float) -> np.dtype:
    """What a Python scalar is where no operand says otherwise: as in JAX."""
    if isinstance(number, bool):
        return BOOL
    return INT32 if isinstance(number, int) else FLOAT32


def to_float(dtype: np.dtype) -> np.dtype:
    """The type in which `/`, `mean`, `exp` and so on compute."""
    return dtype if is_float(dtype) else FLOAT32


def of_sums(dtype: np.dtype) -> np.dtype:
    """The type in which long sums of such elements are made: float32 of floats of fewer bits.

    A running sum in bfloat16 stops growing at 256 times what is added to it, in float16 at 2,048 times.
    """
    return FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype


def promote(*operands: np.dtype | bool | int | float) -> np.dtype:
    """The type that operands of an arithmetic operation are converted to.

    As in JAX: bool, then integers, then floats; the wider of two of a kind; a
    signed and an unsigned integer give the signed one that holds both; bfloat16
    and float16 give float32; floats of 8 bits go with no other float. A Python
    scalar (np.float64 is one, np.float32 is not) takes the type of the others,
    unless it is of a higher kind: int32[4] + 1.5 is float32[4]. TraceTypeError where no type holds both (uint64, int64;
    float8_e5m2, float32).
    """
    strong = [operand for operand in operands if isinstance(operand, np.dtype)]
    scalars = [of_scalar(number) for number in operands if not isinstance(number, np.dtype)]
    if not strong:
        return functools.reduce(_promote_two, scalars)
    result = functools.reduce(_promote_two, strong)
    highest = max(map(_rank, scalars), default=0)
    if highest <= _rank(result):
        return result
    return FLOAT32 if highest == 2 else INT32


def _rank(dtype: np.dtype) -> int:
    return 0 if is_bool(dtype) else 1 if is_integer(dtype) else 2


def _promote_two(a: np.dtype, b: np.dtype) -> np.dtype:
    if a == b:
        return a
    if _rank(a) != _rank(b):
        return a if _rank(a) > _rank(b) else b
    if is_float8(a) or is_float8(b):
        raise TraceTypeError(f"{a} and {b} have no common type; convert one of them with .astype")
    if a.kind == b.kind or is_float(a):
        if a.itemsize == b.itemsize:  # bfloat16 and float16
            return FLOAT32
        return a if a.itemsize > b.itemsize else b
    return _signed_over(*((a, b) if is_unsigned(a) else (b, a)))


def _signed_over(unsigned: np.dtype, signed: np.dtype) -> np.dtype:
    size = max(2 * unsigned.itemsize, signed.itemsize)
    if size > 8:
        raise TraceTypeError(
            f"{unsigned} and {signed} have no common type; convert one of them with .astype"
        )
    return np.dtype(f"int{8 * size}")


def check_fits(number: int, dtype: np.dtype) -> None:
    """TraceError for an integer that the integer type cannot hold."""
    if is_bool(dtype):
        low, high = 0, 1
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not low <= number <= high:
        raise TraceError(f"{number} does not fit in {dtype}, which is {low} ... {high}")


def lowest(dtype: np.dtype) -> Any:
    """The identity of max: -inf, or the smallest number of types that have none."""
    if dtype == float8_e4m3fn:
        return ml_dtypes.finfo(dtype).min
    if is_float(dtype):
        return dtype.type(-np.inf)
    return dtype.type(False) if is_bool(dtype) else dtype.type(np.iinfo(dtype).min)


def highest(dtype: np.dtype) -> Any:
    """The identity of min: inf, or the largest number of types that have none."""
    if dtype == float8_e4m3fn:
        return ml_dtypes.finfo(dtype).max
    if is_float(dtype):
        return dtype.type(np.inf)
    return dtype.type(True) if is_bool(dtype) else dtype.type(np.iinfo(dtype).max)
