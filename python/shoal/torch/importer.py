# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a graph into the program that is traced: values, places, types.

What becomes of an op is said by the importers in `shoal.torch.ops`, by functions of `shoal.frontend`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import TraceError, UnsupportedError
from shoal.frontend import random
from shoal.frontend.broadcasting import as_operand
from shoal.frontend.core import at
from shoal.frontend.value import Value
from shoal.torch import ops
from shoal.torch.graph import Argument, Graph, Node, Output, Place, Ref, Result, Type, types_of
from shoal.torch.halves import Pair, half_node, half_of, has_pair, is_complex, of_each, part_of
from shoal.torch.op import NOT_MADE, Op
from shoal.torch.refusals import Unsupported, described, refused_at
from shoal.torch.registry import (
    find_complex_importer, find_importer, is_dropped, is_imported, is_of_halves, reason_of, takes, unknown_arguments,
)  # fmt: skip
from shoal.torch.settings import Settings

__all__ = ["Hooks", "Importer", "check"]

assert ops.__name__  # imported for what it enters


class Hooks:
    """What is done at values beside what the graph says; each gives the value that is read from there on."""

    def made(self, node: Node, value: Value) -> Value:
        """Of each result of a node."""
        return value


class Importer:
    """Imports graphs into the program that is traced in this thread."""

    def __init__(self, seed: Any = 0, hooks: Hooks | None = None, settings: Settings | None = None):
        """seed: of random numbers: a number, or a key, two int32, that the program reads."""
        self.seed = seed
        self.settings = settings or Settings()
        # What sums of all that is before were made of, by these: sizes of groups, of which they are the ends.
        self.summands: dict[Value, Value] = {}
        # How many ops have drawn random numbers so far.
        self.draws = 0
        # What is in the way, each once, and the first exception of these.
        self.problems: dict[str, None] = {}
        self.cause: Exception | None = None
        self._hooks = hooks or Hooks()

    def run(self, graph: Graph, values: Mapping[str, Any]) -> list[Any]:
        """What the graph's outputs are, for values of its inputs by their names in the graph.

        What is in the way is among the problems, and zeros stand for its results, so that all of it is found.
        """
        known = {given.value: given.constant for given in graph.inputs if given.type is None}
        known.update(values)
        for node in graph.nodes:
            if not is_dropped(node.target):
                with at(node.place.location):
                    self._import(node, known)
        return [self._output(output, known) for output in graph.outputs]

    def next_key(self) -> Value:
        """Another one for each op that draws, in the graph's order."""
        self.draws += 1
        base = random.key(self.seed) if isinstance(self.seed, int) else self.seed
        return random.fold_in(base, self.draws - 1)

    def _output(self, output: Output, known: Mapping[str, Any]) -> Any:
        try:
            return _resolved(output.value, known)
        except Unsupported as error:
            self.problems[refused_at(Place(), f'result "{output.name}"', str(error))] = None
            return as_operand(0, (), np.dtype("float32"))

    def _import(self, node: Node, known: dict[str, Any]) -> None:
        args: dict[str, Any] = {}
        try:
            args = {name: _resolved(arg, known) for name, arg in node.args.items() if _takes(node, name)}
            results = self._results(node, args)
            _check_results(node, results)
        except (Unsupported, TraceError) as error:
            self.problems[described(node, _types(args), str(error))] = None
            self.cause = self.cause or error
            results = [_nothing(result.type) for result in node.results]
        for result, value in zip(node.results, results):
            if result.type is not None:
                known[result.name] = value if value is NOT_MADE else of_each(lambda half: self._hooks.made(node, half), value)

    def _results(self, node: Node, args: Mapping[str, Any]) -> list[Any]:
        if not any(map(has_pair, args.values())) and not any(is_complex(result.type) for result in node.results):
            importer = find_importer(node.target)
            if importer is None:
                raise Unsupported(reason_of(node.target))
            return _listed(importer(Op(self, node), **args))
        op = Op(self, half_node(node), is_complex(node.results[0].type))
        if (importer := find_complex_importer(node.target)) is not None:
            return _listed(importer(op, **args))
        if not is_of_halves(node.target):
            raise Unsupported("complex elements; write it with real numbers")
        of_one = find_importer(node.target)
        halves = [_listed(of_one(op, **{name: part_of(arg, part) for name, arg in args.items()})) for part in (0, 1)]
        return list(map(Pair, *halves))


def check(graph: Graph) -> None:
    """UnsupportedError with every op of the graph that has no importer, every argument that its importer has not, and complex results."""
    problems = _problems(graph) | _complex_outputs(graph)
    if problems:
        raise UnsupportedError("\n".join(problems))


def _problems(graph: Graph) -> dict[str, None]:
    """Those of its ops, and of the graphs that these hold."""
    types = {given.value: given.type for given in graph.inputs}
    problems: dict[str, None] = {}
    for node in graph.nodes:
        types.update({result.name: result.type for result in node.results})
        problem = _problem(node)
        if problem is not None:
            operands = (types.get(ref.name) for ref in _refs(node.args))
            problems[described(node, [type for type in operands if type is not None], problem)] = None
        for inner in node.args.values():
            if isinstance(inner, Graph):
                problems |= _problems(inner)
    return problems


def _problem(node: Node) -> str | None:
    """Why the node cannot be imported, whatever its operands are; None: it may."""
    if is_dropped(node.target):
        return None
    if not is_imported(node.target):
        return reason_of(node.target)
    unknown = unknown_arguments(node.target, node.args)
    return f"argument {', '.join(map(repr, unknown))}" if unknown else None


def _complex_outputs(graph: Graph) -> dict[str, None]:
    types = types_of(graph)
    found = [output.name for output in graph.outputs if isinstance(output.value, Ref) and is_complex(types.get(output.value.name))]
    reason = "complex elements; return torch.view_as_real of it"
    return {refused_at(Place(), f'result "{name}"', reason): None for name in found}


def _takes(node: Node, name: str) -> bool:
    return is_imported(node.target) and takes(node.target, name)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) and not isinstance(results, Pair) else [results]


def _nothing(type: Type | None) -> Any:
    if type is None:
        return NOT_MADE
    half = as_operand(0, type.shape, half_of(type).dtype)
    return Pair(half, half) if is_complex(type) else half


def _resolved(argument: Argument, known: Mapping[str, Any]) -> Any:
    if isinstance(argument, Ref):
        value = known[argument.name]
        if value is NOT_MADE:
            raise Unsupported(f'it reads "{argument.name}", {value!r}')
        return value
    if isinstance(argument, (tuple, list)):
        return [_resolved(entry, known) for entry in argument]
    return argument


def _refs(argument: Any) -> list[Ref]:
    if isinstance(argument, Ref):
        return [argument]
    entries = argument.values() if isinstance(argument, Mapping) else argument
    return [ref for entry in entries for ref in _refs(entry)] if isinstance(argument, (tuple, list, Mapping)) else []


def _types(argument: Any) -> list[Type]:
    if isinstance(argument, Value):
        return [Type(argument.shape, argument.dtype)]
    entries = argument.values() if isinstance(argument, Mapping) else argument
    return [t for entry in entries for t in _types(entry)] if isinstance(argument, (tuple, list, Mapping)) else []


def _check_results(node: Node, results: Sequence[Any]) -> None:
    """A mistake of an importer shows at the op that made it, not where its value is read."""
    expected = node.results
    if len(results) < len(expected):
        raise Unsupported(f"its importer gives {len(results)} results and the program has {len(expected)}")
    for number, (result, value) in enumerate(zip(expected, results)):
        if result.type is not None and value is not NOT_MADE:
            _check_result(number, result, value)


def _check_result(number: int, result: Result, value: Any) -> None:
    halves = value if isinstance(value, Pair) else (value,)
    if not all(isinstance(half, Value) for half in halves) or is_complex(result.type) != isinstance(value, Pair):
        raise Unsupported(f"result {number} is {value!r}; expected a tensor of {result.type}")
    for half in halves:
        got = Type(half.shape, half.dtype)
        if got != half_of(result.type):
            raise Unsupported(f"result {number} is {got}; the program says {result.type}")
