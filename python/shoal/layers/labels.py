# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cross entropy of labels, of which some may count for nothing.

A label counts where its mask is true, its weight is not 0 and it is not `ignore_index`. One that
counts and is no class has no loss: a mistake, which is never left out without a word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import (
    Array, ArrayLike, as_value, iota, is_array, log_softmax, logical_and, ones, or_one, shape_of, sum, where,
)  # fmt: skip
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.frontend.constants import as_array

__all__ = ["IGNORE_INDEX", "cross_entropy", "cross_entropy_sum"]

IGNORE_INDEX = -100  # PyTorch's and transformers'


class _Counted(NamedTuple):
    """Of labels [...]: their classes, -1 of those that do not count; which count; how much, 0 of the others."""

    classes: Array
    counts: Array
    weights: Array


def cross_entropy(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    ignore_index: int | None = IGNORE_INDEX,
) -> Array:
    """The weighted mean of -log softmax(logits)[label] for logits [..., V] and labels [...], integers: a scalar,
    float32, or float64 of such logits. 0 where no label counts.

    mask [...]: true for labels that count. weights [...]: how much each counts, 1 without them. ignore_index: the
    label of those that do not count, -100 as in PyTorch; None: there is none. Logits at labels that do not
    count are not looked at: they may be NaN.

    A label that counts and is not in 0 ... V - 1 is a TraceError where labels are arrays and no values of the
    program; of values the loss, and with it every gradient, is NaN.
    """
    total, weight = cross_entropy_sum(logits, labels, mask=mask, weights=weights, ignore_index=ignore_index)
    return total / or_one(weight)


def cross_entropy_sum(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    ignore_index: int | None = IGNORE_INDEX,
) -> tuple[Array, Array]:
    """(total, weight): the sum over labels of `cross_entropy`, whose arguments these are, and that of their weights.

    It is what `shoal.train.step(..., weighted=True)` takes: over micro-batches with other numbers of labels the
    mean of all is the sum of totals over that of weights, and no mean of means.
    """
    scores = as_value(logits, labels)
    kind = "float64" if scores.dtype == "float64" else "float32"
    check(scores.ndim > 0, "cross_entropy: logits have no classes")
    _check_known(labels, scores.shape[-1], mask, weights, ignore_index)
    found = _counted(labels, scores, mask, weights, ignore_index, kind)
    scores = where(found.counts[..., None], scores.astype(kind), 0.0)
    is_right = iota(scores.shape, scores.ndim - 1, like=scores) == found.classes[..., None]
    right = where(is_right, log_softmax(scores), 0.0)  # by choice: the logarithm of another class may be -inf
    if weights is not None:
        right = right * where(found.counts, found.weights, 0.0)[..., None]
    return -sum(right), sum(found.weights)


def _counted(
    labels: ArrayLike, scores: Array, mask: Any, weights: Any, ignore_index: int | None, kind: str
) -> _Counted:
    """Of labels for logits of this shape. The weight of one that counts and is no class is NaN."""
    shape, numbers = scores.shape, _signed(as_value(labels, scores))
    for name, given in (("labels", labels), ("mask", mask), ("weights", weights)):
        check(
            given is None or shape_of(given) == shape[:-1],
            f"cross_entropy: {name} {list(shape_of(given) if given is not None else ())} of logits {list(shape)}",
        )
    counts = ones(numbers.shape, "bool", like=numbers) if mask is None else as_value(mask, numbers).astype("bool")
    if ignore_index is not None and np.iinfo(numbers.dtype).min <= ignore_index <= np.iinfo(numbers.dtype).max:
        counts = logical_and(counts, numbers != ignore_index)
    each = ones(numbers.shape, kind, like=numbers) if weights is None else as_value(weights, numbers).astype(kind)
    if weights is not None:
        counts = logical_and(counts, each != 0)
    is_class = logical_and(numbers >= 0, numbers < shape[-1])
    each = where(counts, where(is_class, each, float("nan")), 0.0)
    return _Counted(where(logical_and(counts, is_class), numbers, -1), counts, each)


def _signed(labels: Array) -> Array:
    """In a type that has -1 and all that the labels may be."""
    if dtypes.is_float(labels.dtype):
        raise TraceTypeError(f"cross_entropy: expected labels of integers, got {labels.dtype}")
    has_32_bits = labels.dtype.itemsize < 4 or labels.dtype == "int32"
    return labels.astype("int32" if has_32_bits else "int64")


def _check_known(labels: Any, classes: int, mask: Any, weights: Any, ignore_index: int | None) -> None:
    """TraceError for a label that is known to count and to be no class."""
    if is_array(labels):
        return
    array = as_array(labels, "cross_entropy: labels")
    wrong = ((array < 0) | (array >= classes)) & ((array != ignore_index) if ignore_index is not None else True)
    for given in (mask, weights):
        if given is not None and (is_array(given) or np.shape(given) != array.shape):
            return  # known when the program runs, or refused for its shape
        wrong = wrong if given is None else wrong & (np.asarray(given) != 0)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise TraceError(
            f"cross_entropy: {int(wrong.sum())} of {array.size} labels are neither in 0 ... {classes - 1} nor"
            f" ignore_index={ignore_index}, first {int(array[place])} at {list(place)}"
        )
