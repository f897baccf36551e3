# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order: the largest, sorted lines, places in sorted lines, counts by class.

Of equal elements the first comes first, in both directions; torch leaves their order open.
"""

from __future__ import annotations

from typing import Any

from shoal.frontend import broadcasting, creation, dtypes, elementwise, indexing, nn, ordering, reduction, structure
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("aten.topk.default")
def topk(op: Op, self: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Value]:
    if not self.ndim:
        return [self, op.value(0, (), dtypes.INT64)]
    last = structure.moveaxis(self, dim, -1)
    if largest:
        best, places = ordering.top_k(last, k)
    else:
        # Negating the smallest integer would give it back; flipping bits turns the order for all of them.
        turn = elementwise.negative if dtypes.is_float(last.dtype) else elementwise.bitwise_not
        best, places = ordering.top_k(turn(last), k)
        best = turn(best)
    return [structure.moveaxis(x, -1, dim) for x in (best, places.astype(dtypes.INT64))]


@imports("aten.sort.default", "aten.sort.stable")
def sort(op: Op, self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None) -> list[Value]:
    if not self.ndim:
        return [self, op.value(0, (), dtypes.INT64)]
    places = structure.iota(self.shape, dim % self.ndim)
    values, order = ordering.sort_by([self, places], dim, descending=descending)
    return [values, order.astype(dtypes.INT64)]


@imports("aten.argsort.default", "aten.argsort.stable")
def argsort(op: Op, self: Value, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Value:
    return sort(op, self, dim, descending)[1]


@imports("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(op: Op, sorted_sequence: Value, self: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Value | None = None) -> Value:  # fmt: skip
    if sorter is not None:
        raise Unsupported("sorter; sort the sequence before")
    values = op.value(self, (), sorted_sequence.dtype)
    return op.value(_places_in(sorted_sequence, values, right or side == "right"))


@imports("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(op: Op, self: Any, boundaries: Value, out_int32: bool = False, right: bool = False) -> Value:
    return op.value(_places_in(boundaries, op.value(self, (), boundaries.dtype), right))


def _places_in(line: Value, values: Value, is_right: bool) -> Value:
    """How many elements of a sorted line lie before each value, by bisection: log2(n) reads of each."""
    size = line.shape[-1]
    before = elementwise.less_equal if is_right else elementwise.less
    place = creation.zeros(values.shape, dtypes.INT32)
    step = 1 << max(size.bit_length() - 1, 0)
    while step and size:
        candidate = elementwise.add(place, step)
        read = elementwise.minimum(elementwise.subtract(candidate, 1), size - 1)
        element = indexing.take(line, read, 0) if line.ndim == 1 else indexing.take_along_axis(line, read, -1)
        fits = elementwise.logical_and(elementwise.less_equal(candidate, size), before(element, values))
        place = elementwise.where(fits, candidate, place)
        step //= 2
    return place


@imports("aten.histc.default")
def histc(op: Op, self: Value, bins: int = 100, min: Any = 0, max: Any = 0) -> Value:
    """Of integers 0 ... bins - 1 with min = 0 and max = bins - 1, as experts' counts are made, exact."""
    if min == max:
        raise Unsupported("limits that the elements decide; give min and max")
    values = elementwise.astype(self.reshape(-1), dtypes.FLOAT32)
    scaled = elementwise.multiply(elementwise.subtract(values, min), bins / (max - min))
    place = elementwise.astype(elementwise.floor(scaled), dtypes.INT32)
    # The last bin has its upper limit; what lies outside is written nowhere.
    place = elementwise.where(elementwise.equal(values, max), bins - 1, place)
    is_inside = elementwise.logical_and(
        elementwise.greater_equal(values, min), elementwise.less_equal(values, max)
    )
    counted = elementwise.astype(is_inside, op.dtype)
    return indexing.scatter_add(creation.zeros((bins,), op.dtype), elementwise.clip(place, 0, bins - 1), counted)


@imports("aten.bincount.default")
def bincount(op: Op, self: Value, weights: Value | None = None, minlength: int = 0) -> Value:
    """As many counts as `torch._check` says; what is beyond, where torch would make more, is counted nowhere."""
    (bins,) = op.shape
    is_inside = elementwise.logical_and(elementwise.greater_equal(self, 0), elementwise.less(self, bins))
    each = elementwise.astype(is_inside, op.dtype)
    if weights is not None:
        each = elementwise.where(is_inside, elementwise.astype(weights, op.dtype), 0)
    place = elementwise.clip(elementwise.astype(self, dtypes.INT32), 0, bins - 1)
    return indexing.scatter_add(creation.zeros((bins,), op.dtype), place, each)


@imports("aten.repeat_interleave.Tensor")
def repeat_interleave(op: Op, repeats: Value, output_size: int | None = None) -> Value:
    """Places, each as often as its number says, which are as many in all as `output_size` says."""
    (count,) = op.shape
    return op.value(_repeated(repeats, count))


@imports("aten.repeat_interleave.self_Tensor")
def repeat_interleave_rows(op: Op, self: Value, repeats: Value, dim: int | None = None, output_size: int | None = None) -> Value:
    if dim is None:
        self, dim = self.reshape(-1), 0
    return indexing.take(self, _repeated(broadcasting.broadcast_to(repeats, (self.shape[dim],)), op.shape[dim]), dim)


def _repeated(repeats: Value, count: int) -> Value:
    """Of so many rows in all which one each is of, that are repeated so often."""
    return _places_in(reduction.cumsum(repeats, 0), structure.iota((count,), 0), is_right=True)


@imports("aten.one_hot.default")
def one_hot(op: Op, self: Value, num_classes: int = -1) -> Value:
    if num_classes < 0:
        raise Unsupported("as many classes as the largest index says; give num_classes")
    return nn.one_hot(self, num_classes, op.dtype)
