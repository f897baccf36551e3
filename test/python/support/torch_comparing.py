# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports programs of PyTorch, and compares what is imported of them with torch. Needs torch."""

import io

import ml_dtypes
import numpy as np
import torch

from shoal.torch.capture import export
from shoal.torch.fx import from_fx
from shoal.torch.pt2 import from_pt2
from shoal.torch.programs import write_program
from torch_import_testing import differences, run


def array_of(tensor):
    """NumPy's array of a tensor, of bfloat16 too; of complex numbers pairs."""
    tensor = tensor.detach().contiguous()
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj()).numpy()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def graph_of(module, *args, **kwargs):
    """The graph of a module or function, by both readers, which give the same program."""
    program = export(module, args, kwargs)
    file = io.BytesIO()
    torch.export.save(program, file)
    graph, read = from_fx(program), from_pt2(file)
    texts = [write_program(g).text.replace(f'"{g.name}"', '"main"') for g in (graph, read)]
    assert texts[0] == texts[1]
    for name, tensor in graph.state.items():
        if isinstance(tensor, torch.Tensor) and name in read.state:
            np.testing.assert_array_equal(_bits(array_of(tensor)), _bits(read.state[name]))
    return graph


def _bits(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def compare_with_torch(module, *args, **kwargs):
    """Asserts that every result of a module or function is torch's; returns its graph."""
    graph = graph_of(module, *args, **kwargs)
    program = write_program(graph)
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    given = [entry.name for entry in graph.inputs if entry.kind == "user" and entry.type is not None]
    inputs = dict(zip(given, map(array_of, leaves), strict=True))
    inputs |= {entry.name: array_of(graph.state[entry.name]) for entry in graph.inputs if entry.kind != "user"}
    results = torch.utils._pytree.tree_leaves(module(*args, **kwargs))
    names = [output.name for output in graph.outputs if output.kind == "user"]
    expected = {
        name: array_of(result) for name, result in zip(names, results) if isinstance(result, torch.Tensor)
    }
    actual = run(program.text, inputs, {name: program.outputs[name] for name in program.outputs})
    wrong = differences(actual, expected)
    assert not wrong, "\n".join(wrong)
    return graph
