# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as segments that backward passes compute again: their nodes in a row are one node, which holds them as a graph."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import TraceError
from shoal.names import nearest
from shoal.torch.graph import Graph, Input, Node, Output, Ref, Result, names_in, types_of
from shoal.torch.shardings import expanded

SEGMENT = "shoal.segment"


def with_segments(graph: Graph, policies: Mapping[str, str]) -> Graph:
    """policies: what is saved, of `shoal.remat`, by globs over modules' paths, of which the last that matches counts. A module within one
    that matches is part of it. TraceError of a glob that matches no module."""
    paths = sorted({path for node in graph.nodes for path in _and_parents(node.place.module)})
    for glob in policies:
        if not any(fnmatch.fnmatchcase(path, one) for path in paths for one in expanded(glob)):
            raise TraceError(f'remat: "{glob}" matches none of {len(paths)} modules{nearest(glob, paths)}')
    owners = {path: _owner(path, policies) for path in {node.place.module for node in graph.nodes}}
    types = types_of(graph)
    constants = {given.value: given for given in graph.inputs if given.type is None}
    runs = [(owner, list(nodes)) for owner, nodes in itertools.groupby(graph.nodes, lambda node: owners[node.place.module])]
    nodes: list[Node] = []
    for number, (owner, run) in enumerate(runs):
        if owner is None:
            nodes += run
        else:
            later = [name for _, others in runs[number + 1 :] for node in others for name in names_in(node.args)]
            nodes.append(_segment(run, owner, types, constants, {*later, *(names_in([output.value for output in graph.outputs]))}))
    return Graph(graph.inputs, tuple(nodes), graph.outputs, graph.name, graph.state, graph.in_tree, graph.out_tree)


def _segment(nodes: Sequence[Node], owner: tuple[str, str], types: Mapping[str, Any], constants: Mapping[str, Input], read: set[str]) -> Node:
    path, policy = owner
    made = [result.name for node in nodes for result in node.results]
    outside = [name for name in dict.fromkeys(n for node in nodes for n in names_in(node.args)) if name not in made]
    operands = [name for name in outside if name not in constants]
    results = [name for name in made if name in read and types[name] is not None]
    inner = Graph(
        tuple(constants.get(name) or Input("user", name, name, types[name]) for name in outside),
        tuple(nodes),
        tuple(Output("user", name, Ref(name)) for name in results),
        path,
    )
    args = {"operands": [Ref(name) for name in operands], "graph": inner, "policy": policy}
    return Node(SEGMENT, args, tuple(Result(name, types[name]) for name in results), nodes[0].place)


def _owner(path: str, policies: Mapping[str, str]) -> tuple[str, str] | None:
    """The outermost module around a path that a glob matches, and its policy."""
    for parent in _and_parents(path):
        found = [policy for glob, policy in policies.items() if any(fnmatch.fnmatchcase(parent, one) for one in expanded(glob))]
        if found:
            return parent, found[-1]
    return None


def _and_parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)] if path else []
