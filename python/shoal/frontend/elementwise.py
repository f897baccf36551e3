# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element by element: types, comparisons, bits, functions, arithmetic.

Operands broadcast and their types promote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.enums import comparison
from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.broadcasting import as_operand, broadcast_shapes, dtype_of, join, shape_of
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import as_float, convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.value import Value

__all__ = [
    "abs", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "astype", "bitcast", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil",
    "clip", "copysign", "cos", "cosh", "divide", "equal", "erf", "erfc", "exp", "exp2", "expm1",
    "floor", "floor_divide", "fmod", "greater", "greater_equal", "isfinite", "isinf", "isnan",
    "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "not_equal", "power", "reciprocal", "remainder", "right_shift", "round", "rsqrt", "sign", "sin",
    "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where",
]  # fmt: skip


def astype(operand: ArrayLike, dtype: Any) -> Value:
    """The elements as another type.

    Floats to integers are cut towards zero; beyond the type's range the result
    is unspecified. To bool: whether the element is not zero.
    """
    return convert(as_value(operand), dtypes.as_dtype(dtype))


def bitcast(operand: ArrayLike, dtype: Any) -> Value:
    """The same bits as elements of another type.

    To a type narrower by r there is a last dimension of size r more, with an
    element's bits from its low end; to a wider one that dimension goes.
    TraceError where it has another size, or where one of the types is bool.
    """
    value, target = as_value(operand), dtypes.as_dtype(dtype)
    check(
        not dtypes.is_bool(value.dtype) and not dtypes.is_bool(target),
        f"bitcast: {value.dtype} to {target}: a bool has no bits to share",
    )
    shape, ratio = value.shape, value.dtype.itemsize / target.itemsize
    if ratio > 1:
        shape = (*shape, int(ratio))
    elif ratio < 1:
        check(
            shape and shape[-1] == 1 / ratio,
            f"bitcast: {value.dtype}{list(shape)} to {target}: expected a last dimension of "
            f"{int(1 / ratio)}",
        )
        shape = shape[:-1]
    if value.ir.type.element == dtypes.element(target):
        return type(value)(value.ir, target, value.scope)
    return emit_one("shoal.bitcast_convert", [value], shape, target)


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


def _of_floats(op: str, meaning: str) -> Callable[[ArrayLike], Value]:
    def function(x: ArrayLike) -> Value:
        value = as_float(x)
        return emit_one(op, [value], value.shape, value.dtype)

    function.__doc__ = f"{meaning}, element by element; integers are taken as float32."
    return function


def _rounding(op: str, meaning: str) -> Callable[[ArrayLike], Value]:
    def function(x: ArrayLike) -> Value:
        value = as_value(x)
        if not dtypes.is_float(value.dtype):
            return value
        return emit_one(op, [value], value.shape, value.dtype)

    function.__doc__ = f"{meaning}; integers stay."
    return function


def _test(op: str, meaning: str) -> Callable[[ArrayLike], Value]:
    def function(x: ArrayLike) -> Value:
        value = as_float(x)
        return emit_one(op, [value], value.shape, dtypes.BOOL)

    function.__doc__ = f"{meaning}, as bool."
    return function


exp = _of_floats("math.exp", "e to the power x")
exp2 = _of_floats("math.exp2", "2 to the power x")
expm1 = _of_floats("math.expm1", "exp(x) - 1")
log = _of_floats("math.log", "The natural logarithm")
log2 = _of_floats("math.log2", "The logarithm to base 2")
log10 = _of_floats("math.log10", "The logarithm to base 10")
log1p = _of_floats("math.log1p", "log(1 + x)")
sqrt = _of_floats("math.sqrt", "The square root")
rsqrt = _of_floats("math.rsqrt", "1 / sqrt(x)")
cbrt = _of_floats("math.cbrt", "The cube root")
sin = _of_floats("math.sin", "The sine")
cos = _of_floats("math.cos", "The cosine")
tan = _of_floats("math.tan", "The tangent")
arcsin = _of_floats("math.asin", "The inverse of the sine")
arccos = _of_floats("math.acos", "The inverse of the cosine")
arctan = _of_floats("math.atan", "The inverse of the tangent")
sinh = _of_floats("math.sinh", "The hyperbolic sine")
cosh = _of_floats("math.cosh", "The hyperbolic cosine")
tanh = _of_floats("math.tanh", "The hyperbolic tangent")
arcsinh = _of_floats("math.asinh", "The inverse of the hyperbolic sine")
arccosh = _of_floats("math.acosh", "The inverse of the hyperbolic cosine")
arctanh = _of_floats("math.atanh", "The inverse of the hyperbolic tangent")
erf = _of_floats("math.erf", "The error function")
erfc = _of_floats("math.erfc", "1 - erf(x)")

floor = _rounding("math.floor", "Rounded down")
ceil = _rounding("math.ceil", "Rounded up")
trunc = _rounding("math.trunc", "Rounded towards zero")
round = _rounding("math.roundeven", "Rounded to the nearest integer, halves to the even one")

isnan = _test("math.isnan", "Whether an element is NaN")
isinf = _test("math.isinf", "Whether an element is infinite")
isfinite = _test("math.isfinite", "Whether an element is neither infinite nor NaN")


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
    return _binary_of_floats("divide", "arith.divf", a, b)


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
    """The angle of the point (b, a), between -pi and pi; of two zeros that of their signs."""
    dtype = dtypes.to_float(dtypes.promote(dtype_of(a), dtype_of(b)))
    y, x = join("arctan2", a, b, dtype=dtype)
    # MLIR folds math.atan2 of what it knows to be zeros to NaN.
    zeros = logical_and(equal(y, 0), equal(x, 0))
    return _binary_of_floats("arctan2", "math.atan2", y, where(zeros, copysign(1, x), x))


def copysign(a: ArrayLike, b: ArrayLike) -> Value:
    """The size of a with the sign of b."""
    return _binary_of_floats("copysign", "math.copysign", a, b)


def _binary_of_floats(name: str, op: str, a: ArrayLike, b: ArrayLike) -> Value:
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


def or_one(divisor: Value) -> Value:
    """The divisor, or 1 where it is 0: of a sum of nothing over how much that is, both of them 0, the quotient and
    its gradient are then 0, and not NaN."""
    return where(equal(divisor, 0), 1.0, divisor)


def _number(name: str, a: ArrayLike) -> Value:
    value = as_value(a)
    if dtypes.is_bool(value.dtype):
        raise TraceTypeError(f"{name}: the operand is bool; use ~ or .astype")
    return value
