# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops: constants, arithmetic, comparisons, conversions, special functions.

Most are ops of arith or math, by the kind of the elements; of division and shifts
StableHLO says more than these.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from shoal.ir import Value, i64s
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import case, integer
from shoal.jax.derivatives import call_with_slope, has_slope
from shoal.jax.expansions import expansion_of
from shoal.jax.importer import Importer
from shoal.jax.known import known_splat
from shoal.jax.literals import spelled
from shoal.jax.precision import reduced
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import OfComplex, imports, op_name, refuses
from shoal.jax.types import ScalarType, bits, is_bool, is_float, is_unsigned, with_shape

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

_FLOATS = {"EQ": "oeq", "NE": "une", "GE": "oge", "GT": "ogt", "LE": "ole", "LT": "olt"}

_EXPANDED = (
    "_asin_acos_kernel",
    "bessel_i1e",
    "digamma",
    "erf_inv",
    "lgamma",
    "mulhi",
    "next_after",
    "polygamma",
    "zeta",
    "constant",
    "constant_like",
    "broadcast_add",
    "broadcast_and",
    "broadcast_atan2",
    "broadcast_compare",
    "broadcast_divide",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_multiply",
    "broadcast_next_after",
    "broadcast_or",
    "broadcast_polygamma",
    "broadcast_power",
    "broadcast_remainder",
    "broadcast_shift_left",
    "broadcast_shift_right_arithmetic",
    "broadcast_shift_right_logical",
    "broadcast_subtract",
    "broadcast_xor",
    "broadcast_zeta",
)


@imports("stablehlo.constant", "sdy.constant")
def constant(importer: Importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    value = spelled(op.attributes["value"])
    if isinstance(type, ScalarType):
        value = value.removeprefix("dense<").removesuffix(">")
    return importer.arith.op("arith.constant", [], type, {"value": f"{value} : {type}"})


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


@imports("stablehlo.add", "stablehlo.subtract", of_complex=OfComplex.EACH)
@imports(*(name for name in _BY_KIND if name not in ("stablehlo.add", "stablehlo.subtract")))
def by_kind(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.op(_name_by_kind(op), importer.operands(op))


@imports("stablehlo.abs")
def absolute(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    if is_unsigned(op.operands[0].type):
        return value
    return importer.arith.op("math.absf" if is_float(value.type) else "math.absi", [value])


@imports("stablehlo.negate", of_complex=OfComplex.EACH)
def negate(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    if is_float(value.type):
        return importer.arith.op("arith.negf", [value])
    zero = importer.arith.constant(value.type, 0)
    return importer.arith.op("arith.subi", [zero, value])


@imports("stablehlo.not")
def inverted(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.flip(importer.operands(op)[0])


@imports("stablehlo.atan2")
def angle(importer: Importer, op: ir.Operation) -> Value:
    """Of two zeros that of their signs; MLIR folds math.atan2 of what it knows to be zeros to NaN."""
    arith, (y, x) = importer.arith, importer.operands(op)
    zeros = arith.op("arith.andi", [arith.compare_to("oeq", y, 0), arith.compare_to("oeq", x, 0)])
    unit = arith.op("math.copysign", [arith.constant(x.type, 1), x])
    return arith.op("math.atan2", [y, arith.select(zeros, unit, x)])


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


@imports(*(f"chlo.{name}" for name in _EXPANDED))
def expanded(importer: Importer, op: ir.Operation) -> list[Value]:
    """Special functions that no single op says: the StableHLO that XLA, too, computes for it."""
    if has_slope(op) and importer.can_call:
        return call_with_slope(importer, op)
    return importer.inline_module(op, expansion_of(op))


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


@imports("stablehlo.select", of_complex=OfComplex.EACH, moves=True)
def select(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.select(*importer.operands(op))


@imports("chlo.broadcast_select", of_complex=OfComplex.EACH, moves=True)
def broadcast_select(importer: Importer, op: ir.Operation) -> Value:
    """Of operands that are spread along the dimensions that they lack, the first ones."""
    shape = importer.type(op.results[0]).shape
    operands = (_spread(importer.arith, value, shape) for value in importer.operands(op))
    return importer.arith.select(*operands)


def _spread(arith: Arithmetic, value: Value, shape: tuple[int, ...]) -> Value:
    """Along dimensions that it lacks, or has with a size of 1."""
    own = value.type.shape
    if own == shape:
        return value
    lacking = len(shape) - len(own)
    dims = [d + lacking for d, size in enumerate(own) if size == shape[d + lacking]]
    kept = with_shape(value.type, [shape[d] for d in dims])
    value = value if kept == value.type else arith.op("shoal.reshape", [value], kept)
    return arith.op(
        "shoal.broadcast_in_dim", [value], with_shape(value.type, shape), {"dims": i64s(dims)}
    )


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


@imports("stablehlo.convert", of_complex=OfComplex.EACH)
def convert(importer: Importer, op: ir.Operation) -> Value:
    return importer.arith.convert(
        importer.operands(op)[0],
        importer.type(op.results[0]).element,
        unsigned=is_unsigned(op.operands[0].type),
        to_unsigned=is_unsigned(op.results[0].type),
    )


@imports("stablehlo.bitcast_convert")
def bitcast_convert(importer: Importer, op: ir.Operation) -> Value:
    (value,), type = importer.operands(op), importer.type(op.results[0])
    if value.type == type:  # from or to unsigned integers
        return value
    if "i1" in (value.type.element, type.element):
        raise Unsupported("an i1 has no bits of its own")
    if value.type.shape == type.shape:
        return importer.arith.bitcast(value, type.element)
    return importer.arith.op("shoal.bitcast_convert", [value], type)


@imports("stablehlo.reduce_precision")
def reduce_precision(importer: Importer, op: ir.Operation) -> Value:
    (value,) = importer.operands(op)
    bits_kept = integer(op, "exponent_bits"), integer(op, "mantissa_bits")
    return reduced(importer.arith, value, *bits_kept)


refuses(
    "stablehlo.uniform_quantize",
    "stablehlo.uniform_dequantize",
    reason="quantised types; scales are arrays, and their products convert",
)
