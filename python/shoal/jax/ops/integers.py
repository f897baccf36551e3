# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Division and shifts: StableHLO says more of them than arith does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.known import known_splat
from shoal.jax.registry import imports
from shoal.jax.types import bits, is_float, is_unsigned

if TYPE_CHECKING:
    from shoal.jax.importer import Importer


@imports("stablehlo.divide")
def divide(importer: Importer, op: ir.Operation) -> Value:
    """Integers towards zero; a quotient by zero has all bits set, as XLA's."""
    left, right = importer.operands(op)
    if is_float(left.type):
        return importer.arith.op("arith.divf", [left, right])
    name = "arith.divui" if is_unsigned(op.operands[0].type) else "arith.divsi"
    none = importer.arith.constant(left.type, -1)
    return _unless_zero(importer, op, name, left, right, none)


@imports("stablehlo.remainder")
def remainder(importer: Importer, op: ir.Operation) -> Value:
    """With the dividend's sign; the remainder by zero is the dividend, as XLA's."""
    left, right = importer.operands(op)
    if is_float(left.type):
        return importer.arith.op("arith.remf", [left, right])
    name = "arith.remui" if is_unsigned(op.operands[0].type) else "arith.remsi"
    return _unless_zero(importer, op, name, left, right, left)


def _unless_zero(
    importer: Importer, op: ir.Operation, name: str, left: Value, right: Value, none: Value
) -> Value:
    arith = importer.arith
    if known_splat(op.operands[1]):
        return arith.op(name, [left, right])
    is_zero = arith.compare_to("eq", right, 0)
    safe = arith.select(is_zero, arith.constant(right.type, 1), right)
    return arith.select(is_zero, none, arith.op(name, [left, safe]))


@imports("stablehlo.shift_left", "stablehlo.shift_right_logical")
def shift(importer: Importer, op: ir.Operation) -> Value:
    """By the width or more (the amount has no sign): 0."""
    arith, (value, amount) = importer.arith, importer.operands(op)
    name = "arith.shli" if op.name == "stablehlo.shift_left" else "arith.shrui"
    width = bits(value.type.element)
    if _is_below(op.operands[1], width):
        return arith.op(name, [value, amount])
    is_inside = arith.compare_to("ult", amount, width)
    zero = arith.constant(value.type, 0)
    shifted = arith.op(name, [value, arith.select(is_inside, amount, zero)])
    return arith.select(is_inside, shifted, zero)


@imports("stablehlo.shift_right_arithmetic")
def shift_arithmetic(importer: Importer, op: ir.Operation) -> Value:
    """By the width or more: the sign in every bit."""
    arith, (value, amount) = importer.arith, importer.operands(op)
    width = bits(value.type.element)
    if not _is_below(op.operands[1], width):
        amount = arith.op("arith.minui", [amount, arith.constant(amount.type, width - 1)])
    return arith.op("arith.shrsi", [value, amount])


def _is_below(value: ir.Value, width: int) -> bool:
    """Whether a shift's amount is known to be legal."""
    number = known_splat(value)
    return number is not None and 0 <= number < width
