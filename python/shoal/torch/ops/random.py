# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: by the program's seed and the op's number, the same on any mesh, others than torch's.

Torch's generators are consumed in sequence: their numbers cannot be had on many devices at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.frontend import dtypes, elementwise, ordering, random
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports, refuses


def dropped(op: Op, value: Value, p: float) -> Value:
    """Elements are 0 with probability p, and else divided by 1 - p."""
    return _dropped(op, value, p)[0]


def _dropped(op: Op, value: Value, p: float) -> tuple[Value, Value]:
    kept = random.bernoulli(op.key(), 1 - p, value.shape)
    scaled = elementwise.multiply(value, 1 / (1 - p) if p < 1 else 0.0)
    return elementwise.where(kept, scaled, 0.0), kept


@imports("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default")
def dropout(op: Op, input: Value, p: float, train: bool) -> Value:
    if not train or p == 0:
        return input
    if op.node.target != "aten.dropout.default":
        raise Unsupported("in training; write torch.nn.functional.dropout")
    return dropped(op, input, p)


@imports("aten.native_dropout.default")
def native_dropout(op: Op, input: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    if train is False or p == 0:
        return input, op.value(True, input.shape, dtypes.BOOL)
    return _dropped(op, input, p)


@imports("aten.rand.default", "aten.rand_like.default")
def rand(op: Op, size: Any = None, self: Any = None, dtype: Any = None) -> Value:
    return random.uniform(op.key(), op.shape, op.dtype)


@imports("aten.randn.default", "aten.randn_like.default")
def randn(op: Op, size: Any = None, self: Any = None, dtype: Any = None) -> Value:
    return random.normal(op.key(), op.shape, op.dtype)


@imports("aten.randint.default", "aten.randint.low", "aten.randint_like.default", "aten.randint_like.low_dtype")
def randint(op: Op, high: int, low: int = 0, size: Any = None, self: Any = None, dtype: Any = None) -> Value:
    drawn = random.randint(op.key(), op.shape, low, high, dtypes.INT64)
    return op.value(drawn)


@imports("aten.randperm.default")
def randperm(op: Op, n: int, dtype: Any = None) -> Value:
    return op.value(ordering.argsort(random.uniform(op.key(), (n,))))


@imports("aten.bernoulli.default", "aten.bernoulli.p")
def bernoulli(op: Op, self: Value, p: float | None = None) -> Value:
    return op.value(random.bernoulli(op.key(), self if p is None else p, op.shape))


@imports("aten.normal_functional.default")
def normal(op: Op, self: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    return elementwise.add(elementwise.multiply(random.normal(op.key(), op.shape, op.dtype), std), mean)


@imports("aten.normal.Tensor_Tensor", "aten.normal.Tensor_float", "aten.normal.float_Tensor")
def normal_of(op: Op, mean: Any, std: Any = 1.0) -> Value:
    noise = random.normal(op.key(), op.shape, op.dtype)
    return elementwise.add(elementwise.multiply(noise, op.value(std)), op.value(mean))


@imports("aten.uniform.default")
def uniform(op: Op, self: Value, to: float = 1.0, **given: Any) -> Value:
    low = given.get("from", 0.0)  # a word of Python's
    return elementwise.add(elementwise.multiply(random.uniform(op.key(), op.shape, op.dtype), to - low), low)


@imports("aten.exponential.default")
def exponential(op: Op, self: Value, lambd: float = 1.0) -> Value:
    """Never 0, as torch's: its logarithm is Gumbel's noise."""
    drawn = random.uniform(op.key(), op.shape, dtypes.FLOAT64 if op.dtype == dtypes.FLOAT64 else dtypes.FLOAT32)
    tiny = float(np.finfo(drawn.dtype).tiny)
    return op.value(elementwise.maximum(elementwise.multiply(elementwise.log1p(elementwise.negative(drawn)), -1 / lambd), tiny))


@imports("aten.multinomial.default")
def multinomial(op: Op, self: Value, num_samples: int, replacement: bool = False) -> Value:
    """The places of the largest logarithms with Gumbel noise are a sample without replacement."""
    if replacement and num_samples != 1:
        raise Unsupported("several samples with replacement; draw them one by one")
    uniform = random.uniform(op.key(), self.shape)
    noise = elementwise.negative(elementwise.log(elementwise.negative(elementwise.log(uniform))))
    return op.value(ordering.top_k(elementwise.add(elementwise.log(self), noise), num_samples)[1])


refuses("aten.poisson.default", reason="this distribution; write it by torch.rand or torch.randn")
