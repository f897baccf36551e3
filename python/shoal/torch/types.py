# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of elements: torch's names for them, and which one operands share where no result says it."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.frontend import dtypes
from shoal.frontend.value import Value
from shoal.torch.refusals import Unsupported

_NAMES = {
    "bool": dtypes.BOOL,
    "uint8": np.dtype("uint8"),
    "uint16": np.dtype("uint16"),
    "uint32": np.dtype("uint32"),
    "uint64": np.dtype("uint64"),
    "int8": np.dtype("int8"),
    "int16": np.dtype("int16"),
    "int32": dtypes.INT32,
    "int64": dtypes.INT64,
    "float16": np.dtype("float16"),
    "float32": dtypes.FLOAT32,
    "float64": dtypes.FLOAT64,
    "bfloat16": dtypes.bfloat16,
    "float8_e4m3fn": dtypes.float8_e4m3fn,
    "float8_e5m2": dtypes.float8_e5m2,
    "complex64": np.dtype("complex64"),
    "complex128": np.dtype("complex128"),
}


def dtype_of_name(name: str) -> np.dtype:
    """That of torch's name, "torch.bfloat16" or "bfloat16"; Unsupported of others."""
    dtype = _NAMES.get(name.removeprefix("torch."))
    if dtype is None:
        raise Unsupported(f"elements of {name}; expected {', '.join(_NAMES)}")
    return dtype


def name_of(dtype: np.dtype) -> str:
    """Torch's name, without "torch."."""
    return next(name for name, known in _NAMES.items() if known == dtype)


def result_type(*operands: Any) -> np.dtype:
    """Torch's `result_type` of values and numbers, which comparisons compute in.

    A tensor of rank 0 counts as a number does, but has a type of its own: it decides only where its
    kind (bool, integer, float) is above that of all tensors of a rank.
    """
    ranked = [x.dtype for x in operands if isinstance(x, Value) and x.ndim]
    scalars = [x.dtype for x in operands if isinstance(x, Value) and not x.ndim]
    numbers = [x for x in operands if not isinstance(x, Value)]
    best = dtypes.promote(*ranked) if ranked else None
    for group in (scalars, numbers):
        if group:
            other = dtypes.promote(*group)
            best = other if best is None or _kind(other) > _kind(best) else best
    assert best is not None
    return best


def _kind(dtype: np.dtype) -> int:
    return 0 if dtypes.is_bool(dtype) else 1 if dtypes.is_integer(dtype) else 2
