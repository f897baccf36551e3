# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pools, and other sizes of pictures: [N, C, spatial...], or without N."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.frontend import contraction, creation, dtypes, elementwise, indexing, ordering, reduction, structure, windows
from shoal.frontend.value import Value
from shoal.torch import kinks
from shoal.torch.op import NOT_MADE, Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports

_DIGITS = "012"


@imports("aten.convolution.default", "aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")
def convolution(op: Op, input: Value, weight: Value, bias: Value | None = None, stride: Any = 1, padding: Any = 0,
                dilation: Any = 1, transposed: bool = False, output_padding: Any = 0, groups: int = 1) -> Value:  # fmt: skip
    rank = weight.ndim - 2
    x = input if input.ndim == rank + 2 else input.reshape([1, *input.shape])
    strides, pads, dilations, more = (_sizes(given, rank) for given in (stride, padding, dilation, output_padding))
    if transposed:
        result = _transposed(x, weight, strides, pads, dilations, more, groups)
    else:
        spec = f"bf{_DIGITS[:rank]},oi{_DIGITS[:rank]}->bf{_DIGITS[:rank]}"
        pairs = [(pad, pad) for pad in pads]
        result = windows.conv(x, weight, spec, strides=strides, padding=pairs, window_dilation=dilations, feature_groups=groups)
    if bias is not None:
        result = elementwise.add(result, bias.reshape([-1, *[1] * rank]))
    return result.reshape(op.shape)


def _sizes(given: Any, rank: int) -> list[int]:
    listed = list(given) if isinstance(given, Sequence) else [given]
    return listed * rank if len(listed) == 1 else listed


def _transposed(x: Value, weight: Value, strides: list[int], pads: list[int], dilations: list[int], more: list[int],
                groups: int) -> Value:  # fmt: skip
    """The gradient of a convolution: of rows spread by the strides, with the kernel turned round."""
    rank = len(strides)
    inputs, outputs, *kernel = weight.shape
    split = weight.reshape([groups, inputs // groups, outputs, *kernel])
    turned = structure.swapaxes(split, 1, 2).reshape([groups * outputs, inputs // groups, *kernel])
    turned = structure.flip(turned, list(range(2, 2 + rank)))
    reach = [d * (k - 1) - p for d, k, p in zip(dilations, kernel, pads)]
    pairs = [(low, low + extra) for low, extra in zip(reach, more)]
    spec = f"bf{_DIGITS[:rank]},oi{_DIGITS[:rank]}->bf{_DIGITS[:rank]}"
    return windows.conv(x, turned, spec, padding=pairs, base_dilation=strides, window_dilation=dilations, feature_groups=groups)


@imports("aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding")
def convolution_by_word(op: Op, input: Value, weight: Value, bias: Value | None = None, stride: Any = 1,
                        padding: str = "valid", dilation: Any = 1, groups: int = 1) -> Value:  # fmt: skip
    rank = weight.ndim - 2
    dilations = _sizes(dilation, rank)
    pads = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, weight.shape[2:])]
    # Of an odd sum the last element is one more.
    widths = [(0, 0)] * (input.ndim - rank) + [(pad // 2, pad - pad // 2) for pad in pads]
    return convolution(op, structure.pad(input, widths), weight, bias, stride, 0, dilation, groups=groups)


# Pools


class _Window:
    """The windows of a pool, for the whole operand."""

    def __init__(self, value: Value, shape: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any = 1):
        rank = len(kernel) if isinstance(kernel, Sequence) and len(kernel) > 1 else max(value.ndim - 2, 1)
        outer = [1] * (value.ndim - rank)
        sizes = _sizes(kernel, rank)
        steps = _sizes(stride, rank) if stride not in (None, []) else sizes
        pads, dilations = _sizes(padding, rank), _sizes(dilation, rank)
        self.rank, self.count = rank, math.prod(sizes)
        self.window, self.strides, self.dilations = [*outer, *sizes], [*outer, *steps], [*outer, *dilations]
        # With ceil_mode windows may reach behind the padding, where there is nothing.
        self.beyond = [
            max(0, (out - 1) * step + d * (k - 1) + 1 - size - 2 * pad)
            for out, size, k, step, pad, d in zip(shape[-rank:], value.shape[-rank:], sizes, steps, pads, dilations)
        ]
        self.padding = [(0, 0) for _ in outer] + [(pad, pad + more) for pad, more in zip(pads, self.beyond)]

    def reduce(self, value: Value, kind: str) -> Value:
        return windows.reduce_window(
            value, kind, self.window, strides=self.strides, padding=self.padding, window_dilation=self.dilations
        )


@imports(
    "aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default", "aten.max_pool1d.default",
    "aten.max_pool2d.default", "aten.max_pool3d.default", "aten.max_pool1d_with_indices.default",
)  # fmt: skip
def max_pool(op: Op, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False) -> list[Any]:  # fmt: skip
    window = _Window(self, op.shape, kernel_size, list(stride), padding, dilation)
    # The places that the maxima come from are for gradients, which Shoal makes.
    return [window.reduce(self, "max"), *[NOT_MADE] * (len(op.node.results) - 1)]


@imports("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(op: Op, self: Value, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Value:  # fmt: skip
    window = _Window(self, op.shape, kernel_size, list(stride), padding)
    if any(window.beyond):
        raise Unsupported("ceil_mode=True with windows that reach beyond the padding")
    total = window.reduce(elementwise.astype(self, dtypes.of_sums(self.dtype)), "sum")
    if divisor_override is not None or count_include_pad:
        return op.value(elementwise.divide(total, divisor_override or window.count))
    counts = window.reduce(creation.ones(self.shape, total.dtype), "sum")
    return op.value(elementwise.divide(total, counts))


@imports(
    "aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default", "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool3d.default",
)  # fmt: skip
def adaptive_avg_pool(op: Op, self: Value, output_size: list[int]) -> Value:
    wide = elementwise.astype(self, dtypes.of_sums(self.dtype))
    outer = self.ndim - len(output_size)
    if not any(size % parts for size, parts in zip(self.shape[outer:], op.shape[outer:])):
        split, axes = _parts(wide, op.shape, len(output_size))
        return op.value(reduction.mean(split, axes))
    for dim in range(outer, self.ndim):
        wide = _averaged(wide, dim, op.shape[dim])
    return op.value(wide)


def _averaged(value: Value, dim: int, parts: int) -> Value:
    """A dimension as means of windows that overlap, from floor(i n / parts) to ceil((i + 1) n / parts)."""
    size = value.shape[dim]
    shares = np.zeros((parts, size), value.dtype)
    for part in range(parts):
        begin, end = part * size // parts, -(-(part + 1) * size // parts)
        shares[part, begin:end] = 1 / (end - begin)
    letters = "abcdefgh"[: value.ndim]
    return contraction.einsum(f"{letters},z{letters[dim]}->{letters.replace(letters[dim], 'z')}", value, shares)


@imports("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(op: Op, self: Value, output_size: list[int]) -> list[Any]:
    split, axes = _parts(self, op.shape, len(output_size))
    if op.settings.is_differentiated and dtypes.is_float(self.dtype):
        # Of equal elements the first of a window has all of the gradient.
        others = [axis for axis in range(split.ndim) if axis not in axes]
        lines = structure.transpose(split, [*others, *axes]).reshape([*(split.shape[axis] for axis in others), -1])
        largest = kinks.read_at(lines, -1, ordering.argmax(lines, -1))
    else:
        largest = reduction.max(split, axes)
    return [largest, *[NOT_MADE] * (len(op.node.results) - 1)]


def _parts(value: Value, shape: tuple[int, ...], rank: int) -> tuple[Value, list[int]]:
    """Each spatial dimension as its parts and what is in them, and the dimensions of the latter."""
    outer = value.ndim - rank
    sizes, axes = list(value.shape[:outer]), []
    for size, parts in zip(value.shape[outer:], shape[outer:]):
        if size % parts:
            raise Unsupported(f"{size} rows in {parts} parts, which do not divide them")
        sizes += [parts, size // parts]
        axes.append(len(sizes) - 1)
    return value.reshape(sizes), axes


# Other sizes


@imports(
    "aten.upsample_nearest1d.default", "aten.upsample_nearest2d.default", "aten.upsample_nearest3d.default",
    "aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec",
)  # fmt: skip
def upsample_nearest(op: Op, output_size: Any, self: Value | None = None, input: Value | None = None, scales: float | None = None,
                     scales_d: float | None = None, scales_h: float | None = None, scales_w: float | None = None,
                     scale_factors: list[float] | None = None) -> Value:  # fmt: skip
    value = self if self is not None else input
    assert value is not None
    given = scale_factors or ([scales] if value.ndim == 3 else [scales_d, scales_h, scales_w][5 - value.ndim :])
    for dim, scale in enumerate(_scales(op, value, given), 2):
        places = np.minimum(np.floor(np.arange(op.shape[dim]) / scale), value.shape[dim] - 1).astype(np.int32)
        value = indexing.take(value, places, dim)
    return value


def _scales(op: Op, value: Value, given: Sequence[float | None]) -> list[float]:
    """How many elements each has become: as it was said, or as the sizes say."""
    sizes = [new / old for new, old in zip(op.shape[2:], value.shape[2:])]
    return [scale or size for scale, size in zip(given, sizes)]


@imports("aten.upsample_bilinear2d.default", "aten.upsample_bilinear2d.vec", "aten.upsample_linear1d.default", "aten.upsample_linear1d.vec")
def upsample_linear(op: Op, output_size: Any, align_corners: bool, self: Value | None = None, input: Value | None = None,
                    scales: float | None = None, scales_h: float | None = None, scales_w: float | None = None,
                    scale_factors: list[float] | None = None) -> Value:  # fmt: skip
    value = self if self is not None else input
    assert value is not None
    given = scale_factors or ([scales] if value.ndim == 3 else [scales_h, scales_w])
    for dim, scale in enumerate(_scales(op, value, given), 2):
        value = _stretched(value, dim, op.shape[dim], scale, align_corners)
    return value


def _stretched(value: Value, dim: int, count: int, scale: float, align_corners: bool) -> Value:
    """Between the two nearest elements of each place, by how near they are."""
    size, places = value.shape[dim], np.arange(count)
    if align_corners:
        at = places * ((size - 1) / max(count - 1, 1))
    else:
        at = np.maximum((places + 0.5) / scale - 0.5, 0)
    low = np.minimum(np.floor(at).astype(np.int32), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = (at - low).astype(np.float32).reshape([-1, *[1] * (value.ndim - dim - 1)])
    first, second = (indexing.take(value, index, dim) for index in (low, high))
    weight = elementwise.astype(share, value.dtype)
    return elementwise.add(first, elementwise.multiply(elementwise.subtract(second, first), weight))
