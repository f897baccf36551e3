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

# Elements of few bits, by the names that StableHLO has for them. Programs have their codes: the
# element's bits in the low ones of a byte, as arrays have them.
_CODED = {
    "i2": "int2",
    "i4": "int4",
    "ui2": "uint2",
    "ui4": "uint4",
    "f4E2M1FN": "float4_e2m1fn",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
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


def is_code(name: object) -> bool:
    """Whether programs have codes of elements of this type."""
    return isinstance(name, str) and name in _CODED


def dtype_of_code(element: str) -> np.dtype:
    """The NumPy type of the elements that a program's bytes are codes of."""
    return np.dtype(getattr(ml_dtypes, _CODED[element]))


def storage_of(dtype: np.dtype) -> np.dtype:
    """The type of the same bits that executables' files have: their integers have a sign."""
    if dtype.kind == "u":
        return np.dtype(dtype.name[1:])
    # NumPy's files do not know those of ml_dtypes.
    is_own = any(dtype == _DTYPES[element] for element in ("bf16", "f8E4M3FN", "f8E5M2"))
    is_own = is_own or any(dtype == dtype_of_code(element) for element in _CODED)
    return np.dtype(f"V{dtype.itemsize}") if is_own else dtype
