# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's types of a program's element types."""

from __future__ import annotations

import ml_dtypes
import numpy as np

_DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
}


def is_element(name: object) -> bool:
    """Whether programs have elements of this type, as MLIR calls it."""
    return isinstance(name, str) and name in _DTYPES


def dtype_of(element: str, unsigned: bool, *, is_complex: bool = False) -> np.dtype:
    """The NumPy type of MLIR's element type; an integer's bits may be an unsigned one's.

    is_complex: that of two such elements.
    """
    dtype = _DTYPES[element]
    if is_complex:
        return np.result_type(dtype, np.complex64)
    return np.dtype(f"u{dtype.name}") if unsigned and dtype.kind == "i" else dtype


def storage_of(dtype: np.dtype) -> np.dtype:
    """The type of the same bits that executables' files have: their integers have a sign."""
    if dtype.kind == "u":
        return np.dtype(dtype.name[1:])
    # NumPy's files do not know those of ml_dtypes.
    is_own = any(dtype == _DTYPES[element] for element in ("bf16", "f8E4M3FN", "f8E5M2"))
    return np.dtype(f"V{dtype.itemsize}") if is_own else dtype
