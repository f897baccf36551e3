# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `compile` and `jit` take for a program, as a graph. Torch is imported where it is one of torch's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.errors import TraceTypeError
from shoal.torch.pt2 import from_pt2
from shoal.torch.graph import Graph
from shoal.torch.tensors import to_numpy


class Source(NamedTuple):
    """graph: with its state as NumPy's arrays. rebuild: as of `Call`. is_torch: whether results are tensors."""

    graph: Graph
    rebuild: Callable[[Sequence[Any]], Any] | None
    is_torch: bool


def source_of(program: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Source:
    """The graph of a module, a function, an exported program, a .pt2 file or a graph.

    args, kwargs: with the shapes and types of calls; only modules and functions take them.
    """
    if isinstance(program, Graph):
        return Source(program, None, False)
    if isinstance(program, (str, os.PathLike)):
        return Source(from_pt2(program), None, False)
    import torch

    from shoal.torch.capture import export
    from shoal.torch.fx import from_fx

    if isinstance(program, torch.export.ExportedProgram):
        exported, name = program, "main"
    elif callable(program):
        exported = export(program, args, kwargs)
        name = getattr(program, "__name__", type(program).__name__)
    else:
        raise TraceTypeError(
            f"expected a module, a function, an ExportedProgram or a .pt2 file, got {type(program).__name__}"
        )
    spec = exported.call_spec.out_spec

    def rebuild(leaves: Sequence[Any]) -> Any:
        return torch.utils._pytree.tree_unflatten(leaves, spec)

    return Source(from_fx(exported, name), rebuild, True)


def state_of(graph: Graph) -> dict[str, Any]:
    """The arrays of a graph's parameters, buffers and constants by their names; none of those that have no numbers."""
    names = [given.name for given in graph.inputs if given.kind != "user"]
    tensors = {name: graph.state[name] for name in names if name in graph.state}
    return {name: to_numpy(tensor) for name, tensor in tensors.items() if not _is_meta(tensor)}


def _is_meta(tensor: Any) -> bool:
    return getattr(getattr(tensor, "device", None), "type", "") == "meta"
