# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where complex values enter and leave the program: real arrays with one more dimension.

The last one, of size 2, has the real and the imaginary part of each number, as NumPy's complex
arrays lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from shoal.jax import functions
from shoal.jax.attributes import dictionaries
from shoal.jax.halves.pairs import Pair, half_of, is_complex, tensor_of

Emit = Callable[..., ir.Value]


def outer_type(type: ir.Type) -> ir.Type:
    """The type of an argument or result of the entry."""
    if not is_complex(type):
        return type
    return tensor_of([*type.shape, 2], half_of(type).element_type)


def mark(function: ir.Operation) -> None:
    """Gives the entry these types, and what is complex to its caller the mark that says so."""
    type, context = functions.type_of(function), function.context
    sides = [list(type.inputs), list(type.results)]
    for name, types in zip(("arg_attrs", "res_attrs"), sides):
        found = dictionaries(function, name) or [ir.DictAttr.get({}, context) for _ in types]
        marked = [_marked(d, context) if is_complex(t) else d for d, t in zip(found, types)]
        function.attributes[name] = ir.ArrayAttr.get(marked, context)
    made = ir.FunctionType.get(*(list(map(outer_type, types)) for types in sides), context=context)
    function.attributes["function_type"] = ir.TypeAttr.get(made, context)


def _marked(attributes: ir.DictAttr, context: ir.Context) -> ir.DictAttr:
    entries = {entry.name: entry.attr for entry in attributes}
    return ir.DictAttr.get({**entries, functions.COMPLEX: ir.UnitAttr.get(context)}, context)


def taken_apart(emit: Emit, array: ir.Value) -> Pair:
    """The halves of an argument."""
    *shape, _ = array.type.shape
    element = array.type.element_type
    return Pair(*(_half(emit, array, part, shape, element) for part in (0, 1)))


def _half(emit: Emit, array: ir.Value, part: int, shape: list[int], element: Any) -> ir.Value:
    bounds = {
        "start_indices": [*(0 for _ in shape), part],
        "limit_indices": [*shape, part + 1],
        "strides": [1] * (len(shape) + 1),
    }
    attributes = {
        name: ir.DenseI64ArrayAttr.get(numbers, array.context) for name, numbers in bounds.items()
    }
    column = emit("stablehlo.slice", [array], tensor_of([*shape, 1], element), attributes)
    return emit("stablehlo.reshape", [column], tensor_of(shape, element))


def put_together(emit: Emit, pair: Pair) -> ir.Value:
    """The array of a result."""
    shape, element = pair.real.type.shape, pair.real.type.element_type
    columns = [emit("stablehlo.reshape", [h], tensor_of([*shape, 1], element)) for h in pair]
    i64 = ir.IntegerType.get_signless(64, pair.real.context)
    dim = {"dimension": ir.IntegerAttr.get(i64, len(shape))}
    return emit("stablehlo.concatenate", columns, tensor_of([*shape, 2], element), dim)
