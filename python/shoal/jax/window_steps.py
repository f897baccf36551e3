# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows, and reductions of windows by any combiner, step by step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.types import with_shape

# More places than these in a window are not written out.
_MOST_PLACES = 256


@dataclass(frozen=True)
class Window:
    """The window of a reduce_window, per dimension."""

    sizes: Sequence[int]
    strides: Sequence[int]
    low: Sequence[int]
    high: Sequence[int]
    base_dilation: Sequence[int]
    window_dilation: Sequence[int]

    def attributes(self) -> dict[str, str | None]:
        """Those of shoal.reduce_window."""
        return {
            "window": i64s(self.sizes),
            "strides": i64s(self.strides),
            "low": i64s(self.low),
            "high": i64s(self.high),
            "base_dilation": i64s(self.base_dilation),
            "window_dilation": i64s(self.window_dilation),
        }

    def scanned_dim(self, shape: Sequence[int]) -> int | None:
        """The dimension along which each element combines all up to it, or from it on."""
        is_dense = all(n == 1 for n in (*self.strides, *self.base_dilation, *self.window_dilation))
        wide = [dim for dim, size in enumerate(self.sizes) if size != 1]
        if not is_dense or len(wide) != 1:
            return None
        dim, size = wide[0], self.sizes[wide[0]]
        padded = [d for d in range(len(shape)) if self.low[d] or self.high[d]]
        is_scan = (self.low[dim], self.high[dim]) in ((size - 1, 0), (0, size - 1))
        return dim if is_scan and padded == [dim] and size == shape[dim] else None


def combine_windows(importer: Importer, op: ir.Operation, window: Window) -> list[Value]:
    """reduce_window with the region of `op`, applied to whole tensors.

    A scan takes log2(size) steps, each combining with what lies twice as far
    away; other windows a step per place.
    """
    count = len(op.results)
    values, inits = importer.operands(op)[:count], importer.operands(op)[count:]
    dim = window.scanned_dim(values[0].type.shape)
    if dim is not None:
        return _scan(importer, op, values, inits, dim, is_reverse=window.high[dim] > 0)
    if math.prod(window.sizes) > _MOST_PLACES:
        raise Unsupported(
            f"a window of {math.prod(window.sizes)} places with a combiner of its own, "
            f"at most {_MOST_PLACES} are written out"
        )
    return _places(importer, op, values, inits, window)


def _combine(
    importer: Importer, op: ir.Operation, left: list[Value], right: list[Value]
) -> list[Value]:
    with importer.spread(left[0].type.shape):
        return importer.inline(op.regions[0].blocks[0], [*left, *right])


def _pad(importer: Importer, value: Value, init: Value, low, high, interior) -> Value:
    sizes = [
        before + size + behind + gap * max(size - 1, 0)
        for size, before, behind, gap in zip(value.type.shape, low, high, interior)
    ]
    attributes = {"low": i64s(low), "high": i64s(high), "interior": i64s(interior)}
    type = with_shape(value.type, sizes)
    return importer.arith.op("shoal.pad", [value, init], type, attributes)


def _scan(
    importer: Importer, op: ir.Operation, values, inits, dim: int, *, is_reverse: bool
) -> list[Value]:
    shape, step = values[0].type.shape, 1
    while step < shape[dim]:
        shift = [step if d == dim else 0 for d in range(len(shape))]
        if is_reverse:
            shift = [-n for n in shift]
        back = [-n for n in shift]
        moved = [
            _pad(importer, value, init, shift, back, [0] * len(shape))
            for value, init in zip(values, inits)
        ]
        values = _combine(importer, op, moved, values)
        step *= 2
    return values


def _places(importer: Importer, op: ir.Operation, values, inits, window: Window) -> list[Value]:
    interior = [dilation - 1 for dilation in window.base_dilation]
    padded = [
        _pad(importer, value, init, window.low, window.high, interior)
        for value, init in zip(values, inits)
    ]
    types = importer.result_types(op)
    result = [importer.arith.broadcast(init, type) for init, type in zip(inits, types)]
    for place in itertools.product(*map(range, window.sizes)):
        starts = [k * dilation for k, dilation in zip(place, window.window_dilation)]
        rows = zip(starts, types[0].shape, window.strides)
        attributes = {
            "starts": i64s(starts),
            "limits": i64s(
                [start + (size - 1) * step + 1 if size else start for start, size, step in rows]
            ),
            "strides": i64s(window.strides),
        }
        parts = [
            importer.arith.op("shoal.slice", [value], type, attributes)
            for value, type in zip(padded, types)
        ]
        result = _combine(importer, op, result, parts)
    return result
