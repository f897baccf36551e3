# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations: as torch defines them, by the ops that there are for them where there are."""

from __future__ import annotations

from typing import Any

from shoal.frontend import elementwise, nn, structure
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("aten.relu.default")
def relu(op: Op, self: Value) -> Value:
    return nn.relu(self)


@imports("aten.gelu.default")
def gelu(op: Op, self: Value, approximate: str = "none") -> Value:
    if approximate not in ("none", "tanh"):
        raise Unsupported(f"approximate={approximate!r}; expected 'none' or 'tanh'")
    return nn.gelu(self, approximate=approximate == "tanh")


@imports("aten.silu.default")
def silu(op: Op, self: Value) -> Value:
    return nn.silu(self)


@imports("aten.sigmoid.default")
def sigmoid(op: Op, self: Value) -> Value:
    return nn.sigmoid(*op.cast(self))


@imports("aten.log_sigmoid.default", "aten.log_sigmoid_forward.default")
def log_sigmoid(op: Op, self: Value) -> tuple[Value, Value]:
    # The second result of the latter is a buffer of its gradient's, which nothing but that reads.
    result = elementwise.negative(nn.softplus(elementwise.negative(self)))
    return result, result


@imports("aten.softplus.default")
def softplus(op: Op, self: Value, beta: Any = 1, threshold: Any = 20) -> Value:
    scaled = elementwise.multiply(self, beta)
    smooth = elementwise.divide(nn.softplus(scaled), beta)
    return elementwise.where(elementwise.greater(scaled, threshold), self, smooth)


@imports("aten.elu.default")
def elu(op: Op, self: Value, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Value:
    # Of positive elements the exponent is 0: what is not chosen must not be infinite, nor its gradient.
    exponent = elementwise.multiply(elementwise.where(elementwise.greater(self, 0), 0, self), input_scale)
    below = elementwise.multiply(elementwise.expm1(exponent), alpha)
    return elementwise.multiply(elementwise.where(elementwise.greater(self, 0), self, below), scale)


@imports("aten.selu.default")
def selu(op: Op, self: Value) -> Value:
    return elu(op, self, 1.6732632423543772, 1.0507009873554805)


@imports("aten.celu.default")
def celu(op: Op, self: Value, alpha: Any = 1) -> Value:
    return elu(op, self, alpha, 1, 1 / alpha)


@imports("aten.leaky_relu.default")
def leaky_relu(op: Op, self: Value, negative_slope: Any = 0.01) -> Value:
    below = elementwise.multiply(self, negative_slope)
    return elementwise.where(elementwise.greater(self, 0), self, below)


@imports("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(op: Op, self: Value, weight: Value) -> Value:
    if weight.size == 1:
        weight = weight.reshape(())
    elif weight.ndim == 1 and self.ndim > 1:
        weight = weight.reshape([-1, *[1] * (self.ndim - 2)])
    return elementwise.where(elementwise.greater(self, 0), self, elementwise.multiply(self, weight))


@imports("aten.hardtanh.default")
def hardtanh(op: Op, self: Value, min_val: Any = -1, max_val: Any = 1) -> Value:
    return kinks.within(self, op.value(min_val), op.value(max_val))


@imports("aten.relu6.default")
def relu6(op: Op, self: Value) -> Value:
    return kinks.within(self, 0, 6)


@imports("aten.hardsigmoid.default")
def hardsigmoid(op: Op, self: Value) -> Value:
    return elementwise.divide(kinks.within(elementwise.add(self, 3), 0, 6), 6)


@imports("aten.hardswish.default")
def hardswish(op: Op, self: Value) -> Value:
    return elementwise.multiply(self, hardsigmoid(op, self))


@imports("aten.mish.default")
def mish(op: Op, self: Value) -> Value:
    return elementwise.multiply(self, elementwise.tanh(nn.softplus(self)))


@imports("aten.threshold.default")
def threshold(op: Op, self: Value, threshold: Any, value: Any) -> Value:
    return elementwise.where(elementwise.greater(self, threshold), self, op.value(value))


@imports("aten.glu.default")
def glu(op: Op, self: Value, dim: int = -1) -> Value:
    axis, half = dim % self.ndim, self.shape[dim] // 2
    whole = [slice(None)] * axis
    first, second = self[(*whole, slice(half))], self[(*whole, slice(half, None))]
    return elementwise.multiply(first, nn.sigmoid(second))


@imports("aten.softmax.int", "aten._softmax.default", "aten._safe_softmax.default")
def softmax(op: Op, self: Value, dim: int, dtype: Any = None, half_to_float: bool = False) -> Value:
    value = op.value(self)
    if not value.ndim:
        return elementwise.add(elementwise.multiply(value, 0), 1)
    result = nn.softmax(value, dim)
    if not op.node.target.startswith("aten._safe"):
        return result
    # A line of nothing but -inf gives 0, not NaN.
    is_empty = elementwise.equal(value, float("-inf")).all(dim, keepdims=True)
    return elementwise.where(is_empty, 0.0, result)


@imports("aten.log_softmax.int", "aten._log_softmax.default")
def log_softmax(op: Op, self: Value, dim: int, dtype: Any = None, half_to_float: bool = False) -> Value:
    value = op.value(self)
    if not value.ndim:
        return elementwise.multiply(value, 0)
    wide = elementwise.astype(value, "float32") if value.dtype.itemsize < 4 else value
    return op.value(nn.log_softmax(wide, dim))


@imports("aten.logsumexp.default")
def logsumexp(op: Op, self: Value, dim: list[int], keepdim: bool = False) -> Value:
    (value,) = op.cast(self)
    if not value.ndim:
        return value
    # None are all of them; several become one, behind the others.
    axes = sorted(axis % value.ndim for axis in dim) or list(range(value.ndim))
    others = [axis for axis in range(value.ndim) if axis not in axes]
    lines = structure.transpose(value, [*others, *axes]).reshape([*(value.shape[axis] for axis in others), -1])
    return nn.logsumexp(lines, -1).reshape(op.shape)
