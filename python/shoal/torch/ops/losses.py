# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, reduced as torch's numbers say: 0 not at all, 1 to the mean, 2 to the sum."""

from __future__ import annotations

from typing import Any

from shoal.frontend import dtypes, elementwise, indexing, nn, reduction as reductions, structure
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import NOT_MADE, Op
from shoal.torch.registry import imports


def _reduced(op: Op, loss: Value, kind: int) -> Value:
    if kind == 0:
        return op.value(loss)
    wide = elementwise.astype(loss, dtypes.of_sums(loss.dtype))
    return op.value(reductions.mean(wide) if kind == 1 else reductions.sum(wide))


@imports("aten.cross_entropy_loss.default")
def cross_entropy(op: Op, self: Value, target: Value, weight: Value | None = None, reduction: int = 1,
                  ignore_index: int = -100, label_smoothing: float = 0.0) -> Value:  # fmt: skip
    """Logits [N, C, ...] or [C]; targets of integers [N, ...], or probabilities of the logits' shape."""
    logits = structure.moveaxis(elementwise.astype(self, dtypes.of_sums(self.dtype)), min(1, self.ndim - 1), -1)
    logs = nn.log_softmax(logits)
    if dtypes.is_float(target.dtype):
        probabilities = structure.moveaxis(target, min(1, self.ndim - 1), -1)
        return _of_probabilities(op, logs, probabilities, weight, reduction, label_smoothing)
    taken, scale = _taken(logs, target, weight, ignore_index)
    loss = elementwise.multiply(elementwise.negative(taken), scale)
    if label_smoothing:
        classes = logs.shape[-1]
        weighted = logs if weight is None else elementwise.multiply(logs, weight)
        smooth = elementwise.negative(weighted.sum(-1))
        smooth = elementwise.where(elementwise.equal(target, ignore_index), 0.0, smooth)
        loss = elementwise.add(
            elementwise.multiply(loss, 1 - label_smoothing), elementwise.multiply(smooth, label_smoothing / classes)
        )
    return _of_classes(op, loss, scale, reduction)


def _taken(logs: Value, target: Value, weight: Value | None, ignored: int) -> tuple[Value, Value]:
    """The logarithm of each target's probability, and its weight: 0 of what is ignored."""
    is_ignored = elementwise.equal(target, ignored)
    place = elementwise.where(is_ignored, 0, target)
    taken = indexing.take_along_axis(logs, place.reshape([*place.shape, 1]), -1).reshape(place.shape)
    scale = elementwise.astype(1.0, logs.dtype) if weight is None else indexing.take(weight, place, 0)
    return taken, elementwise.where(is_ignored, 0.0, elementwise.astype(scale, logs.dtype))


def _of_classes(op: Op, loss: Value, scale: Value, kind: int) -> Value:
    """The mean is by weights, NaN where all is ignored, as torch's."""
    if kind != 1:
        return _reduced(op, loss, kind)
    return op.value(elementwise.divide(reductions.sum(loss), reductions.sum(scale)))


def _of_probabilities(op: Op, logs: Value, target: Value, weight: Value | None, kind: int, smoothing: float) -> Value:
    if smoothing:
        uniform = smoothing / logs.shape[-1]
        target = elementwise.add(elementwise.multiply(target, 1 - smoothing), uniform)
    products = elementwise.multiply(logs, target)
    weighted = products if weight is None else elementwise.multiply(products, weight)
    loss = elementwise.negative(weighted.sum(-1))
    if kind != 1:
        return _reduced(op, loss, kind)
    return op.value(elementwise.divide(reductions.sum(loss), max(loss.size, 1)))


@imports("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default", "aten.nll_loss.default", "aten.nll_loss_nd.default")
def nll_loss(op: Op, self: Value, target: Value, weight: Value | None = None, reduction: int = 1,
             ignore_index: int = -100) -> list[Any]:  # fmt: skip
    logs = structure.moveaxis(self, min(1, self.ndim - 1), -1)
    taken, scale = _taken(logs, target, weight, ignore_index)
    loss = _of_classes(op, elementwise.multiply(elementwise.negative(taken), scale), scale, reduction)
    if len(op.types) == 1:
        return [loss]
    return [loss, scale.sum() if len(op.types) > 1 and op.types[1].shape == () else NOT_MADE]


@imports("aten.mse_loss.default")
def mse_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Value:
    return _reduced(op, elementwise.square(elementwise.subtract(self, target)), reduction)


@imports("aten.l1_loss.default")
def l1_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Value:
    return _reduced(op, kinks.absolute(elementwise.subtract(self, target)), reduction)


@imports("aten.smooth_l1_loss.default")
def smooth_l1_loss(op: Op, self: Value, target: Value, reduction: int = 1, beta: float = 1.0) -> Value:
    distance = kinks.absolute(elementwise.subtract(self, target))
    if beta == 0:
        return _reduced(op, distance, reduction)
    near = elementwise.multiply(elementwise.square(distance), 0.5 / beta)
    loss = elementwise.where(elementwise.less(distance, beta), near, elementwise.subtract(distance, 0.5 * beta))
    return _reduced(op, loss, reduction)


@imports("aten.huber_loss.default")
def huber_loss(op: Op, self: Value, target: Value, reduction: int = 1, delta: float = 1.0) -> Value:
    distance = elementwise.abs(elementwise.subtract(self, target))
    near = elementwise.multiply(elementwise.square(distance), 0.5)
    far = elementwise.multiply(elementwise.subtract(distance, 0.5 * delta), delta)
    return _reduced(op, elementwise.where(elementwise.less_equal(distance, delta), near, far), reduction)


@imports("aten.binary_cross_entropy_with_logits.default")
def bce_with_logits(op: Op, self: Value, target: Value, weight: Value | None = None, pos_weight: Value | None = None,
                    reduction: int = 1) -> Value:  # fmt: skip
    # log(sigmoid(x)) is -softplus(-x): neither overflows.
    positive = elementwise.multiply(target, nn.softplus(elementwise.negative(self)))
    if pos_weight is not None:
        positive = elementwise.multiply(positive, pos_weight)
    negative = elementwise.multiply(elementwise.subtract(1, target), nn.softplus(self))
    loss = elementwise.add(positive, negative)
    return _reduced(op, loss if weight is None else elementwise.multiply(loss, weight), reduction)


@imports("aten.binary_cross_entropy.default")
def bce(op: Op, self: Value, target: Value, weight: Value | None = None, reduction: int = 1) -> Value:
    # Logarithms are cut at -100, as torch's are.
    logs = [elementwise.maximum(elementwise.log(x), -100.0) for x in (self, elementwise.subtract(1, self))]
    parts = [elementwise.multiply(share, log) for share, log in zip((target, elementwise.subtract(1, target)), logs)]
    loss = elementwise.negative(elementwise.add(*parts))
    return _reduced(op, loss if weight is None else elementwise.multiply(loss, weight), reduction)


@imports("aten.kl_div.default")
def kl_div(op: Op, self: Value, target: Value, reduction: int = 1, log_target: bool = False) -> Value:
    if log_target:
        loss = elementwise.multiply(elementwise.exp(target), elementwise.subtract(target, self))
    else:
        is_zero = elementwise.equal(target, 0)
        logs = elementwise.log(elementwise.where(is_zero, 1.0, target))
        loss = elementwise.where(is_zero, 0.0, elementwise.multiply(target, elementwise.subtract(logs, self)))
    return _reduced(op, loss, reduction)
