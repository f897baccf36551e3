# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types, as safetensors files call them."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from shoal.errors import InputError

_STORED = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "C64": np.dtype(np.complex64),
}
_NAMES = {dtype: name for name, dtype in _STORED.items()}
_COMPLEX128 = np.dtype(np.complex128)
_DTYPES = {str(dtype): dtype for dtype in (*_NAMES, _COMPLEX128)}


def stored_dtype(name: str) -> np.dtype | None:
    """Of a name in a safetensors file; None where Shoal has no such elements."""
    return _STORED.get(name)


def stored_name(dtype: np.dtype) -> str | None:
    """The name in a safetensors file; None where the format has no such elements."""
    return _NAMES.get(dtype)


def dtype_named(name: str) -> np.dtype:
    """Of a name in a manifest; KeyError."""
    return _DTYPES[name]


def check_dtype(dtype: np.dtype, array: str) -> np.dtype:
    """InputError where a checkpoint has no such elements."""
    if dtype not in _DTYPES.values():
        raise InputError(f"{array}: elements of type {dtype} cannot be saved")
    return dtype


def stored_as(dtype: np.dtype, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """The name and the shape in a safetensors file, which has no complex128: two floats, as
    one dimension more."""
    if dtype == _COMPLEX128:
        return "F64", (*shape, 2)
    return _NAMES[dtype], shape
