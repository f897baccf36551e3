# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The leaves of trees by name."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import optree

from shoal.errors import InputError
from shoal.frontend import pytrees


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """params/layers/wi: the keys, fields and positions that lead to each leaf; of a tree that is a
    leaf, "value"."""
    return Names().named_leaves(tree)


class Names:
    """Those of the tree that was asked for last, which a tree of its form has, too."""

    def __init__(self) -> None:
        self._spec: optree.PyTreeSpec | None = None
        self._names: list[str] = []

    def named_leaves(self, tree: Any) -> list[tuple[str, Any]]:
        leaves, spec = pytrees.flatten(tree)
        if spec != self._spec:
            self._names = ["/".join(path) or "value" for path in pytrees.field_paths(spec)]
            self._spec = spec
        return list(zip(self._names, leaves))


def check_unmasked(leaf: Any, name: str) -> None:
    """InputError for a masked array, of which the values alone would be kept."""
    if isinstance(leaf, np.ma.MaskedArray):
        raise InputError(f"{name}: a masked array: files know no masks, fill it by .filled()")


def check_names(missing: Collection[str], unknown: Collection[str], path: Any) -> None:
    """InputError where a source has not arrays that a tree has, or has others."""
    for names, what in ((missing, "has no"), (unknown, "has an unknown")):
        if names:
            raise InputError(
                f"{path}: {what} {listed(names)}; with strict=False what is missing begins anew, and the rest "
                "is left out"
            )


def listed(names: Collection[str]) -> str:
    """The first of them, and how many there are."""
    return f"{', '.join(sorted(names)[:5])} ({len(names)} in all)"


def spec_of(leaf: Any) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and the type of an array, a TensorSpec or a number; what is read has the machine's
    order of bytes."""
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return tuple(leaf.shape), np.dtype(leaf.dtype).newbyteorder("=")
    array = np.asarray(leaf)
    return array.shape, array.dtype
