# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls, loops, branches, barriers and tuples."""

from __future__ import annotations

import json
from typing import Any

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.annotations import exits_of
from shoal.jax.attributes import integer, string
from shoal.jax.importer import Importer
from shoal.jax.ops.manual import manual_call
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports, refuses


def _body(importer: Importer, callee: str) -> ir.Block:
    if callee not in importer.functions:
        raise Unsupported(f"there is no function @{callee}")
    blocks = importer.functions[callee].regions[0].blocks
    if len(blocks) != 1:
        raise Unsupported(f"@{callee} has {len(blocks)} blocks")
    return blocks[0]


def call_function(importer: Importer, op: ir.Operation, callee: str) -> list[Value]:
    """A call; in combiners and manual regions, which have none, what the function computes.

    So of a function that draws random numbers: each of its calls gets others.
    """
    block = _body(importer, callee)
    if not importer.in_combiner and (exits := exits_of(op)):
        return manual_call(importer, op, block, exits)
    if not importer.can_call or callee in importer.drawing:
        return importer.inline_at(op, block, importer.operands(op))
    attributes = {"callee": f"@{json.dumps(callee)}"}
    return importer.emit("func.call", importer.operands(op), importer.result_types(op), attributes)


@imports("func.call", of_complex=OfComplex.BOTH, moves=True)
def call(importer: Importer, op: ir.Operation) -> list[Value]:
    return call_function(importer, op, string(op, "callee"))


@imports("stablehlo.composite", of_complex=OfComplex.BOTH, moves=True)
def composite(importer: Importer, op: ir.Operation) -> list[Value]:
    """What its decomposition says."""
    return call_function(importer, op, string(op, "decomposition"))


@imports("stablehlo.while", of_complex=OfComplex.BOTH, moves=True)
def while_(importer: Importer, op: ir.Operation) -> list[Value]:
    regions = [importer.region(region.blocks[0]) for region in op.regions]
    return importer.emit(
        "shoal.while", importer.operands(op), importer.result_types(op), None, regions
    )


@imports("stablehlo.case", "stablehlo.if", of_complex=OfComplex.BOTH, moves=True)
def branches(importer: Importer, op: ir.Operation) -> list[Value]:
    regions = [importer.region(region.blocks[0]) for region in op.regions]
    return importer.emit(
        "shoal.case", importer.operands(op), importer.result_types(op), None, regions
    )


@imports("stablehlo.optimization_barrier", of_complex=OfComplex.BOTH, moves=True)
def optimization_barrier(importer: Importer, op: ir.Operation) -> list[Value]:
    if not op.results:
        return []
    return importer.emit(
        "shoal.optimization_barrier", importer.operands(op), importer.result_types(op)
    )


@imports("stablehlo.tuple")
def tuple_(importer: Importer, op: ir.Operation) -> list[Any]:
    """Tuples are kept apart: Shoal has values only."""
    return [tuple(importer.operands(op))]


@imports("stablehlo.get_tuple_element")
def get_tuple_element(importer: Importer, op: ir.Operation) -> Any:
    element = importer.operands(op)[0][integer(op, "index")]
    return [element]


refuses("chlo.scan", reason="a scan as one op; stablehlo.while says the same")
