# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A backend of torch.compile, for inference and whole graphs.

    model = torch.compile(model, backend=shoal.torch.backend(mesh=mesh, params=plan), fullgraph=True)
    with torch.no_grad():
        y = model(x)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from shoal.devices import Devices
from shoal.errors import UnsupportedError
from shoal.mesh import Mesh
from shoal.torch.capture import export
from shoal.torch.fx import from_fx
from shoal.torch.graph import LEAF, Graph, Tree
from shoal.torch.jit import jit
from shoal.torch.tensors import to_numpy, to_torch

Backend = Callable[[torch.fx.GraphModule, Sequence[Any]], Callable[..., Any]]


def backend(
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    devices: Devices | None = None,
    **options: Any,
) -> Backend:
    """A backend for torch.compile: the graph runs on the devices of a mesh, on one without it.

    params: globs over names of `state_dict()`, as of `shoal.torch.jit`; inputs: one P for all arguments that have its dimensions, or by names.
      Parameters are brought to the devices once, and again when torch has written to them.
    UnsupportedError, which torch wraps in its own, without fullgraph=True, with gradients, and with all ops that have no counterpart.
    """

    def compiled(module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        _check(examples)
        names = _names(module)
        held = {names[i]: tensor for i, tensor in enumerate(examples) if isinstance(tensor, torch.nn.Parameter) or _is_state(names[i], module, i)}
        graph = _with_state(from_fx(export(module, examples), "model"), names, held)
        run = jit(graph, mesh=mesh, params=params, inputs=inputs, devices=devices, **options)
        versions = {name: tensor._version for name, tensor in held.items()}

        def call(*args: Any) -> Any:
            for name, tensor in held.items():
                if tensor._version != versions[name]:
                    versions[name], run.state[name] = tensor._version, to_numpy(tensor)
            result = run(*(arg for name, arg in zip(names, args) if name not in held))
            return torch.utils._pytree.tree_map(to_torch, result)

        return call

    return compiled


def shoal(module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    """The backend that torch.compile(backend="shoal") means where the package is installed: on one device."""
    return backend()(module, examples)


def _check(examples: Sequence[Any]) -> None:
    from torch._dynamo.symbolic_convert import InstructionTranslator

    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in examples):
        raise UnsupportedError("backend: gradients are not supported; call the module within torch.no_grad(), or train by shoal.torch.train_step")
    if not getattr(InstructionTranslator.current_tx(), "one_graph", False):
        raise UnsupportedError("backend: graphs that break are not supported; expected torch.compile(..., fullgraph=True)")


def _names(module: torch.fx.GraphModule) -> list[str]:
    """Of the graph's inputs: parameters and buffers as in `state_dict()`, others as torch calls them."""
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    return [_name(str(getattr(node.meta.get("grapharg"), "source", None) and node.meta["grapharg"].source.name), node.name) for node in nodes]


def _name(source: str, name: str) -> str:
    """"layers.0.weight" of "L['self']._modules['layers']._modules['0']._parameters['weight']"; "x" of "L['x']"."""
    parts = re.findall(r"_(?:modules|parameters|buffers)\['([^']+)'\]", source)
    if parts:
        return ".".join(parts)
    found = re.fullmatch(r"L\['(\w+)'\]", source)
    return found[1] if found else name


def _is_state(name: str, module: torch.fx.GraphModule, number: int) -> bool:
    node = [node for node in module.graph.nodes if node.op == "placeholder"][number]
    return "_buffers['" in str(getattr(node.meta.get("grapharg"), "source", None) and node.meta["grapharg"].source.name)


def _with_state(graph: Graph, names: Sequence[str], held: Mapping[str, torch.Tensor]) -> Graph:
    """The graph of a function of all, as that of a module with a state."""
    users = [given for given in graph.inputs if given.kind == "user"]
    renamed = {
        given.value: dataclasses.replace(given, kind="parameter" if name in held else "user", name=name)
        for given, name in zip(users, names, strict=True)
    }
    arguments = Tree("tuple", (LEAF,) * (len(names) - len(held)))
    return dataclasses.replace(
        graph,
        inputs=tuple(renamed.get(given.value, given) for given in graph.inputs),
        state={**graph.state, **{name: tensor.detach() for name, tensor in held.items()}},
        in_tree=Tree("tuple", (arguments, Tree("dict"))),
    )
