# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a StableHLO function says of itself: names, callees, its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from shoal.ir import quoted
from shoal.jax.annotations import is_manual, walk
from shoal.jax.attributes import dictionaries, string, text_in
from shoal.jax.locations import unique_names
from shoal.jax.types import element_of, is_token

Attributes = dict[str, str | None]

NAME = "shoal.name"
# Arguments and results whose integers have no sign to who calls the program.
UNSIGNED = "shoal.unsigned"
# Those whose last dimension is the two halves of numbers that are complex to who calls.
COMPLEX = "shoal.complex"
# Those whose bytes are the codes of elements of few bits to who calls, and of which.
CODES = "shoal.codes"
# Arguments that the program may write over, and JAX's words for them: given
# away, and given for a result, which the compiler finds itself.
DONATED = "shoal.donated"
DONATIONS = ("jax.buffer_donor", "tf.aliasing_output")


def is_private(function: ir.Operation) -> bool:
    return string(function, "sym_visibility") == "private"


def type_of(function: ir.Operation) -> ir.FunctionType:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def body_of(module: ir.Module) -> ir.Block:
    """Of a module's one function; beside it may be a mesh, as where the caller has set one."""
    function = next(op for op in module.body.operations if op.operation.name == "func.func")
    return function.operation.regions[0].blocks[0]


def callees(function: ir.Operation) -> list[str]:
    """The functions that an op's regions call, in their order."""
    names = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_manual(op):  # what it calls is written where it stands
            return ir.WalkResult.SKIP
        for key in ("callee", "decomposition"):
            if key in op.attributes:
                names.append(string(op, key))
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names


def entries(functions: dict[str, ir.Operation]) -> list[str]:
    """`main`, or else what is public."""
    public = [name for name, op in functions.items() if not is_private(op)]
    return ["main"] if "main" in public else public


def reachable(functions: dict[str, ir.Operation]) -> list[str]:
    """The entries and the functions that they call.

    JAX leaves comparators of custom calls behind, which nothing calls.
    """
    found = entries(functions)
    for name in found:
        for callee in callees(functions[name]):
            if callee in functions and callee not in found:
                found.append(callee)
    return found


def drawing(functions: dict[str, ir.Operation]) -> set[str]:
    """The functions that draw random numbers, or call one that does."""
    found = {
        name for name, op in functions.items() if any(i.name == "stablehlo.rng" for i in walk(op))
    }
    grown = len(found) > 0
    while grown:
        callers = {
            name
            for name, op in functions.items()
            if name not in found and found.intersection(callees(op))
        }
        found |= callers
        grown = len(callers) > 0
    return found


def argument_attributes(function: ir.Operation) -> dict[int, Attributes]:
    """Names, from JAX's locations, signs and donations of the entry's arguments, by their places.

    Tokens have none.
    """
    types = type_of(function).inputs
    places = _places_of_values(types)
    if is_private(function):
        return {place: {} for place in places}
    locations = [argument.location for argument in function.regions[0].blocks[0].arguments]
    paths = [
        location.name_str if isinstance(location, ir.NameLoc) else "" for location in locations
    ]
    ports = _ports(paths, "arg", types, places)
    for place, given in enumerate(dictionaries(function, "arg_attrs")):
        if place in ports and any(name in given for name in DONATIONS):
            ports[place][DONATED] = None
        if place in ports:
            ports[place].update(_marks(given))
    return ports


def result_attributes(function: ir.Operation) -> dict[int, Attributes]:
    """Names, from `jax.result_info`, and signs of the entry's results, by their places."""
    types = type_of(function).results
    places = _places_of_values(types)
    if is_private(function):
        return {place: {} for place in places}
    given = dictionaries(function, "res_attrs") or [{}] * len(types)
    paths = [
        text_in(attributes, "jax.result_info") if "jax.result_info" in attributes else ""
        for attributes in given
    ]
    ports = _ports(paths, "result", types, places)
    for place, attributes in enumerate(given):
        if place in ports:
            ports[place].update(_marks(attributes))
    return ports


def _marks(given: ir.DictAttr) -> Attributes:
    """What rewriting has said of an argument or result, to be said to its caller."""
    marks: Attributes = {COMPLEX: None} if COMPLEX in given else {}
    return marks | ({CODES: quoted(text_in(given, CODES))} if CODES in given else {})


def _places_of_values(types: Sequence[ir.Type]) -> list[int]:
    return [place for place, type in enumerate(types) if not is_token(type)]


def _ports(
    paths: Sequence[str], default: str, types: Sequence[ir.Type], places: Sequence[int]
) -> dict[int, Attributes]:
    names = unique_names([paths[place] for place in places], default)
    return {place: _port(name, types[place]) for name, place in zip(names, places)}


def _port(name: str | None, type: ir.Type) -> Attributes:
    attributes: Attributes = {}
    if name:
        attributes[NAME] = quoted(name)
    if element_of(type).startswith("ui"):
        attributes[UNSIGNED] = None
    return attributes
