# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch as Shoal programs.

    exe = shoal.torch.compile(module, (x,), mesh=mesh, params={"*.up.weight": P("model")}, inputs=P("data"))
    model = shoal.torch.jit(module, mesh=mesh)
    step = shoal.torch.train_step(module, loss=loss, optimizer=torch.optim.AdamW(module.parameters()), batch=batch)
    text = shoal.torch.import_program("model.pt2")

In layers, each of which imports those above it:

    graph, refusals, types                  a program of torch as data
    traces, trees, names                    places, nesting, what values are called
    gradients, functions                    backwards that Functions have of their own
    pt2, fx, capture                        graphs of files and of exported programs, and what is exported
    registry, settings, op, lifting, ops,   from a graph to a program, op by op
    importer, programs, experts
    tensors, files, shardings, specs,       arrays, and where they lie
    plans, module_plans, activations, annotations
    sources, calls, importing               what is imported, and how its calls nest
    derivatives, segments                   programs of gradients, and what they compute again
    compiler, jit, dynamo, generation,      what runs
    directions, optimizers, train
    peers, checking                         steps of others, and ours beside them

To import the package imports no torch: .pt2 files need none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.torch.compiler import Compiled, compile
from shoal.torch.files import load_safetensors, save_safetensors
from shoal.torch.pt2 import from_pt2
from shoal.torch.graph import Graph
from shoal.torch.importing import import_program, supported_ops
from shoal.torch.jit import jit
from shoal.torch.module_plans import sharding_plan
from shoal.torch.plans import dtensor_plan, ep_plan, mesh_of, tp_plan
from shoal.torch.tensors import to_numpy, to_torch

if TYPE_CHECKING:
    from shoal.torch.annotations import annotate
    from shoal.torch.dynamo import backend
    from shoal.torch.capture import export
    from shoal.torch.checking import check
    from shoal.torch.experts import register_experts
    from shoal.torch.fx import from_fx
    from shoal.torch.generation import generator
    from shoal.torch.train import train_step

__all__ = [
    "Compiled", "Graph", "annotate", "backend", "check", "compile", "dtensor_plan", "ep_plan", "export", "from_fx", "from_pt2",
    "generator", "import_program", "jit", "load_safetensors", "mesh_of", "register_experts", "save_safetensors", "sharding_plan", "supported_ops", "to_numpy", "to_torch", "tp_plan",
    "train_step",
]  # fmt: skip


# What needs torch is imported with its first use.
_WITH_TORCH = ("annotate", "backend", "check", "export", "from_fx", "generator", "register_experts", "train_step")


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shoal.torch.annotations import annotate
    from shoal.torch.dynamo import backend
    from shoal.torch.capture import export
    from shoal.torch.checking import check
    from shoal.torch.experts import register_experts
    from shoal.torch.fx import from_fx
    from shoal.torch.generation import generator
    from shoal.torch.train import train_step

    return next(made for made in (annotate, backend, check, export, from_fx, generator, register_experts, train_step) if made.__name__ == name)
