# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex tensors as two real ones, as programs have no other elements.

Within a program a complex value is a `Pair`. Who gives a program one, as an argument, a parameter or a
constant, gives a real array with a last dimension of 2, as torch.view_as_real and NumPy's memory have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shoal.frontend import indexing
from shoal.frontend.value import Value
from shoal.torch.graph import Graph, Node, Type


class Pair(NamedTuple):
    """The halves of a complex value: two real ones of its shape."""

    real: Value
    imag: Value


def is_complex(type: Type | None) -> bool:
    return type is not None and type.dtype.kind == "c"


def half_of(type: Type) -> Type:
    """The type of either half; a type that is not complex as it is."""
    return Type(type.shape, np.finfo(type.dtype).dtype) if is_complex(type) else type


def outer_type(type: Type) -> Type:
    """The type of what a program is given for a value; a type that is not complex as it is."""
    return Type((*type.shape, 2), half_of(type).dtype) if is_complex(type) else type


def taken_apart(value: Value, type: Type | None) -> Any:
    """The pair of an array with both halves of a complex value; any other value as it is."""
    return Pair(*(indexing.getitem(value, (..., part)) for part in (0, 1))) if is_complex(type) else value


def complex_inputs(graph: Graph) -> set[str]:
    """The names of a program's inputs that are complex."""
    return {given.name for given in graph.inputs if is_complex(given.type)}


def half_node(node: Node) -> Node:
    """The node with results of halves' types."""
    results = (dataclasses.replace(r, type=r.type and half_of(r.type)) for r in node.results)
    return dataclasses.replace(node, results=tuple(results))


def of_each(function: Callable[[Value], Value], value: Any) -> Any:
    """A function of a real value, of either half of a pair."""
    return Pair(*map(function, value)) if isinstance(value, Pair) else function(value)


def has_pair(argument: Any) -> bool:
    """Whether an argument of an op, a list of values also, has a complex value."""
    return isinstance(argument, Pair) or isinstance(argument, list) and any(map(has_pair, argument))


def part_of(argument: Any, part: int) -> Any:
    """One half of what is complex in an argument; the rest as it is."""
    if isinstance(argument, Pair):
        return argument[part]
    return [part_of(entry, part) for entry in argument] if isinstance(argument, list) else argument
