# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements in other places: cut out, put together, repeated, moved, surrounded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from shoal.frontend import creation, indexing, structure
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(op: Op, tensors: list[Value], dim: int = 0) -> Value:
    # An empty vector goes with any shape.
    kept = [value for value in tensors if value.shape != (0,) or op.shape == (0,)]
    return structure.concatenate(op.cast(*kept), dim) if kept else creation.zeros(op.shape, op.dtype)


@imports("aten.stack.default")
def stack(op: Op, tensors: list[Value], dim: int = 0) -> Value:
    return structure.stack(op.cast(*tensors), dim)


@imports("aten.split_with_sizes.default", "aten.split.sizes", "aten.split_with_sizes_copy.default", halves=True)
def split_with_sizes(op: Op, self: Value, split_sizes: list[int] | None = None, split_size: list[int] | None = None,
                     dim: int = 0) -> list[Value]:  # fmt: skip
    return _pieces(self, split_sizes if split_sizes is not None else split_size or [], dim)


@imports("aten.split.Tensor", "aten.chunk.default", "aten.tensor_split.sections", "aten.unsafe_split.Tensor", halves=True)
def split(op: Op, self: Value, split_size: int = 0, chunks: int = 0, sections: int = 0, dim: int = 0) -> list[Value]:
    return _pieces(self, [type.shape[dim] for type in op.types], dim)


def _pieces(value: Value, sizes: list[int], dim: int) -> list[Value]:
    bounds = [0, *itertools.accumulate(sizes)]
    return [_cut(value, dim, slice(*pair)) for pair in itertools.pairwise(bounds)]


def _cut(value: Value, dim: int, part: Any) -> Value:
    return indexing.getitem(value, (*[slice(None)] * (dim % value.ndim), part))


@imports("aten.unbind.int", "aten.unbind_copy.int", halves=True)
def unbind(op: Op, self: Value, dim: int = 0) -> list[Value]:
    return [_cut(self, dim, number) for number in range(self.shape[dim])]


@imports("aten.slice.Tensor", "aten.slice_copy.Tensor", halves=True)
def cut(op: Op, self: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    return _cut(self, dim, slice(start, end, step))


@imports("aten.narrow.default", "aten.narrow_copy.default", halves=True)
def narrow(op: Op, self: Value, dim: int, start: int, length: int) -> Value:
    first = start % self.shape[dim] if start < 0 else start
    return _cut(self, dim, slice(first, first + length))


@imports("aten.select.int", "aten.select_copy.int", halves=True)
def select(op: Op, self: Value, dim: int, index: int) -> Value:
    return _cut(self, dim, index)


@imports("aten.flip.default", halves=True)
def flip(op: Op, self: Value, dims: list[int]) -> Value:
    return structure.flip(self, dims)


@imports("aten.roll.default", halves=True)
def roll(op: Op, self: Value, shifts: list[int], dims: list[int] | None = None) -> Value:
    if not dims:
        return structure.roll(self.reshape(-1), shifts[0], 0).reshape(self.shape)
    for shift, dim in zip(shifts, dims):
        self = structure.roll(self, shift, dim)
    return self


@imports("aten.repeat.default", "aten.tile.default", halves=True)
def repeat(op: Op, self: Value, repeats: list[int] | None = None, dims: list[int] | None = None) -> Value:
    return structure.tile(self, repeats if repeats is not None else dims or [])


@imports("aten.repeat_interleave.self_int", halves=True)
def repeat_interleave(op: Op, self: Value, repeats: int, dim: int | None = None, output_size: int | None = None) -> Value:
    return structure.repeat(self.reshape(-1) if dim is None else self, repeats, 0 if dim is None else dim)


@imports("aten.diagonal.default", "aten.diagonal_copy.default", halves=True)
def diagonal(op: Op, self: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    moved = structure.moveaxis(structure.moveaxis(self, dim1, -1), dim2 - (dim2 % self.ndim > dim1 % self.ndim), -1)
    places = np.arange(op.shape[-1], dtype=np.int32)
    return indexing.getitem(moved, (..., places + max(-offset, 0), places + max(offset, 0)))


@imports("aten.tril.default", halves=True)
def tril(op: Op, self: Value, diagonal: int = 0) -> Value:
    return creation.tril(self, diagonal)


@imports("aten.triu.default", halves=True)
def triu(op: Op, self: Value, diagonal: int = 0) -> Value:
    return creation.triu(self, diagonal)


@imports("aten.unfold.default", "aten.unfold_copy.default", halves=True)
def unfold(op: Op, self: Value, dimension: int, size: int, step: int) -> Value:
    if not self.ndim:
        return self.reshape([1])[:size]
    dim, count = dimension % self.ndim, op.shape[dimension]
    starts = np.arange(count, dtype=np.int32)[:, None] * step + np.arange(size, dtype=np.int32)
    return structure.moveaxis(indexing.take(self, starts, dim), dim + 1, -1)


# Padding. Widths are of the last dimension first.


@imports("aten.constant_pad_nd.default")
def constant_pad(op: Op, self: Value, pad: list[int], value: Any = 0) -> Value:
    return structure.pad(self, _widths(pad, self.ndim), op.value(value))


@imports("aten.pad.default")
def pad(op: Op, self: Value, pad: list[int], mode: str = "constant", value: Any = None) -> Value:
    if mode == "constant":
        return constant_pad(op, self, pad, 0 if value is None else value)
    if mode not in _EDGES:
        raise Unsupported(f"mode={mode!r}; expected 'constant', {', '.join(map(repr, _EDGES))}")
    return _pad_by_places(self, pad, mode)


@imports("aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default")
def reflection_pad(op: Op, self: Value, padding: list[int]) -> Value:
    return _pad_by_places(self, padding, "reflect")


@imports("aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default")
def replication_pad(op: Op, self: Value, padding: list[int]) -> Value:
    return _pad_by_places(self, padding, "replicate")


# As NumPy calls what is read beyond an edge.
_EDGES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _widths(pad: list[int], rank: int) -> list[tuple[int, int]]:
    pairs = list(zip(pad[::2], pad[1::2]))[::-1]
    return [(0, 0)] * (rank - len(pairs)) + pairs


def _pad_by_places(value: Value, pad: list[int], mode: str) -> Value:
    """Reads each element of the result where the mode says it comes from."""
    for dim, (low, high) in enumerate(_widths(pad, value.ndim)):
        if low < 0 or high < 0:
            raise Unsupported(f"widths {low} and {high} of mode {mode!r}; expected none below 0")
        if low or high:
            places = np.pad(np.arange(value.shape[dim], dtype=np.int32), (low, high), mode=_EDGES[mode])
            value = indexing.take(value, places, dim)
    return value


@imports("aten.block_diag.default")
def block_diag(op: Op, tensors: list[Value]) -> Value:
    columns, blocks = 0, []
    for value in op.cast(*tensors):
        wide = value if value.ndim == 2 else value.reshape(1, -1)
        widths = [(0, 0), (columns, op.shape[1] - columns - wide.shape[1])]
        blocks.append(structure.pad(wide, widths))
        columns += wide.shape[1]
    return structure.concatenate(blocks, 0)


@imports("aten.pixel_shuffle.default")
def pixel_shuffle(op: Op, self: Value, upscale_factor: int) -> Value:
    *batch, channels, height, width = self.shape
    r = upscale_factor
    parts = self.reshape([*batch, channels // r**2, r, r, height, width])
    n = len(batch)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return structure.transpose(parts, order).reshape(op.shape)
