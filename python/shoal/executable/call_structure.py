# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the arrays of a call nest in tuples, lists and dicts, in a form that files can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import InputError

# "*" is an array, None is None, and {"tuple": [...]}, {"list": [...]} and
# {"dict": {key: ...}} nest.
Tree = Any


def flatten(tree: Tree, value: Any, place: str = "inputs") -> list[Any]:
    """The arrays in a value, in the tree's order; InputError where it nests otherwise."""
    if tree == "*":
        return [value]
    if tree is None:
        if value is None:
            return []
        raise InputError(f"{place}: expected None but got {type(value).__name__}")
    (kind, children), *_ = tree.items()
    if kind == "dict":
        if not isinstance(value, Mapping) or set(value) != set(children):
            got = f"{sorted(map(str, value))}" if isinstance(value, Mapping) else _kind(value)
            raise InputError(f"{place}: expected a dict of {sorted(children)} but got {got}")
        parts = [(child, value[key], f"{place}[{key!r}]") for key, child in children.items()]
    else:
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise InputError(f"{place}: expected a {kind} but got {_kind(value)}")
        if len(value) != len(children):
            raise InputError(
                f"{place}: expected a {kind} of {len(children)} but got {len(value)}"
            )
        parts = [(child, value[i], f"{place}[{i}]") for i, child in enumerate(children)]
    return [leaf for child, part, where in parts for leaf in flatten(child, part, where)]


def _kind(value: Any) -> str:
    return type(value).__name__


def unflatten(tree: Tree, leaves: Sequence[Any]) -> Any:
    """The inverse of flatten."""
    remaining = iter(leaves)
    return _build(tree, remaining)


def _build(tree: Tree, leaves: Any) -> Any:
    if tree == "*":
        return next(leaves)
    if tree is None:
        return None
    (kind, children), *_ = tree.items()
    if kind == "dict":
        return {key: _build(child, leaves) for key, child in children.items()}
    parts = [_build(child, leaves) for child in children]
    return tuple(parts) if kind == "tuple" else parts


class CallStructure:
    """How a call's inputs and outputs nest.

    Frontends with containers of their own derive from it: `flatten` and
    `unflatten` then know those, and the trees say what a file will hold.

    is_portable: False where the program does not read all arrays of a call: files
    have its arrays by name then.
    """

    is_portable = True

    def __init__(self, inputs: Tree, outputs: Tree):
        self.inputs = inputs
        self.outputs = outputs

    def flatten(self, inputs: Any) -> list[Any]:
        """The arrays in the order of the program's inputs; InputError."""
        return flatten(self.inputs, inputs)

    def unflatten(self, outputs: Sequence[Any]) -> Any:
        """The call's result, of arrays in the order of the program's outputs."""
        return unflatten(self.outputs, outputs)
