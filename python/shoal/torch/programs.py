# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a graph to a program in Shoal MLIR."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import UnsupportedError
from shoal.frontend.core import current
from shoal.frontend.tracing import Program, TensorSpec, trace_program
from shoal.frontend.value import Value
from shoal.mesh import Mesh
from shoal.mesh_sharding import MeshSharding
from shoal.torch.graph import Graph, Ref, Type
from shoal.torch.halves import outer_type, taken_apart
from shoal.torch.importer import Hooks, Importer, check
from shoal.torch.settings import Settings

# What a program that draws random numbers reads beside its arguments: a key, as of shoal.random.key.
SEED = "seed"


def write_program(
    graph: Graph,
    mesh: Mesh | None = None,
    *,
    shardings: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
    hooks: Hooks | None = None,
    settings: Settings | None = None,
    inputs: Sequence[MeshSharding | None] = (),
    outputs: Sequence[MeshSharding | None] = (),
) -> Program:
    """The program of a graph.

    shardings, results: where inputs and outputs lie, by their names. inputs, outputs: the same of those that these
      say nothing of, in the program's order.
    hooks: what is done at values beside what the graph says. settings: what importers are told.

    Inputs are the graph's, by their names, that are tensors; then, where it draws random numbers, "seed", int32[2]. Results
    are what the module returns and what it writes over; buffers are donated for that. UnsupportedError with all that is in the way.
    """
    check(graph)
    shardings, results = shardings or {}, results or {}
    specs = OrderedDict(
        (given.name, spec_of(given.type, shardings.get(given.name))) for given in graph.inputs if given.type is not None
    )
    importer = Importer(hooks=hooks, settings=settings)
    program = _traced(graph, importer, specs, mesh, results, inputs, outputs)
    if not importer.draws:
        return program
    specs[SEED] = TensorSpec((2,), np.int32, shardings.get(SEED))
    return _traced(graph, Importer(SEED, hooks, settings), specs, mesh, results, inputs, outputs)


def _traced(
    graph: Graph,
    importer: Importer,
    specs: OrderedDict[str, TensorSpec],
    mesh: Mesh | None,
    results: Mapping[str, Any],
    inputs: Sequence[MeshSharding | None],
    outputs: Sequence[MeshSharding | None],
) -> Program:
    def main(**values: Value) -> OrderedDict[str, Value]:
        return evaluate(graph, importer, values)

    # A caller's own arrays are not given away: what is written over them is copied back.
    written = {output.name for output in graph.outputs if output.kind == "buffer"}
    return trace_program(
        main,
        specs,
        mesh,
        out_shardings=OrderedDict((name, results.get(name)) for name in result_order(graph)),
        name=graph.name,
        donated=[name in written for name in specs],
        inputs=inputs,
        outputs=outputs,
    )


def spec_of(type: Type, sharding: Any) -> TensorSpec:
    """What a program takes for a value of a graph."""
    given = outer_type(type)
    return TensorSpec(given.shape, given.dtype, sharding)


def evaluate(graph: Graph, importer: Importer, values: Mapping[str, Any]) -> OrderedDict[str, Value]:
    """The results of a graph by their names, for values by the names of its inputs."""
    if isinstance(importer.seed, str):
        importer.seed = values[importer.seed]
    # The function itself is where its first op is: it has no line in this process.
    place = next((node.place.location for node in graph.nodes if node.place.file), None)
    current("a program of torch").builder.location = place
    known = {given.value: taken_apart(values[given.name], given.type) for given in graph.inputs if given.type is not None}
    made = importer.run(graph, known)
    if importer.problems:
        raise UnsupportedError("\n".join(importer.problems)) from importer.cause
    kept = [(output, value) for output, value in zip(graph.outputs, made) if isinstance(output.value, Ref)]
    return OrderedDict((output.name, value) for output, value in kept if isinstance(value, Value))


def result_order(graph: Graph) -> list[str]:
    """The names of the program's results, in their order: those that are tensors."""
    constants = {given.value for given in graph.inputs if given.type is None}
    return [
        output.name
        for output in graph.outputs
        if isinstance(output.value, Ref) and output.value.name not in constants
    ]
