# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The trees of a traced function's calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optree

from shoal.errors import InputError
from shoal.executable import CallStructure
from shoal.frontend import pytrees
from shoal.frontend.tracing import Program


class TracedCall(CallStructure):
    """The trees of a traced function's arguments and result, also of optree's own kinds."""

    def __init__(self, program: Program):
        super().__init__(_portable(program.in_tree), _portable(program.out_tree))
        self._in_tree, self._out_tree = program.in_tree, program.out_tree

    def flatten(self, inputs: Any) -> Any:
        if isinstance(inputs, Mapping) and self._in_tree.type in (tuple, list):
            return inputs  # arrays by name
        if isinstance(inputs, list) and self._in_tree.type is tuple:
            inputs = tuple(inputs)
        leaves, tree = pytrees.flatten(inputs)
        if tree != self._in_tree:
            raise InputError(
                f"inputs: expected {pytrees.describe(self._in_tree)}, "
                f"got {pytrees.describe(tree)} (each * is an array)"
            )
        return leaves

    def unflatten(self, outputs: Sequence[Any]) -> Any:
        return pytrees.unflatten(self._out_tree, outputs)


def _portable(tree: optree.PyTreeSpec) -> Any:
    """As files hold it: kinds of trees that only optree knows become tuples."""
    if tree.is_leaf() or tree.type is None:
        return "*"
    if tree.type is type(None):
        return None
    children = [_portable(child) for child in tree.children()]
    if issubclass(tree.type, Mapping):
        return {"dict": {str(key): child for key, child in zip(tree.entries(), children)}}
    return {"list" if issubclass(tree.type, list) else "tuple": children}
