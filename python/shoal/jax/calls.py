# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the arrays of calls of a JAX function nest, and what is a key among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from shoal.errors import InputError
from shoal.executable import CallStructure


class JaxCall(CallStructure):
    """Pytrees, also of containers that files do not know.

    out_keys: the implementation of each result that is an array of PRNG keys, or None.
    kept: which of a call's arrays the program reads; None: all. A file of a program that reads
    not all of them has them by name.
    """

    def __init__(
        self,
        in_tree: Any,
        out_tree: Any,
        out_keys: Sequence[Any],
        kept: Sequence[int] | None = None,
    ):
        super().__init__(_arguments(_plain(in_tree)), _plain(out_tree))
        self.is_portable = kept is None
        self._in_tree = in_tree
        self._out_tree = out_tree
        self._out_keys = out_keys
        self._kept = kept

    def flatten(self, inputs: Any) -> list[Any]:
        if not _is_call(inputs):
            inputs = (tuple(inputs) if isinstance(inputs, list) else inputs, {})
        leaves, tree = jax.tree.flatten(inputs)
        if tree != self._in_tree:
            raise InputError(f"inputs: expected {self._in_tree} but got {tree}")
        if self._kept is not None:
            leaves = [leaves[i] for i in self._kept]
        return [as_numbers(leaf) for leaf in leaves]

    def unflatten(self, outputs: Sequence[Any]) -> Any:
        leaves = [
            jax.random.wrap_key_data(array, impl=key) if key else array
            for array, key in zip(outputs, self._out_keys)
        ]
        return jax.tree.unflatten(self._out_tree, leaves)


def as_numbers(leaf: Any) -> Any:
    """JAX's arrays as NumPy's, keys as their bits; anything else as it is."""
    if isinstance(leaf, jax.Array) and is_key(leaf.dtype):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def is_key(dtype: Any) -> bool:
    """Whether arrays of this type are of PRNG keys."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def key_types(arrays: Sequence[Any]) -> list[Any]:
    """What jax.random.wrap_key_data needs to know of each array, or None of numbers."""
    return [
        str(array.dtype._impl.name) if is_key(array.dtype) else None  # pylint: disable=protected-access
        for array in arrays
    ]


def _arguments(call: Any) -> Any:
    """Of the pair (arguments, keywords) that JAX's calls are, the first alone where that is all."""
    arguments, keywords = call["tuple"]
    return call if keywords["dict"] else arguments


def _is_call(inputs: Any) -> bool:
    """Whether inputs are positional and keyword arguments, not the former alone."""
    is_pair = isinstance(inputs, tuple) and len(inputs) == 2
    return is_pair and isinstance(inputs[0], tuple) and isinstance(inputs[1], dict)


def _plain(tree: Any) -> Any:
    """A pytree's structure as CallStructure spells it; other containers are lists."""
    data = tree.node_data()
    if data is None:
        return "*"
    kind, keys = data
    if kind is type(None):
        return None
    children = [_plain(child) for child in tree.children()]
    if kind is dict and all(isinstance(key, str) for key in keys):
        return {"dict": dict(zip(keys, children))}
    return {"tuple" if kind is tuple else "list": children}
