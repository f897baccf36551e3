# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons, truth values and bits, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shoal.enums import comparison
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_operand, join
from shoal.frontend.conversion import convert
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = [
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "equal", "greater", "greater_equal",
    "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "not_equal", "right_shift",
]  # fmt: skip


def _predicate(name: str, dtype: np.dtype) -> str:
    """Arith's word. Ordered ones are false for NaN; "not equal" is the unordered one."""
    if dtypes.is_float(dtype):
        return "une" if name == "ne" else f"o{name}"
    if name in ("eq", "ne"):
        return name
    return f"{'s' if dtype.kind == 'i' else 'u'}{name}"


def _comparison(predicate: str, meaning: str) -> Callable[[ArrayLike, ArrayLike], Value]:
    def function(a: ArrayLike, b: ArrayLike) -> Value:
        lhs, rhs = join(meaning, a, b)
        is_float = dtypes.is_float(lhs.dtype)
        op, attributes = comparison(_predicate(predicate, lhs.dtype), is_float=is_float)
        return emit_one(op, [lhs, rhs], lhs.shape, dtypes.BOOL, attributes)

    function.__doc__ = f"a {meaning} b, as bool; false where either is NaN, but for !=."
    return function


equal = _comparison("eq", "==")
not_equal = _comparison("ne", "!=")
less = _comparison("lt", "<")
less_equal = _comparison("le", "<=")
greater = _comparison("gt", ">")
greater_equal = _comparison("ge", ">=")


def _bitwise(op: str, meaning: str) -> Callable[[ArrayLike, ArrayLike], Value]:
    def function(a: ArrayLike, b: ArrayLike) -> Value:
        lhs, rhs = join(meaning, a, b)
        _check_bits(meaning, lhs)
        return emit_one(op, [lhs, rhs], lhs.shape, lhs.dtype)

    function.__doc__ = f"a {meaning} b of bools or of the bits of integers."
    return function


bitwise_and = _bitwise("arith.andi", "&")
bitwise_or = _bitwise("arith.ori", "|")
bitwise_xor = _bitwise("arith.xori", "^")


def bitwise_not(a: ArrayLike) -> Value:
    """~a: not of bools, all bits of integers flipped."""
    value = as_value(a)
    _check_bits("~", value)
    ones = as_operand(True, value.shape, value.dtype)
    if not dtypes.is_bool(value.dtype):
        ones = bitwise_ones(value)
    return emit_one("arith.xori", [value, ones], value.shape, value.dtype)


def bitwise_ones(like: Value) -> Value:
    """All bits set."""
    highest = 2 ** (8 * like.dtype.itemsize) - 1 if dtypes.is_unsigned(like.dtype) else -1
    return as_operand(highest, like.shape, like.dtype)


def left_shift(a: ArrayLike, b: ArrayLike) -> Value:
    """a << b; unspecified for b from the number of bits on."""
    return _shift("<<", "arith.shli", "arith.shli", a, b)


def right_shift(a: ArrayLike, b: ArrayLike) -> Value:
    """a >> b, keeping the sign of signed integers; unspecified as for <<."""
    return _shift(">>", "arith.shrsi", "arith.shrui", a, b)


def _shift(meaning: str, signed: str, unsigned: str, a: ArrayLike, b: ArrayLike) -> Value:
    lhs, rhs = join(meaning, a, b)
    _check_bits(meaning, lhs)
    if dtypes.is_bool(lhs.dtype):
        raise TraceTypeError(f"{meaning}: the operands are bool; use .astype")
    op = unsigned if dtypes.is_unsigned(lhs.dtype) else signed
    return emit_one(op, [lhs, rhs], lhs.shape, lhs.dtype)


def _check_bits(meaning: str, value: Value) -> None:
    if dtypes.is_float(value.dtype):
        raise TraceTypeError(f"{meaning}: expected bools or integers, got {value.dtype}")


def _truth(a: ArrayLike) -> Value:
    return convert(as_value(a), dtypes.BOOL)


def logical_and(a: ArrayLike, b: ArrayLike) -> Value:
    """Whether both are not zero."""
    return bitwise_and(_truth(a), _truth(b))


def logical_or(a: ArrayLike, b: ArrayLike) -> Value:
    """Whether one is not zero."""
    return bitwise_or(_truth(a), _truth(b))


def logical_xor(a: ArrayLike, b: ArrayLike) -> Value:
    """Whether exactly one is not zero."""
    return bitwise_xor(_truth(a), _truth(b))


def logical_not(a: ArrayLike) -> Value:
    """Whether it is zero."""
    return bitwise_not(_truth(a))
