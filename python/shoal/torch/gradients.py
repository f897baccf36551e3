# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backwards of Functions, which are captured among the other nodes, as graphs that the Functions' nodes hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.torch.graph import Graph, Input, Node, Output, Ref, Type, names_in, types_of

OWN_GRADIENT = "shoal.own_gradient.default"
_COTANGENT = "shoal.cotangent.default"


def with_own_gradients(graph: Graph) -> Graph:
    """The graph, of whose nodes "shoal.own_gradient" hold their backward: a graph of cotangents, then of "residuals", values
    around it that it reads. What is made of cotangents is nowhere else. Graphs within it likewise."""
    behind = _behind_cotangents(graph.nodes)
    types = types_of(graph) if behind else {}
    nodes = []
    for node in graph.nodes:
        if any(result.name in behind for result in node.results):
            continue
        is_owner = node.target == OWN_GRADIENT and "backward" not in node.args
        nodes.append(_owning(node, _nodes_of_backward(graph.nodes, node, behind), types) if is_owner else _with_inner(node))
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _with_inner(node: Node) -> Node:
    if not any(isinstance(argument, Graph) for argument in node.args.values()):
        return node
    args = {name: with_own_gradients(arg) if isinstance(arg, Graph) else arg for name, arg in node.args.items()}
    return dataclasses.replace(node, args=args)


def _owning(node: Node, nodes: list[Node], types: Mapping[str, Type | None]) -> Node:
    args = dict(node.args)
    cotangents, gradients = args.pop("cotangents"), args.pop("gradients")
    made = {result.name for one in nodes for result in one.results} | {ref.name for ref in cotangents}
    read = dict.fromkeys(name for one in nodes for name in names_in(one.args))
    read |= dict.fromkeys(names_in(gradients))
    residuals = [name for name in read if name not in made]
    inputs = [Input("user", name, name, types[name]) for name in [ref.name for ref in cotangents] + residuals]
    outputs = [Output("user", f"gradient{i}", gradient) for i, gradient in enumerate(gradients)]
    inner = with_own_gradients(Graph(tuple(inputs), tuple(nodes), tuple(outputs), f"{args['name']}.backward"))
    return dataclasses.replace(node, args={**args, "residuals": [Ref(name) for name in residuals], "backward": inner})


def _behind_cotangents(nodes: Iterable[Node]) -> set[str]:
    """The values that are made of cotangents, and these, but for results of the nodes whose cotangents they are."""
    behind: set[str] = set()
    for node in nodes:
        own = ("cotangents", "gradients") if node.target == OWN_GRADIENT else ()
        read = (name for key, argument in node.args.items() if key not in own for name in names_in(argument))
        if node.target == _COTANGENT or any(name in behind for name in read):
            behind |= {result.name for result in node.results}
    return behind


def _nodes_of_backward(nodes: Sequence[Node], owner: Node, behind: set[str]) -> list[Node]:
    """Those that make a node's gradients of its cotangents, in their order."""
    own = set(names_in(owner.args["cotangents"]))
    wanted, found = set(names_in(owner.args["gradients"])), []
    for node in reversed(nodes):
        made = {result.name for result in node.results}
        if made & wanted & behind and not made & own:
            wanted |= set(names_in(node.args))
            found.append(node)
    return found[::-1]
