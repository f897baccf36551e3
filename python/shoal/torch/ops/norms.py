# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalisation: over the last dimensions, over groups of channels, over the batch."""

from __future__ import annotations

from typing import Any

from shoal.frontend import dtypes, elementwise, nn, reduction
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("aten.layer_norm.default")
def layer_norm(op: Op, input: Value, normalized_shape: list[int], weight: Value | None = None, bias: Value | None = None,
               eps: float = 1e-05, cudnn_enable: bool = True) -> Value:  # fmt: skip
    if len(normalized_shape) == 1:
        scale = 1.0 if weight is None else weight
        return nn.layer_norm(input, scale, 0.0 if bias is None else bias, epsilon=eps)
    axes = list(range(input.ndim - len(normalized_shape), input.ndim))
    return op.value(_scaled(_standardised(input, axes, eps)[0], weight, bias))


@imports("aten.native_layer_norm.default")
def native_layer_norm(op: Op, input: Value, normalized_shape: list[int], weight: Value | None, bias: Value | None,
                      eps: float) -> list[Value]:  # fmt: skip
    axes = list(range(input.ndim - len(normalized_shape), input.ndim))
    _, mean, scale = _standardised(input, axes, eps)
    result = layer_norm(op, input, normalized_shape, weight, bias, eps)
    return [result, *(op.value(x, dtype=t.dtype) for x, t in zip((mean, scale), op.types[1:]))]


@imports("aten.rms_norm.default", "aten._fused_rms_norm.default")
def rms_norm(op: Op, input: Value, normalized_shape: list[int], weight: Value | None = None, eps: float | None = None) -> list[Value]:
    axes = list(range(input.ndim - len(normalized_shape), input.ndim))
    wide = elementwise.astype(input, dtypes.of_sums(input.dtype))
    # Torch's default is the machine's epsilon of the operand's type.
    epsilon = _epsilon(wide) if eps is None else eps
    scale = elementwise.rsqrt(elementwise.add(reduction.mean(elementwise.square(wide), axes, keepdims=True), epsilon))
    if len(axes) == 1 and (weight is None or weight.dtype == input.dtype):
        return [nn.rms_norm(input, 1.0 if weight is None else weight, epsilon=epsilon), scale]
    return [op.value(_scaled(elementwise.multiply(wide, scale), weight, None)), scale]


def _epsilon(value: Value) -> float:
    return 2.0**-23 if value.dtype == dtypes.FLOAT32 else 2.0**-52


@imports("aten.group_norm.default")
def group_norm(op: Op, input: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None,
               eps: float = 1e-05, cudnn_enabled: bool = True) -> Value:  # fmt: skip
    batch, channels, *spatial = input.shape
    grouped = input.reshape([batch, num_groups, channels // num_groups, *spatial])
    normal = _standardised(grouped, list(range(2, grouped.ndim)), eps)[0].reshape(input.shape)
    return op.value(_scaled(normal, *(_of_channels(x, input.ndim) for x in (weight, bias))))


@imports("aten.native_group_norm.default")
def native_group_norm(op: Op, input: Value, weight: Value | None, bias: Value | None, N: int, C: int, HxW: int, group: int,
                      eps: float) -> list[Value]:  # fmt: skip
    grouped = input.reshape([N, group, C // group, HxW])
    normal, mean, scale = _standardised(grouped, [2, 3], eps)
    result = _scaled(normal.reshape(input.shape), *(_of_channels(x, input.ndim) for x in (weight, bias)))
    return [op.value(result), *(op.value(x.reshape([N, group])) for x in (mean, scale))]


@imports("aten.instance_norm.default")
def instance_norm(op: Op, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
                  running_var: Value | None, use_input_stats: bool, momentum: float, eps: float,
                  cudnn_enabled: bool) -> Value:  # fmt: skip
    if not use_input_stats or running_mean is not None:
        raise Unsupported("running statistics of instance_norm; expected track_running_stats=False")
    normal = _standardised(input, list(range(2, input.ndim)), eps)[0]
    return op.value(_scaled(normal, *(_of_channels(x, input.ndim) for x in (weight, bias))))


# Over the batch. In training the statistics are the batch's, and the running ones move towards them.


@imports("aten._native_batch_norm_legit_functional.default")
def batch_norm_functional(op: Op, input: Value, weight: Value | None, bias: Value | None, running_mean: Value,
                          running_var: Value, training: bool, momentum: float, eps: float) -> list[Value]:  # fmt: skip
    if not training:
        return [_by_statistics(op, input, weight, bias, running_mean, running_var, eps), *_nothing(op), running_mean, running_var]
    result, mean, scale, variance = _by_batch(op, input, weight, bias, eps)
    count = input.size // input.shape[1]
    # The running variance is the unbiased one.
    unbiased = elementwise.multiply(variance, count / max(count - 1, 1))
    return [result, mean, scale, _moved(running_mean, mean, momentum), _moved(running_var, unbiased, momentum)]


@imports("aten._native_batch_norm_legit.no_stats")
def batch_norm_without_state(op: Op, input: Value, weight: Value | None, bias: Value | None, training: bool,
                             momentum: float, eps: float) -> list[Value]:  # fmt: skip
    return _by_batch(op, input, weight, bias, eps)[:3]


@imports("aten._native_batch_norm_legit_no_training.default")
def batch_norm_inference(op: Op, input: Value, weight: Value | None, bias: Value | None, running_mean: Value,
                         running_var: Value, momentum: float, eps: float) -> list[Value]:  # fmt: skip
    return [_by_statistics(op, input, weight, bias, running_mean, running_var, eps), *_nothing(op)]


@imports("aten.batch_norm.default")
def batch_norm(op: Op, input: Value, weight: Value | None, bias: Value | None, running_mean: Value | None,
               running_var: Value | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Value:  # fmt: skip
    if not training and running_mean is not None:
        return _by_statistics(op, input, weight, bias, running_mean, running_var, eps)
    if running_mean is not None:
        raise Unsupported("it writes over its running statistics; save what shoal.torch.export(module, args) gives")
    return _by_batch(op, input, weight, bias, eps)[0]


def _nothing(op: Op) -> list[Value]:
    """In the place of the batch's statistics, of which there are none: no elements."""
    return [op.value(0, type.shape, type.dtype) for type in op.types[1:3]]


def _by_batch(op: Op, input: Value, weight: Value | None, bias: Value | None, eps: float) -> list[Value]:
    axes = [dim for dim in range(input.ndim) if dim != 1]
    normal, mean, scale = _standardised(input, axes, eps)
    wide = elementwise.astype(input, dtypes.of_sums(input.dtype))
    variance = reduction.mean(elementwise.square(elementwise.subtract(wide, mean)), axes)
    result = _scaled(normal, *(_of_channels(x, input.ndim) for x in (weight, bias)))
    return [op.value(result), mean.reshape(-1), scale.reshape(-1), variance]


def _by_statistics(op: Op, input: Value, weight: Any, bias: Any, mean: Value, variance: Any, eps: float) -> Value:
    scale = elementwise.rsqrt(elementwise.add(variance, eps))
    centred = elementwise.subtract(input, _of_channels(mean, input.ndim))
    normal = elementwise.multiply(centred, _of_channels(scale, input.ndim))
    return op.value(_scaled(normal, *(_of_channels(x, input.ndim) for x in (weight, bias))))


def _moved(running: Value, now: Value, momentum: float) -> Value:
    kept = elementwise.multiply(running, 1 - momentum)
    return elementwise.add(kept, elementwise.multiply(elementwise.astype(now, running.dtype), momentum))


def _of_channels(vector: Value | None, rank: int) -> Value | None:
    """Along dimension 1."""
    return None if vector is None else vector.reshape([-1, *[1] * (rank - 2)])


def _standardised(value: Value, axes: list[int], eps: float) -> list[Value]:
    """(x - mean) / sqrt(variance + eps), the mean, and one over that root; sums in float32."""
    wide = elementwise.astype(value, dtypes.of_sums(value.dtype))
    mean = reduction.mean(wide, axes, keepdims=True)
    centred = elementwise.subtract(wide, mean)
    variance = reduction.mean(elementwise.square(centred), axes, keepdims=True)
    scale = elementwise.rsqrt(elementwise.add(variance, eps))
    return [elementwise.multiply(centred, scale), mean, scale]


def _scaled(value: Value, weight: Value | None, bias: Value | None) -> Value:
    scaled = value if weight is None else elementwise.multiply(value, weight)
    return scaled if bias is None else elementwise.add(scaled, bias)
