# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, means, extrema, running sums over dimensions. Sums of floats of 16 bits are made in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shoal.frontend import dtypes, elementwise, indexing, ordering, reduction, structure
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports

Dims = Sequence[int] | int | None


def _axes(dim: Dims, rank: int) -> list[int] | None:
    """As the frontend takes dimensions: None for all, which torch says by an empty list, too."""
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return None
    listed = [dim] if isinstance(dim, int) else list(dim)
    return [] if not rank else listed


def _wide(value: Value, dtype: np.dtype) -> Value:
    """In the type that long sums for results of a type are made in."""
    return elementwise.astype(value, dtypes.of_sums(dtype))


@imports("aten.sum.default", "aten.sum.dim_IntList", halves=True)
def sum(op: Op, self: Value, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return op.value(reduction.sum(_wide(op.value(self), op.dtype), _axes(dim, self.ndim), keepdims=keepdim))


@imports("aten.mean.default", "aten.mean.dim", halves=True)
def mean(op: Op, self: Value, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return op.value(reduction.mean(_wide(self, op.dtype), _axes(dim, self.ndim), keepdims=keepdim))


@imports("aten.prod.default", "aten.prod.dim_int")
def prod(op: Op, self: Value, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return op.value(reduction.prod(_wide(op.value(self), op.dtype), _axes(dim, self.ndim), keepdims=keepdim))


@imports("aten.amax.default")
def amax(op: Op, self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return reduction.max(self, _axes(dim, self.ndim), keepdims=keepdim)


@imports("aten.amin.default")
def amin(op: Op, self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return reduction.min(self, _axes(dim, self.ndim), keepdims=keepdim)


@imports("aten.max.default")
def max_of_all(op: Op, self: Value) -> Value:
    return reduction.max(self)


@imports("aten.min.default")
def min_of_all(op: Op, self: Value) -> Value:
    return reduction.min(self)


@imports("aten.max.dim")
def max_in_dim(op: Op, self: Value, dim: int, keepdim: bool = False) -> list[Value]:
    return _extremum(op, reduction.max, ordering.argmax, self, dim, keepdim)


@imports("aten.min.dim")
def min_in_dim(op: Op, self: Value, dim: int, keepdim: bool = False) -> list[Value]:
    return _extremum(op, reduction.min, ordering.argmin, self, dim, keepdim)


def _extremum(op: Op, value_of: Callable[..., Value], place_of: Callable[..., Value], value: Value, dim: int,
              keepdim: bool) -> list[Value]:  # fmt: skip
    if not value.ndim:
        return [value, op.value(0, (), dtypes.INT64)]
    places = place_of(value, dim)
    if op.settings.is_differentiated and dtypes.is_float(value.dtype):
        found = kinks.read_at(value, dim, places, keepdims=keepdim)
    else:
        found = value_of(value, dim, keepdims=keepdim)
    return [found, places.astype(dtypes.INT64).reshape(op.shape)]


@imports("aten.argmax.default")
def argmax(op: Op, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return ordering.argmax(self, dim if self.ndim else None).astype(op.dtype).reshape(op.shape)


@imports("aten.argmin.default")
def argmin(op: Op, self: Value, dim: int | None = None, keepdim: bool = False) -> Value:
    return ordering.argmin(self, dim if self.ndim else None).astype(op.dtype).reshape(op.shape)


@imports("aten.any.default", "aten.any.dim", "aten.any.dims")
def any(op: Op, self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return op.value(reduction.any(self, _axes(dim, self.ndim), keepdims=keepdim))


@imports("aten.all.default", "aten.all.dim", "aten.all.dims")
def all(op: Op, self: Value, dim: Dims = None, keepdim: bool = False) -> Value:
    return op.value(reduction.all(self, _axes(dim, self.ndim), keepdims=keepdim))


@imports("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(op: Op, self: Value, dim: Dims = None) -> Value:
    return reduction.sum(elementwise.astype(elementwise.not_equal(self, 0), op.dtype), _axes(dim, self.ndim))


# Moments


@imports("aten.var.correction", "aten.var.default", "aten.var.dim")
def var(op: Op, self: Value, dim: Dims = None, correction: Any = None, unbiased: bool = True, keepdim: bool = False) -> Value:
    return op.value(_moments(op, self, dim, _correction(correction, unbiased), keepdim)[0])


@imports("aten.std.correction", "aten.std.default", "aten.std.dim")
def std(op: Op, self: Value, dim: Dims = None, correction: Any = None, unbiased: bool = True, keepdim: bool = False) -> Value:
    variance = _moments(op, self, dim, _correction(correction, unbiased), keepdim)[0]
    return op.value(reduction.root_of(variance))


@imports("aten.var_mean.correction")
def var_mean(op: Op, self: Value, dim: Dims = None, correction: Any = None, keepdim: bool = False) -> list[Value]:
    return op.cast(*_moments(op, self, dim, _correction(correction, True), keepdim))


def _correction(correction: Any, unbiased: bool) -> float:
    """What is taken from the number of elements: Bessel's 1 unless it is said otherwise."""
    return (1 if unbiased else 0) if correction is None else correction


def _moments(op: Op, value: Value, dim: Dims, correction: float, keepdim: bool) -> list[Value]:
    """The variance and the mean."""
    wide, axes = _wide(value, op.dtype), _axes(dim, value.ndim)
    mean = reduction.mean(wide, axes, keepdims=True)
    squares = elementwise.square(elementwise.subtract(wide, mean))
    count = value.size // mean.size - correction
    if count <= 0:
        raise Unsupported(f"a variance of {value.size // mean.size} elements with correction {correction}")
    variance = elementwise.divide(reduction.sum(squares, axes, keepdims=keepdim), count)
    return [variance, mean if keepdim else mean.reshape(variance.shape)]


@imports("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def vector_norm(op: Op, self: Value, ord: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None,
                p: Any = None) -> Value:  # fmt: skip
    order, axes = ord if p is None else p, _axes(dim, self.ndim)
    wide = _wide(self, op.dtype)
    size = kinks.absolute(wide)
    if order == math.inf:
        return op.value(reduction.max(size, axes, keepdims=keepdim))
    if order == -math.inf:
        return op.value(reduction.min(size, axes, keepdims=keepdim))
    if order == 0:
        return op.value(reduction.sum(elementwise.astype(elementwise.not_equal(size, 0), op.dtype), axes, keepdims=keepdim))
    if order == 1:
        return op.value(reduction.sum(size, axes, keepdims=keepdim))
    if order == 2:
        return op.value(reduction.root_of(reduction.sum(elementwise.square(wide), axes, keepdims=keepdim)))
    power = kinks.power_of_size if order > 0 else elementwise.power
    total = reduction.sum(power(size, float(order)), axes, keepdims=keepdim)
    return op.value(power(total, 1 / order))


# Running


@imports("aten.cumsum.default", halves=True)
def cumsum(op: Op, self: Value, dim: int, dtype: Any = None) -> Value:
    if not self.ndim:
        return op.value(self)
    summands = op.value(self)
    sums = op.value(reduction.cumsum(_wide(summands, op.dtype), dim))
    op.summands[sums] = summands
    return sums


@imports("aten.cumprod.default")
def cumprod(op: Op, self: Value, dim: int, dtype: Any = None) -> Value:
    if not self.ndim:
        return op.value(self)
    return op.value(reduction.cumprod(_wide(op.value(self), op.dtype), dim))


@imports("aten.cummax.default")
def cummax(op: Op, self: Value, dim: int) -> list[Value]:
    return _running(op, self, dim, reduction.cummax)


@imports("aten.cummin.default")
def cummin(op: Op, self: Value, dim: int) -> list[Value]:
    return _running(op, self, dim, reduction.cummin)


def _running(op: Op, value: Value, dim: int, running: Callable[..., Value]) -> list[Value]:
    """The extremum so far, and the last place that has it."""
    if not value.ndim:
        return [value, op.value(0, (), dtypes.INT64)]
    best = running(value, dim)
    places = structure.iota(value.shape, dim, dtypes.INT32)
    latest = reduction.cummax(elementwise.where(elementwise.equal(value, best), places, -1), dim)
    if op.settings.is_differentiated and dtypes.is_float(value.dtype):
        # To the place that is told, as torch has it: the frontend's running extrema go to the first that is equal.
        best = indexing.take_along_axis(value, latest, dim)
    return [best, latest.astype(dtypes.INT64)]
