# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What optimisers do leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.arrays import as_value, is_array, sum, zeros
from shoal.errors import TraceError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.tracing import TensorSpec

Tree = Any


def zip_leaves(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """A tree of what the function makes of the leaves at each place of trees of one structure."""
    spec = pytrees.flatten(tree)[1]
    for other in others:
        actual = pytrees.flatten(other)[1]
        if actual != spec:
            raise TraceError(
                f"optim: a tree has the structure {pytrees.describe(actual)}, "
                f"the gradients have {pytrees.describe(spec)}"
            )
    return pytrees.map_leaves(function, tree, *others)


def unzip(tree: Tree, count: int) -> tuple[Tree, ...]:
    """Of a tree whose leaves are lists of `count` values that many trees."""
    return tuple(zip_leaves(lambda parts, i=i: parts.values[i], tree) for i in range(count))


class Parts:
    """Several results for one leaf: a leaf itself."""

    def __init__(self, *values: Any):
        self.values = values


def widened(leaf: Any, like: Any = None) -> Any:
    """A value in the type that sums are made in: float32 where its own has fewer bits. like: as of `as_value`."""
    value = as_value(leaf, like)
    return value.astype(dtypes.of_sums(value.dtype))


def sums_like(tree: Tree) -> Tree:
    """Zeros like each leaf, in the type of sums: arrays of its world, NumPy's of NumPy's, and of specs specs,
    as nobody has room for the state of a model that is compiled for many devices."""
    return pytrees.map_leaves(_zeros, tree)


def _zeros(leaf: Any) -> Any:
    if is_array(leaf):
        return zeros(leaf.shape, dtypes.of_sums(leaf.dtype), like=leaf)
    if isinstance(leaf, TensorSpec):
        return TensorSpec(leaf.shape, dtypes.of_sums(leaf.dtype), leaf.sharding)
    array = np.asarray(leaf) if not hasattr(leaf, "dtype") else leaf
    return np.zeros(array.shape, dtypes.of_sums(array.dtype))


def count() -> Any:
    """The number of steps so far, at the beginning."""
    return np.zeros((), np.int32)


def square_sum(leaf: Any) -> Any:
    value = as_value(leaf).astype("float32")
    return sum(value * value)
