# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of dimensions: sums, orders, shapes and rows; functions that get no array have `like`, one of the world that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays.worlds import Array, ArrayLike, world_of
from shoal.frontend.core import is_tracing

Axes = int | Sequence[int] | None
Shape = Sequence[int]


def as_value(x: ArrayLike, like: Any = None, what: str = "") -> Array:
    """The array; NumPy's and numbers as constants of the world of `like`. TraceTypeError for what is neither, which
    calls it `what`."""
    return world_of(x, like).as_value(x, what)


def sum(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False, dtype: Any = None) -> Array:
    """The sum over the dimensions, all for None."""
    return world_of(x).sum(x, axis, keepdims=keepdims, dtype=dtype)


def mean(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The sum over the number of elements."""
    return world_of(x).mean(x, axis, keepdims=keepdims)


def max(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The largest element."""
    return world_of(x).max(x, axis, keepdims=keepdims)


def any(x: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """Whether an element is not 0."""
    return world_of(x).any(x, axis, keepdims=keepdims)


def cumsum(x: ArrayLike, axis: int, *, exclusive: bool = False) -> Array:
    """Element i is the sum of 0 ... i of its line; exclusive: of 0 ... i - 1."""
    return world_of(x).cumsum(x, axis, exclusive=exclusive)


def cummax(x: ArrayLike, axis: int) -> Array:
    """Element i is the largest of 0 ... i of its line."""
    return world_of(x).cummax(x, axis)


def argmax(x: ArrayLike, axis: int | None = None) -> Array:
    """The place of the largest element, int32, the first of equal ones."""
    return world_of(x).argmax(x, axis)


def argsort(x: ArrayLike, axis: int = -1, *, descending: bool = False) -> Array:
    """The places of the elements in order, int32; equal ones keep theirs, also in descending order."""
    return world_of(x).argsort(x, axis, descending=descending)


def top_k(x: ArrayLike, k: int) -> tuple[Array, Array]:
    """The k largest elements of the last dimension, from the largest on, and their places, int32; of equal ones the first
    comes first."""
    return world_of(x).top_k(x, k)


def full(shape: Shape, value: ArrayLike, dtype: Any = None, *, like: ArrayLike) -> Array:
    """The value everywhere, in the world of `like`."""
    return world_of(like).full(shape, value, dtype, like)


def ones(shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Ones everywhere, in the world of `like`."""
    return world_of(like).ones(shape, dtype, like)


def zeros(shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Zeros everywhere, in the world of `like`; NumPy's, which either takes, where it is None and nothing is traced."""
    if like is None and not is_tracing():
        return np.zeros(shape, dtype)
    return world_of(like).zeros(shape, dtype, like)


def iota(shape: Shape, axis: int, *, like: ArrayLike) -> Array:
    """Each element is its index along the dimension, int32, in the world of `like`."""
    return world_of(like).iota(shape, axis, like)


def reshape(x: ArrayLike, shape: Shape) -> Array:
    """The same elements, row-major; one size may be -1."""
    return world_of(x).reshape(x, shape)


def broadcast_to(x: ArrayLike, shape: Shape) -> Array:
    """Repeated along new dimensions and those of size 1."""
    return world_of(x).broadcast_to(x, shape)


def concatenate(parts: Sequence[ArrayLike], axis: int = 0) -> Array:
    """One behind the other."""
    return world_of(*parts).concatenate(parts, axis)


def stack(parts: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Along a new dimension of the result."""
    return world_of(*parts).stack(parts, axis)


def halves(x: ArrayLike, axis: int) -> tuple[Array, Array]:
    """The first and the second half of a dimension of even size, whose gradients are put together again."""
    return world_of(x).halves(x, axis)


def pad(x: ArrayLike, widths: Sequence[tuple[int, ...]], value: ArrayLike = 0) -> Array:
    """With elements (before, behind) or (before, behind, between) of each dimension."""
    return world_of(x).pad(x, widths, value)


def repeat(x: ArrayLike, count: int, axis: int) -> Array:
    """Each element of the dimension `count` times in a row."""
    return world_of(x).repeat(x, count, axis)


def moveaxis(x: ArrayLike, source: int, target: int) -> Array:
    """Dimension `source` in place `target`, the others in their order."""
    return world_of(x).moveaxis(x, source, target)


def take(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """Rows of a dimension: x[..., indices, ...]. Out of range: the nearest end."""
    return world_of(x, indices).take(x, indices, axis)


def take_along_axis(x: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """NumPy's: element (i, j) is x[indices[i, j], j] for axis 0. Out of range: the nearest end."""
    return world_of(x, indices).take_along_axis(x, indices, axis)


def dynamic_slice(x: ArrayLike, starts: Sequence[ArrayLike], sizes: Sequence[int]) -> Array:
    """The box of these sizes that begins where scalars of the program say, one a dimension; clamped to lie inside."""
    return world_of(x).dynamic_slice(x, starts, sizes)


def take_rows(values: ArrayLike, numbers: ArrayLike) -> Array:
    """values [G, N, ...], numbers [G, R] int32: [G, R, ...], each group on its own. Out of range: the nearest row."""
    return world_of(values, numbers).take_rows(values, numbers)


def put_rows(values: ArrayLike, numbers: ArrayLike, rows: ArrayLike) -> Array:
    """values [G, N, ...] with rows [G, R, ...] at their numbers [G, R]; out of range: none."""
    return world_of(values, numbers, rows).put_rows(values, numbers, rows)


def add_rows(values: ArrayLike, numbers: ArrayLike, rows: ArrayLike) -> Array:
    """As `put_rows`, added to what is there."""
    return world_of(values, numbers, rows).add_rows(values, numbers, rows)


def shape_of(x: ArrayLike) -> tuple[int, ...]:
    """The sizes of the dimensions, of numbers none."""
    return world_of(x).shape_of(x)
