# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the inputs and results of a program lie, said by names, globs and positions."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend.annotations import P, as_ours, is_jax_spec
from shoal.mesh import Sharding
from shoal.names import nearest
from shoal.torch.graph import Graph, Tree
from shoal.torch.names import result_names


def is_spec(value: Any) -> bool:
    """Whether it says where one array lies."""
    return value is None or isinstance(value, (P, Sharding)) or is_jax_spec(value)


def by_globs(globs: Mapping[str, Any], names: Iterable[str], what: str) -> dict[str, Any]:
    """The last glob's that matches, of each name that one does.

    globs: "layers.*.mlp.{up,down}_proj.weight" to P(...). "*" also stands for dots.
    TraceError for a glob that matches no name, TraceTypeError for what is no sharding.
    """
    listed, found = list(names), {}
    for glob, spec in globs.items():
        if not is_spec(spec):
            raise TraceTypeError(f'{what}: "{glob}": expected shoal.P(...), a Sharding or None, got {spec!r}')
        matching = [name for name in listed if any(fnmatch.fnmatchcase(name, one) for one in expanded(glob))]
        if not matching:
            raise TraceError(f'{what}: "{glob}" matches none of {len(listed)} names{nearest(glob, listed)}')
        found.update(dict.fromkeys(matching, as_ours(spec, what)))
    return found


def expanded(glob: str) -> list[str]:
    """The globs without braces that one with braces stands for."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if found is None:
        return [glob]
    parts = found.group(1).split(",")
    return [one for part in parts for one in expanded(glob[: found.start()] + part + glob[found.end() :])]


def of_state(graph: Graph, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Of parameters, buffers and constants, by their names or those of tied ones."""
    if params is None:
        return {}
    first = {name: given.name for given in graph.inputs if given.kind != "user" for name in (given.name, *given.aliases)}
    found = by_globs(params, first, "params")
    return {first[name]: spec for name, spec in found.items()}


def of_arguments(graph: Graph, inputs: Any) -> dict[str, Any]:
    """Of a call's arguments: one spec for all that have its dimensions, by names, or a tuple for the positional ones, each
    nested or a spec for all below it."""
    users = [given for given in graph.inputs if given.kind == "user"]
    ranks = {given.name: len(given.type.shape) for given in users if given.type is not None}
    names = list(ranks)
    if is_spec(inputs):
        spec = as_ours(inputs, "inputs")
        return {} if spec is None else {name: spec for name, rank in ranks.items() if rank >= len(spec.dims)}
    if isinstance(inputs, Mapping):
        return by_globs(inputs, names, "inputs")
    positional = graph.in_tree.children[0] if graph.in_tree.children else graph.in_tree
    specs = _spread(inputs, positional, "inputs")
    return {given.name: spec for given, spec in zip(users, specs) if spec is not None and given.type is not None}


def of_results(graph: Graph, outputs: Any) -> dict[str, Any]:
    """Of what the module returns, as `of_arguments` takes it."""
    names = result_names(graph.out_tree)
    if is_spec(outputs):
        return {} if outputs is None else dict.fromkeys(names, as_ours(outputs, "outputs"))
    if isinstance(outputs, Mapping):
        return by_globs(outputs, names, "outputs")
    return {name: spec for name, spec in zip(names, _spread(outputs, graph.out_tree, "outputs")) if spec is not None}


def _spread(prefix: Any, tree: Tree, what: str) -> list[Any]:
    """A spec for each leaf; one stands for all below it."""
    if is_spec(prefix):
        return [as_ours(prefix, what)] * tree.leaves
    if not isinstance(prefix, Sequence) or len(prefix) != len(tree.children):
        raise TraceTypeError(f"{what}: expected {len(tree.children)} of P(...), a Sharding, None or tuples, got {prefix!r}")
    return [spec for part, child in zip(prefix, tree.children) for spec in _spread(part, child, what)]
