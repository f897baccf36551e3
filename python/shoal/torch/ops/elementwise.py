# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element by element, of one operand; comparisons, logic, choices, types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from shoal.frontend import dtypes, elementwise
from shoal.frontend.broadcasting import broadcast_to
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import Op, of_two
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports
from shoal.torch.types import result_type


def _one(function: Callable[[Any], Value]) -> Callable[..., Value]:
    def importer(op: Op, self: Value) -> Value:
        return function(*op.cast(self))

    return importer


# In the result's type, which is float32 of integers.
for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "erf", "erfc", "floor", "ceil", "trunc", "sign", "reciprocal",
):  # fmt: skip
    imports(f"aten.{_name}.default")(_one(getattr(elementwise, _name)))
for _name, _function in {
    "abs": lambda x: kinks.absolute(x) if dtypes.is_float(x.dtype) else elementwise.abs(x),
    "neg": elementwise.negative,
    "negative": elementwise.negative,
    "sgn": elementwise.sign,
    "round": elementwise.round,
    "asin": elementwise.arcsin,
    "acos": elementwise.arccos,
    "atan": elementwise.arctan,
    "asinh": elementwise.arcsinh,
    "acosh": elementwise.arccosh,
    "atanh": elementwise.arctanh,
}.items():
    imports(f"aten.{_name}.default")(_one(_function))


@imports("aten.sinc.default")
def sinc(op: Op, self: Value) -> Value:
    angle = elementwise.multiply(*op.cast(self, math.pi))
    quotient = elementwise.divide(elementwise.sin(angle), elementwise.or_one(angle))
    return elementwise.where(elementwise.equal(angle, 0), 1, quotient)


def _test(function: Callable[[Any], Value]) -> Callable[..., Value]:
    def importer(op: Op, self: Value) -> Value:
        return function(self)

    return importer


for _name in ("isnan", "isinf", "isfinite", "logical_not"):
    imports(f"aten.{_name}.default")(_test(getattr(elementwise, _name)))


@imports("aten.nan_to_num.default")
def nan_to_num(op: Op, self: Value, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Value:
    if not dtypes.is_float(self.dtype):
        return self
    highest = float(ml_dtypes.finfo(self.dtype).max)
    result = elementwise.where(elementwise.isnan(self), nan or 0.0, self)
    above = elementwise.equal(self, math.inf)
    below = elementwise.equal(self, -math.inf)
    result = elementwise.where(above, highest if posinf is None else posinf, result)
    return elementwise.where(below, -highest if neginf is None else neginf, result)


def _comparison(function: Callable[[Any, Any], Value]) -> Callable[..., Value]:
    def importer(op: Op, self: Any, other: Any) -> Value:
        return function(*op.cast(self, other, dtype=result_type(self, other)))

    return importer


for _name, _function in {
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
    "lt": elementwise.less,
    "le": elementwise.less_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
}.items():
    imports(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_comparison(_function))


for _name, _function in {
    "bitwise_and": elementwise.bitwise_and,
    "bitwise_or": elementwise.bitwise_or,
    "bitwise_xor": elementwise.bitwise_xor,
    "__and__": elementwise.bitwise_and,
    "__or__": elementwise.bitwise_or,
    "__xor__": elementwise.bitwise_xor,
}.items():
    imports(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(of_two(_function))


@imports("aten.bitwise_left_shift.Tensor", "aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar")
def left_shift(op: Op, self: Value, other: Any) -> Value:
    return elementwise.left_shift(*op.cast(self, other))


@imports("aten.bitwise_right_shift.Tensor", "aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar")
def right_shift(op: Op, self: Value, other: Any) -> Value:
    return elementwise.right_shift(*op.cast(self, other))


@imports("aten.bitwise_not.default")
def bitwise_not(op: Op, self: Value) -> Value:
    return elementwise.bitwise_not(self)


@imports("aten.logical_and.default")
def logical_and(op: Op, self: Value, other: Value) -> Value:
    return elementwise.logical_and(self, other)


@imports("aten.logical_or.default")
def logical_or(op: Op, self: Value, other: Value) -> Value:
    return elementwise.logical_or(self, other)


@imports("aten.logical_xor.default")
def logical_xor(op: Op, self: Value, other: Value) -> Value:
    return elementwise.logical_xor(self, other)


@imports("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(op: Op, condition: Value, self: Any, other: Any) -> Value:
    a, b = (op.value(x) for x in (self, other))
    return elementwise.where(elementwise.astype(condition, bool), a, b)


@imports("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(op: Op, self: Value, mask: Value, value: Any) -> Value:
    return elementwise.where(mask, op.value(value), self)


# Types


@imports("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device")
def to(op: Op, self: Value, dtype: Any = None) -> Value:
    return elementwise.astype(self, op.dtype)


@imports("aten.type_as.default")
def type_as(op: Op, self: Value, other: Value) -> Value:
    return elementwise.astype(self, op.dtype)


@imports("aten.view.dtype")
def view_dtype(op: Op, self: Value, dtype: np.dtype) -> Value:
    if self.dtype.itemsize != dtype.itemsize:
        raise Unsupported(f"bits of {self.dtype} as {dtype}, of another size")
    return elementwise.bitcast(self, dtype)


@imports("aten.round.decimals")
def round_decimals(op: Op, self: Value, decimals: int = 0) -> Value:
    if decimals:
        raise Unsupported(f"decimals={decimals}; multiply, round and divide instead")
    return elementwise.round(self)


# Values have no storage: who copies or shares one has the value itself.
@imports(
    "aten.clone.default", "aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default", "aten.positive.default",
    halves=True,
)  # fmt: skip
def same(op: Op, self: Value) -> Value:
    return self


@imports("aten.copy.default")
def copy(op: Op, self: Value, src: Value) -> Value:
    return broadcast_to(elementwise.astype(src, op.dtype), op.shape)
