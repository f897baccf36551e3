# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops that an op of arith or math says, by the kind of the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.registry import imports, op_name
from shoal.jax.types import is_bool, is_float, is_unsigned

if TYPE_CHECKING:
    from shoal.jax.importer import Importer

# The same for all kinds of elements that StableHLO allows.
_FLOAT_OPS = {
    "stablehlo.cbrt": "math.cbrt",
    "stablehlo.ceil": "math.ceil",
    "stablehlo.cosine": "math.cos",
    "stablehlo.exponential": "math.exp",
    "stablehlo.exponential_minus_one": "math.expm1",
    "stablehlo.floor": "math.floor",
    "stablehlo.log": "math.log",
    "stablehlo.log_plus_one": "math.log1p",
    "stablehlo.round_nearest_afz": "math.round",
    "stablehlo.round_nearest_even": "math.roundeven",
    "stablehlo.rsqrt": "math.rsqrt",
    "stablehlo.sine": "math.sin",
    "stablehlo.sqrt": "math.sqrt",
    "stablehlo.tan": "math.tan",
    "stablehlo.tanh": "math.tanh",
    "stablehlo.atan2": "math.atan2",
    "chlo.acos": "math.acos",
    "chlo.acosh": "math.acosh",
    "chlo.asin": "math.asin",
    "chlo.asinh": "math.asinh",
    "chlo.atan": "math.atan",
    "chlo.atanh": "math.atanh",
    "chlo.cosh": "math.cosh",
    "chlo.erf": "math.erf",
    "chlo.erfc": "math.erfc",
    "chlo.sinh": "math.sinh",
    "chlo.tan": "math.tan",
    "stablehlo.popcnt": "math.ctpop",
    "stablehlo.count_leading_zeros": "math.ctlz",
    "stablehlo.and": "arith.andi",
    "stablehlo.or": "arith.ori",
    "stablehlo.xor": "arith.xori",
}

# How programs that older versions of JAX exported call those of CHLO.
_FLOAT_OPS |= {
    f"stablehlo.custom_call @mhlo.{name.removeprefix('chlo.')}": op
    for name, op in _FLOAT_OPS.items()
    if name.startswith("chlo.")
}

# For floats, signed integers, unsigned integers, i1 (as logic).
_BY_KIND = {
    "stablehlo.add": ("arith.addf", "arith.addi", "arith.addi", "arith.ori"),
    "stablehlo.multiply": ("arith.mulf", "arith.muli", "arith.muli", "arith.andi"),
    "stablehlo.subtract": ("arith.subf", "arith.subi", "arith.subi", "arith.xori"),
    "stablehlo.maximum": ("arith.maximumf", "arith.maxsi", "arith.maxui", "arith.ori"),
    "stablehlo.minimum": ("arith.minimumf", "arith.minsi", "arith.minui", "arith.andi"),
    "stablehlo.power": ("math.powf", "math.ipowi", "math.ipowi", "arith.ori"),
}


def _name_by_kind(op: ir.Operation) -> str:
    """The op of arith or math for one of `_BY_KIND` on these elements."""
    type = op.operands[0].type
    floats, signed, unsigned, logic = _BY_KIND[op.name]
    if str(type.element_type) == "i1":
        return logic
    if isinstance(type.element_type, ir.IntegerType):
        return unsigned if is_unsigned(type) else signed
    return floats


@imports(*_FLOAT_OPS)
def same_for_all(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.op(_FLOAT_OPS[op_name(op)], importer.operands(op))


@imports(*_BY_KIND)
def by_kind(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.op(_name_by_kind(op), importer.operands(op))


@imports("stablehlo.abs")
def absolute(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    if is_unsigned(op.operands[0].type):
        return value
    return importer.arith.op("math.absf" if is_float(value.type) else "math.absi", [value])


@imports("stablehlo.negate")
def negate(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    if is_float(value.type):
        return importer.arith.op("arith.negf", [value])
    zero = importer.arith.constant(value.type, 0)
    return importer.arith.op("arith.subi", [zero, value])


@imports("stablehlo.not")
def inverted(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.flip(importer.operands(op)[0])


@imports("stablehlo.sign")
def sign(importer: Importer, op: ir.Operation) -> Value:
    """-1, 0 or 1; of floats -0.0, 0.0 and NaN are themselves."""
    arith, (value,) = importer.arith, importer.operands(op)
    one, zero = arith.constant(value.type, 1), arith.constant(value.type, 0)
    if is_float(value.type):
        unit = arith.op("math.copysign", [one, value])
        is_number = arith.compare("one", value, zero)  # false for NaN, too
        return arith.select(is_number, unit, value)
    if is_unsigned(op.operands[0].type):
        return arith.op("arith.minui", [value, one])
    bounded = arith.op("arith.minsi", [value, one])
    return arith.op("arith.maxsi", [bounded, arith.constant(value.type, -1)])


@imports("stablehlo.is_finite")
def is_finite(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.op("math.isfinite", importer.operands(op), importer.type(op.results[0]))


@imports("stablehlo.logistic")
def logistic(importer: Importer, op: ir.Operation) -> Value:
    """1 / (1 + exp(-x)); types of 16 bits are computed in f32 and rounded once."""
    arith, (value,) = importer.arith, importer.operands(op)
    element = value.type.element
    wide = arith.convert(value, "f64" if element == "f64" else "f32")
    one = arith.constant(wide.type, 1)
    power = arith.op("math.exp", [arith.op("arith.negf", [wide])])
    result = arith.op("arith.divf", [one, arith.op("arith.addf", [one, power])])
    return arith.convert(result, element)


@imports("chlo.square")
def square(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    name = "arith.mulf" if is_float(value.type) else "arith.muli"
    return importer.arith.op("arith.andi" if is_bool(value.type) else name, [value, value])


@imports("stablehlo.map")
def map_(importer: Importer, op: ir.Operation) -> list[Value]:
    """Its region, on whole tensors."""
    with importer.spread(importer.type(op.results[0]).shape):
        return importer.inline(op.regions[0].blocks[0], importer.operands(op))
