# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that make the gradients of a graph's loss."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import TraceError
from shoal.frontend.autodiff import value_and_grad
from shoal.frontend.tracing import Program, trace_program
from shoal.frontend.value import Value
from shoal.mesh import Mesh
from shoal.torch.graph import Graph, names_in
from shoal.torch.importer import Hooks, Importer, check
from shoal.torch.programs import evaluate, result_order, spec_of
from shoal.torch.settings import Settings

PREFIX = "grad."


_STOPS = frozenset({"aten.detach.default", "aten.detach_copy.default"})
# Stands for a backward that could not be traced, of a forward that was, without gradients: who asks for them is refused.
_UNKNOWN = "shoal.no_gradient.default"


def inputs_behind(graph: Graph, result: str) -> set[str]:
    """The names of the inputs that a result of the graph has a derivative by, 0 or not: those that torch gives a gradient."""
    wanted = {name for output in graph.outputs if output.name == result for name in names_in(output.value)}
    stops = _STOPS
    for node in reversed(graph.nodes):
        floats = (each.name for each in node.results if each.type is not None and each.type.dtype.kind not in "biu")
        if node.target not in stops and not wanted.isdisjoint(floats):
            wanted.update(names_in(node.args))
            stops = frozenset() if node.target == _UNKNOWN else stops
    return {given.name for given in graph.inputs if given.value in wanted}


def write_gradients(
    graph: Graph,
    names: Sequence[str],
    mesh: Mesh | None = None,
    *,
    shardings: Mapping[str, Any] | None = None,
    hooks: Hooks | None = None,
    settings: Settings | None = None,
) -> Program:
    """The program of a graph's results and the gradients of its result "loss", a scalar, by inputs.

    names: of these inputs; gradients are results "grad.NAME", and lie as the inputs do. Others as of `write_program`; random numbers are
    those of seed 0. TraceError where there is no result "loss"; UnsupportedError with all that is in the way.
    """
    check(graph)
    if "loss" not in result_order(graph):
        raise TraceError(f'gradients: expected a result "loss" but got {", ".join(result_order(graph))}')
    given, told = shardings or {}, settings or Settings(is_differentiated=True)
    specs = OrderedDict(
        (each.name, spec_of(each.type, given.get(each.name))) for each in graph.inputs if each.type is not None
    )

    def main(**values: Value) -> OrderedDict[str, Value]:
        def loss_of(chosen: Mapping[str, Value]) -> Any:
            results = evaluate(graph, Importer(0, hooks, told), {**values, **chosen})
            return results.pop("loss"), dict(results)

        (loss, others), grads = value_and_grad(loss_of, has_aux=True)({name: values[name] for name in names})
        return OrderedDict({"loss": loss, **others, **{f"{PREFIX}{name}": grads[name] for name in names}})

    others = [name for name in result_order(graph) if name != "loss"]
    places = {"loss": None, **dict.fromkeys(others), **{f"{PREFIX}{name}": given.get(name) for name in names}}
    return trace_program(main, specs, mesh, out_shardings=OrderedDict(places), name=graph.name)
