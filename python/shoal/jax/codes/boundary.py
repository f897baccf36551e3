# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions whose arguments and results are codes, and the marks that say so to the caller."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from shoal.jax import functions
from shoal.jax.attributes import dictionaries
from shoal.jax.codes.formats import code_type, format_of


def retype(function: ir.Operation) -> None:
    """Gives a function codes for elements of few bits, each marked by what they are codes of."""
    type, context = functions.type_of(function), function.context
    for name, types in (("arg_attrs", type.inputs), ("res_attrs", type.results)):
        if any(format_of(t) for t in types):
            function.attributes[name] = _marked(function, name, types)
    sides = ([*map(code_type, types)] for types in (type.inputs, type.results))
    made = ir.FunctionType.get(*sides, context=context)
    function.attributes["function_type"] = ir.TypeAttr.get(made, context)


def _marked(function: ir.Operation, name: str, types: Sequence[ir.Type]) -> ir.ArrayAttr:
    context = function.context
    found = dictionaries(function, name) or [ir.DictAttr.get({}, context) for _ in types]
    marked = []
    for attributes, type in zip(found, types, strict=True):
        entries = {entry.name: entry.attr for entry in attributes}
        if format := format_of(type):
            entries[functions.CODES] = ir.StringAttr.get(format.name, context)
        marked.append(ir.DictAttr.get(entries, context))
    return ir.ArrayAttr.get(marked, context)
