# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of two and more operands. The result's type is the program's; operands are converted to it.

`add(i64, 1.5)` is float32 and `mul(bf16, f32 of rank 0)` is bfloat16: torch's promotion is not done
again here, it has been done in the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.frontend import dtypes, elementwise
from shoal.frontend.broadcasting import join
from shoal.frontend.core import emit_one
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import Op, of_two
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("aten.add.Tensor", "aten.add.Scalar")
def add(op: Op, self: Any, other: Any, alpha: Any = 1) -> Value:
    a, b = op.cast(self, other)
    return elementwise.add(a, _times(op, b, alpha))


@imports("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor")
def sub(op: Op, self: Any, other: Any, alpha: Any = 1) -> Value:
    a, b = op.cast(self, other)
    return elementwise.subtract(a, _times(op, b, alpha))


@imports("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(op: Op, self: Any, other: Any, alpha: Any = 1) -> Value:
    a, b = op.cast(self, other)
    return elementwise.subtract(b, _times(op, a, alpha))


def _times(op: Op, value: Any, factor: Any) -> Any:
    if factor == 1:
        return value
    return elementwise.multiply(op.value(value), factor)


@imports("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor")
def mul(op: Op, self: Any, other: Any) -> Value:
    return elementwise.multiply(*op.cast(self, other))


@imports("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def div(op: Op, self: Any, other: Any) -> Value:
    return elementwise.divide(*op.cast(self, other))


@imports("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(op: Op, self: Any, other: Any, rounding_mode: str | None = None) -> Value:
    a, b = op.cast(self, other)
    if rounding_mode is None:
        return elementwise.divide(a, b)
    if rounding_mode == "floor":
        return elementwise.floor_divide(a, b)
    if rounding_mode != "trunc":
        raise Unsupported(f"rounding_mode={rounding_mode!r}; expected None, 'floor' or 'trunc'")
    if dtypes.is_float(op.dtype):
        return elementwise.trunc(elementwise.divide(a, b))
    lhs, rhs = join("div", a, b)
    name = "arith.divui" if dtypes.is_unsigned(op.dtype) else "arith.divsi"
    return emit_one(name, [lhs, rhs], lhs.shape, lhs.dtype)


@imports("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(op: Op, self: Any, other: Any) -> Value:
    return elementwise.floor_divide(*op.cast(self, other))


@imports("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(op: Op, self: Any, other: Any) -> Value:
    return elementwise.remainder(*op.cast(self, other))


@imports("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(op: Op, self: Any, other: Any) -> Value:
    return elementwise.fmod(*op.cast(self, other))


@imports("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def power(op: Op, self: Any, exponent: Any) -> Value:
    base, power = op.cast(self, exponent)
    if not isinstance(power, Value) and float(power).is_integer() and 0 <= power <= 4:
        power = int(power)
    if dtypes.is_float(op.dtype) and not isinstance(power, Value):
        if power in (0.5, -0.5):
            return elementwise.sqrt(base) if power > 0 else elementwise.rsqrt(base)
        if power == -1:
            return elementwise.reciprocal(base)
    return elementwise.power(base, power)


@imports("aten.square.default")
def square(op: Op, self: Value) -> Value:
    return elementwise.square(*op.cast(self))


for _name, _function in {
    "aten.maximum.default": elementwise.maximum,
    "aten.minimum.default": elementwise.minimum,
    "aten.max.other": elementwise.maximum,
    "aten.min.other": elementwise.minimum,
    "aten.atan2.default": elementwise.arctan2,
    "aten.copysign.Tensor": elementwise.copysign,
    "aten.copysign.Scalar": elementwise.copysign,
}.items():
    imports(_name)(of_two(_function))


@imports("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other")
def xlogy(op: Op, self: Any, other: Any) -> Value:
    """x * log(y), and 0 where x is: times the logarithm of 0, and times a slope of it, that is NaN."""
    x, y = (op.value(each) for each in op.cast(self, other))
    is_nothing = elementwise.logical_and(elementwise.equal(x, 0), elementwise.less_equal(y, 0))
    return elementwise.multiply(x, elementwise.log(elementwise.where(is_nothing, 1, y)))


@imports("aten.clamp.default", "aten.clamp.Tensor")
def clamp(op: Op, self: Value, min: Any = None, max: Any = None) -> Value:
    value, low, high = op.cast(self, min, max)
    return _not_above(_not_below(value, low), high)


@imports("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(op: Op, self: Value, min: Any) -> Value:
    return _not_below(*op.cast(self, min))


@imports("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(op: Op, self: Value, max: Any) -> Value:
    return _not_above(*op.cast(self, max))


def _not_below(value: Value, low: Any) -> Value:
    return _bounded(value, low, elementwise.maximum, kinks.at_least)


def _not_above(value: Value, high: Any) -> Value:
    return _bounded(value, high, elementwise.minimum, kinks.at_most)


def _bounded(value: Value, bound: Any, of_tensor: Callable[..., Value], of_number: Callable[..., Value]) -> Value:
    """At a bound that is a tensor the gradient is halved, as of an extremum; at a number it is 0."""
    if bound is None:
        return value
    has_slope_0 = dtypes.is_float(value.dtype) and not isinstance(bound, Value)
    return (of_number if has_slope_0 else of_tensor)(value, bound)


@imports("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(op: Op, self: Value, end: Value, weight: Any) -> Value:
    start, stop, part = op.cast(self, end, weight)
    return elementwise.add(start, elementwise.multiply(elementwise.subtract(stop, start), part))


@imports("aten.addcmul.default")
def addcmul(op: Op, self: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> Value:
    added, a, b = op.cast(self, tensor1, tensor2)
    return elementwise.add(added, _times(op, elementwise.multiply(a, b), value))


@imports("aten.addcdiv.default")
def addcdiv(op: Op, self: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> Value:
    added, a, b = op.cast(self, tensor1, tensor2)
    return elementwise.add(added, _times(op, elementwise.divide(a, b), value))
