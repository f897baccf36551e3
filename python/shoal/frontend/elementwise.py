# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, element by element. Operands broadcast and their types promote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_operand, broadcast_shapes, dtype_of, join, shape_of
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.functions import floor
from shoal.frontend.logic import greater, less, logical_and, not_equal

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = [
    "abs", "add", "arctan2", "clip", "copysign", "divide", "floor_divide", "fmod", "maximum",
    "minimum", "multiply", "negative", "power", "reciprocal", "remainder", "sign", "square",
    "subtract", "where",
]  # fmt: skip


def _binary(
    name: str,
    a: ArrayLike,
    b: ArrayLike,
    floating: str,
    signed: str,
    unsigned: str | None = None,
    boolean: str | None = None,
) -> Value:
    """One op for each kind of element; without one for bool those are refused."""
    lhs, rhs = join(name, a, b)
    if dtypes.is_bool(lhs.dtype):
        op = boolean
    elif dtypes.is_float(lhs.dtype):
        op = floating
    else:
        op = unsigned if unsigned and dtypes.is_unsigned(lhs.dtype) else signed
    if op is None:
        raise TraceTypeError(f"{name}: the operands are bool; use &, |, ^ or .astype")
    return emit_one(op, [lhs, rhs], lhs.shape, lhs.dtype)


def add(a: ArrayLike, b: ArrayLike) -> Value:
    """a + b; integers wrap; of bools: or."""
    return _binary("add", a, b, "arith.addf", "arith.addi", None, "arith.ori")


def subtract(a: ArrayLike, b: ArrayLike) -> Value:
    """a - b; integers wrap."""
    return _binary("subtract", a, b, "arith.subf", "arith.subi")


def multiply(a: ArrayLike, b: ArrayLike) -> Value:
    """a * b; integers wrap; of bools: and."""
    return _binary("multiply", a, b, "arith.mulf", "arith.muli", None, "arith.andi")


def maximum(a: ArrayLike, b: ArrayLike) -> Value:
    """The larger element; NaN where either is."""
    return _binary("maximum", a, b, "arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori")


def minimum(a: ArrayLike, b: ArrayLike) -> Value:
    """The smaller element; NaN where either is."""
    return _binary("minimum", a, b, "arith.minimumf", "arith.minsi", "arith.minui", "arith.andi")


def fmod(a: ArrayLike, b: ArrayLike) -> Value:
    """The remainder with the sign of a, as in C. Integers by zero: unspecified."""
    return _binary("remainder", a, b, "arith.remf", "arith.remsi", "arith.remui")


def divide(a: ArrayLike, b: ArrayLike) -> Value:
    """a / b; integers are divided as float32."""
    return _of_floats("divide", "arith.divf", a, b)


def floor_divide(a: ArrayLike, b: ArrayLike) -> Value:
    """The quotient rounded down. Integers by zero: unspecified."""
    lhs, rhs = join("floor_divide", a, b)
    if dtypes.is_float(lhs.dtype):
        return floor(divide(lhs, rhs))
    return _binary("floor_divide", lhs, rhs, "", "arith.floordivsi", "arith.divui")


def remainder(a: ArrayLike, b: ArrayLike) -> Value:
    """a - b * floor(a / b), with the sign of b, as Python's %. Integers by zero: unspecified."""
    lhs, rhs = join("remainder", a, b)
    rest = fmod(lhs, rhs)
    if dtypes.is_unsigned(rest.dtype):
        return rest
    has_other_sign = not_equal(less(rest, 0), less(rhs, 0))
    return where(logical_and(not_equal(rest, 0), has_other_sign), add(rest, rhs), rest)


def power(a: ArrayLike, b: ArrayLike) -> Value:
    """a ** b. Python's integers from 0 to 4 multiply.

    An integer to a negative Python integer gives TraceTypeError, to a negative
    element an unspecified result.
    """
    known = b if isinstance(b, int) and not isinstance(b, bool) else None
    if known is not None and 0 <= known <= 4:
        return _product(as_value(a), known)
    lhs, rhs = join("power", a, b)
    if known is not None and known < 0 and not dtypes.is_float(lhs.dtype):
        raise TraceTypeError(f"power: {lhs.dtype} to the power {known} is no integer")
    return _binary("power", lhs, rhs, "math.powf", "math.ipowi")


def _product(base: Value, times: int) -> Value:
    if times == 0:
        return as_operand(1, base.shape, base.dtype)
    half = base if times < 2 else _product(base, times // 2)
    if times == 1:
        return base
    return multiply(multiply(half, half), base) if times % 2 else multiply(half, half)


def arctan2(a: ArrayLike, b: ArrayLike) -> Value:
    """The angle of the point (b, a), between -pi and pi."""
    return _of_floats("arctan2", "math.atan2", a, b)


def copysign(a: ArrayLike, b: ArrayLike) -> Value:
    """The size of a with the sign of b."""
    return _of_floats("copysign", "math.copysign", a, b)


def _of_floats(name: str, op: str, a: ArrayLike, b: ArrayLike) -> Value:
    """Integers are taken as float32."""
    dtype = dtypes.to_float(dtypes.promote(dtype_of(a), dtype_of(b)))
    lhs, rhs = join(name, a, b, dtype=dtype)
    return emit_one(op, [lhs, rhs], lhs.shape, dtype)


def clip(operand: ArrayLike, low: ArrayLike | None = None, high: ArrayLike | None = None) -> Value:
    """min(max(x, low), high); a bound of None is none."""
    value = as_value(operand)
    value = value if low is None else maximum(value, low)
    return value if high is None else minimum(value, high)


def negative(a: ArrayLike) -> Value:
    """-a."""
    value = _number("negative", a)
    if dtypes.is_float(value.dtype):
        return emit_one("arith.negf", [value], value.shape, value.dtype)
    return subtract(0, value)


def abs(a: ArrayLike) -> Value:
    """The size without the sign; the smallest integer stays."""
    value = _number("abs", a)
    if dtypes.is_unsigned(value.dtype):
        return value
    op = "math.absf" if dtypes.is_float(value.dtype) else "math.absi"
    return emit_one(op, [value], value.shape, value.dtype)


def sign(a: ArrayLike) -> Value:
    """-1, 0 or 1; NaN and the zeros of floats stay."""
    value = _number("sign", a)
    result = where(greater(value, 0), as_operand(1, value.shape, value.dtype), value)
    if dtypes.is_unsigned(value.dtype):
        return result
    return where(less(value, 0), as_operand(-1, value.shape, value.dtype), result)


def square(a: ArrayLike) -> Value:
    """a * a."""
    value = as_value(a)
    return multiply(value, value)


def reciprocal(a: ArrayLike) -> Value:
    """1 / a."""
    return divide(1, a)


def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Value:
    """a where the condition (bool) holds, else b; all three broadcast."""
    chosen = as_value(condition)
    if not dtypes.is_bool(chosen.dtype):
        raise TraceTypeError(f"where: expected a condition of bool, got {chosen.dtype}")
    shape = broadcast_shapes([chosen.shape, shape_of(a), shape_of(b)], "where")
    dtype = dtypes.promote(dtype_of(a), dtype_of(b))
    operands = [as_operand(operand, shape, dtype) for operand in (a, b)]
    return emit_one(
        "arith.select", [as_operand(chosen, shape, dtypes.BOOL), *operands], shape, dtype
    )


def _number(name: str, a: ArrayLike) -> Value:
    value = as_value(a)
    if dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"{name}: the operand is bool; use ~ or .astype")
    return value
