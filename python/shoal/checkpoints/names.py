# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The leaves of trees by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.frontend import pytrees


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """params/layers/wi: the keys, fields and positions that lead to each leaf; of a tree that is a
    leaf, "value"."""
    names = ["/".join(path) or "value" for path in pytrees.field_paths(tree)]
    return list(zip(names, pytrees.flatten(tree)[0]))


def spec_of(leaf: Any) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and the type of an array, a TensorSpec or a number."""
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return tuple(leaf.shape), np.dtype(leaf.dtype)
    array = np.asarray(leaf)
    return array.shape, array.dtype
