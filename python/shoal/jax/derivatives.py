# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions that are imported as many ops, with the derivatives that JAX gives them.

Differentiated as written, one of a branch that is not taken may have an infinite slope, and all is NaN.
So each is a function that brings its derivative (`shoal.vjp_forward`, `shoal.vjp_backward`).
"""

from __future__ import annotations

import json

from jaxlib.mlir import ir

from shoal.ir import Region, TensorType, Value
from shoal.jax.expansions import expanded_module, expansion_of
from shoal.jax.importer import Importer

# The slope of y at x.
_SLOPES = {
    "chlo.erf_inv": """
      %square = stablehlo.multiply %y, %y : {type} {place}
      %power = stablehlo.exponential %square : {type} {place}
      %factor = stablehlo.constant dense<0.88622692545275801> : {type} {place}
      %slope = stablehlo.multiply %factor, %power : {type} {place}""",
    "chlo.lgamma": """
      %slope = chlo.digamma %x : {type} -> {type} {place}""",
    "chlo.digamma": """
      %order = stablehlo.constant dense<1.0> : {type} {place}
      %slope = chlo.polygamma %order, %x : {type}, {type} -> {type} {place}""",
}


def has_slope(op: ir.Operation) -> bool:
    """Whether JAX has a formula for the op's derivative that its expansion may miss."""
    return op.name in _SLOPES


def call_with_slope(importer: Importer, op: ir.Operation) -> list[Value]:
    """Calls what the op computes, as a function with a derivative of its own."""
    (type,) = importer.result_types(op)
    number = importer.builder.fresh().removeprefix("%")
    name = f"{op.name.removeprefix('chlo.')}.{number}"
    forward, backward = f"{name}.forward", f"{name}.backward"
    rules = {"shoal.vjp_forward": _symbol(forward), "shoal.vjp_backward": _symbol(backward)}
    _write(importer, name, [type], 1, rules, lambda x: importer.inline_module(op, expansion_of(op), x))
    _write(importer, forward, [type], 3, None, lambda x: _results_and_residuals(importer, name, x))
    pulled = _pulled_back(op)
    _write(importer, backward, [type] * 3, 1, None, lambda v: importer.inline_module(op, pulled, v))
    return _call(importer, name, importer.operands(op))


def _symbol(name: str) -> str:
    return f"@{json.dumps(name)}"


def _call(importer: Importer, name: str, operands: list[Value]) -> list[Value]:
    return importer.emit("func.call", operands, operands[0].type, {"callee": _symbol(name)})


def _results_and_residuals(importer: Importer, name: str, x: list[Value]) -> list[Value]:
    """By a call: a second derivative differentiates this, too."""
    (y,) = _call(importer, name, x)
    return [y, y, *x]


def _pulled_back(op: ir.Operation) -> ir.Module:
    """A module of one function, of y, x and the cotangent of y; its ops have the op's place."""
    type, place = op.results[0].type, op.location
    text = f"""func.func @pulled_back(%y: {type}, %x: {type}, %g: {type}) -> {type} {{
      {_SLOPES[op.name].format(type=type, place=place)}
      %r = stablehlo.multiply %g, %slope : {type} {place}
      func.return %r : {type} {place}
    }}"""
    return expanded_module(text, op.context)


def _write(importer: Importer, name: str, types: list[TensorType], count: int, rules, compute) -> None:
    """A private function that returns `count` values of the first of its arguments' types."""
    region: Region = importer.builder.region(types)
    with importer.builder.block(region) as arguments:
        importer.builder.op("func.return", compute(arguments))
    importer.builder.private_function(name, region, types[:1] * count, discardable=rules)
