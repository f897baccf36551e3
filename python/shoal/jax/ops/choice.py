# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare, select, clamp, and what asks about infinities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.attributes import case
from shoal.jax.registry import imports
from shoal.jax.types import is_float, is_unsigned

if TYPE_CHECKING:
    from shoal.jax.importer import Importer

_FLOATS = {"EQ": "oeq", "NE": "une", "GE": "oge", "GT": "ogt", "LE": "ole", "LT": "olt"}


@imports("stablehlo.compare")
def compare(importer: Importer, op: ir.Operation) -> Value:
    left, right = importer.operands(op)
    direction = case(op, "comparison_direction")
    if is_float(left.type):
        if case(op, "compare_type") != "TOTALORDER":
            return importer.arith.compare(_FLOATS[direction], left, right)
        left, right = importer.arith.total_order(left), importer.arith.total_order(right)
        return importer.arith.compare(_signed(direction), left, right)
    unsigned = is_unsigned(op.operands[0].type)
    predicate = _signed(direction)
    return importer.arith.compare(
        predicate.replace("s", "u", 1) if unsigned else predicate, left, right
    )


def _signed(direction: str) -> str:
    return direction.lower() if direction in ("EQ", "NE") else f"s{direction.lower()}"


@imports("stablehlo.select")
def select(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.select(*importer.operands(op))


@imports("stablehlo.clamp")
def clamp(importer: Importer, op: ir.Operation) -> Value:
    """min(max(x, low), high); bounds are scalars or have the operand's shape."""
    arith, (low, value, high) = importer.arith, importer.operands(op)
    if not is_unsigned(op.operands[1].type) and value.type.shape:
        return arith.op("shoal.clamp", [low, value, high], value.type)
    kind = "imumf" if is_float(value.type) else "ui" if is_unsigned(op.operands[1].type) else "si"
    bounded = arith.op(f"arith.max{kind}", [value, arith.broadcast(low, value.type)])
    return arith.op(f"arith.min{kind}", [bounded, arith.broadcast(high, value.type)])


@imports("chlo.is_inf")
def is_inf(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    return importer.arith.compare_to("oeq", importer.arith.op("math.absf", [value]), float("inf"))


@imports("chlo.is_pos_inf", "chlo.is_neg_inf")
def is_signed_inf(importer: Importer, op: ir.Operation) -> Value:
    number = float("inf") if op.name == "chlo.is_pos_inf" else float("-inf")
    return importer.arith.compare_to("oeq", importer.operands(op)[0], number)
