# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of scalars, as masks and scores of FlexAttention are, as graphs of arrays: what torch.vmap makes of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.torch.graph import Graph, Input, Node, Ref, Type, names_in
from shoal.torch.refusals import Unsupported, refused_at
from shoal.torch.registry import family_of

# What is done element by element, and so alike to scalars and to arrays of one shape.
_ELEMENTWISE = ("arithmetic", "elementwise")
_GATHERS = ("aten.index.Tensor", "aten._unsafe_index.Tensor")


def lifted(graph: Graph, types: Sequence[Type]) -> Graph:
    """The graph for its first inputs as arrays of these types, which broadcast together; the others stay.

    Where the type of elements is another than the graph's, what is made of such an input has it, too. Unsupported with the line of an op
    that is not done element by element and is no choice of a scalar by indices.
    """
    new = {given.value: type for given, type in zip(graph.inputs, types)}
    wider = {given.value: type.dtype for given, type in zip(graph.inputs, types) if given.type and given.type.dtype != type.dtype}
    narrow = {given.type.dtype for given in graph.inputs if given.value in wider and given.type}
    nodes = []
    for node in graph.nodes:
        read = [name for name in names_in(node.args) if name in new]
        if read:
            _check(node, new)
            shape = np.broadcast_shapes(*(new[name].shape for name in read))
            dtype = next((wider[name] for name in read if name in wider), None)
            node = _with_shape(node, shape, dtype, narrow)
            for result in node.results:
                assert result.type is not None
                new[result.name] = result.type
                if dtype is not None and result.type.dtype == dtype:
                    wider[result.name] = dtype
        nodes.append(node)
    inputs = tuple(_of_type(given, new.get(given.value)) for given in graph.inputs)
    return dataclasses.replace(graph, inputs=inputs, nodes=tuple(nodes))


def _of_type(given: Input, type: Type | None) -> Input:
    return given if type is None else dataclasses.replace(given, type=type)


def _with_shape(node: Node, shape: tuple[int, ...], dtype: np.dtype | None, narrow: set[np.dtype]) -> Node:
    results = []
    for result in node.results:
        assert result.type is not None
        kept = result.type.dtype if dtype is None or result.type.dtype not in narrow else dtype
        results.append(dataclasses.replace(result, type=Type(shape, kept)))
    return dataclasses.replace(node, results=tuple(results))


def _check(node: Node, arrays: Mapping[str, Type]) -> None:
    is_scalar = all(result.type is not None and not result.type.shape for result in node.results)
    is_gather = node.target in _GATHERS and not any(name in arrays for name in names_in(node.args["self"]))
    if not is_scalar or not (is_gather or family_of(node.target) in _ELEMENTWISE):
        raise Unsupported(refused_at(node.place, node.target, "a mask or a score is made of scalars, by ops of one element and by indices"))
