# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one operand, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shoal.frontend import dtypes
from shoal.frontend.conversion import as_float
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, emit_one

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = [
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh",
    "erf", "erfc", "exp", "exp2", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10",
    "log1p", "log2", "round", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip


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
