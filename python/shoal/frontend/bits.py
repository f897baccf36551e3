# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unsigned integers in ops that compare signed ones: with the highest bit flipped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_operand
from shoal.frontend.conversion import convert
from shoal.frontend.elementwise import bitwise_xor
from shoal.frontend.value import Value


def to_signed_order(value: Value) -> Value:
    """Unsigned integers as signed ones of the same order; others as they are."""
    if not dtypes.is_unsigned(value.dtype):
        return value
    signed = np.dtype(f"int{8 * value.dtype.itemsize}")
    return _flip(convert(value, signed))


def from_signed_order(value: Value, dtype: np.dtype) -> Value:
    """The inverse: `dtype` is what `to_signed_order` had."""
    return convert(_flip(value), dtype) if dtypes.is_unsigned(dtype) else value


def in_signed_order(value: Value, compute: Callable[[Value], Value]) -> Value:
    """What `compute` selects of the elements, where signed order is all that matters."""
    return from_signed_order(compute(to_signed_order(value)), value.dtype)


def _flip(value: Value) -> Value:
    lowest = int(np.iinfo(value.dtype).min)
    return bitwise_xor(value, as_operand(lowest, value.shape, value.dtype))
