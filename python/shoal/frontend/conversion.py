# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same elements as another type."""

from __future__ import annotations

import numpy as np

from shoal.enums import comparison
from shoal.frontend import dtypes
from shoal.frontend.constants import as_value, splat
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.value import Value


def convert(value: Value, dtype: np.dtype) -> Value:
    """`astype`, without checks."""
    if value.dtype == dtype:
        return value
    if dtypes.is_bool(dtype):
        return _is_not_zero(value)
    are_floats = dtypes.is_float(value.dtype) and dtypes.is_float(dtype)
    if are_floats and value.dtype.itemsize == dtype.itemsize:
        value = convert(value, dtypes.FLOAT32)  # neither holds the other
    op = _conversion(value.dtype, dtype)
    if op is None:
        return type(value)(value.ir, dtype, value.scope)
    return emit_one(op, [value], value.shape, dtype)


def as_float(operand: ArrayLike) -> Value:
    """Integers and bools as float32."""
    value = as_value(operand)
    return convert(value, dtypes.to_float(value.dtype))


def _is_not_zero(value: Value) -> Value:
    zero = splat(0, value.shape, value.dtype)
    is_float = dtypes.is_float(value.dtype)
    op, attributes = comparison("une" if is_float else "ne", is_float=is_float)
    return emit_one(op, [value, zero], value.shape, dtypes.BOOL, attributes)


def _conversion(source: np.dtype, target: np.dtype) -> str | None:
    """The op, or None where integers differ in their sign alone."""
    has_no_sign = dtypes.is_unsigned(source) or dtypes.is_bool(source)
    grows = target.itemsize > source.itemsize
    if dtypes.is_float(source):
        if dtypes.is_float(target):
            return "arith.extf" if grows else "arith.truncf"
        return "arith.fptoui" if dtypes.is_unsigned(target) else "arith.fptosi"
    if dtypes.is_float(target):
        return "arith.uitofp" if has_no_sign else "arith.sitofp"
    if grows or dtypes.is_bool(source):
        return "arith.extui" if has_no_sign else "arith.extsi"
    return "arith.trunci" if target.itemsize < source.itemsize else None
