# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on values of the program that is written: what importers compose ops of.

Everything works elementwise on tensors and, in combiners, on scalars.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from shoal.enums import comparison
from shoal.ir import Builder, TensorType, Value, i64s
from shoal.jax.types import (
    FLOATS8,
    MANTISSA_BITS,
    ScalarType,
    bits,
    is_bool,
    is_float,
    scalar_of,
    with_element,
    with_shape,
)


def literal(element: str, number: float | int | bool) -> str:
    """A number as MLIR spells it for elements of that type."""
    if element == "i1":
        return "true" if number else "false"
    if element.startswith("i"):
        return str(int(number))
    if math.isfinite(number):
        return repr(float(number)) if "." in repr(float(number)) else f"{float(number):.17e}"
    return _special(element, number)


def _special(element: str, number: float) -> str:
    """An infinity or NaN, by its bits; f8E4M3FN has no infinity."""
    if element == "f8E4M3FN":
        return "0xFF" if math.copysign(1, number) < 0 else "0x7F"
    width, stored = bits(element), MANTISSA_BITS[element]
    exponent = ((1 << (width - 1 - stored)) - 1) << stored
    sign = 1 << (width - 1) if math.copysign(1, number) < 0 else 0
    quiet = 1 << (stored - 1) if math.isnan(number) else 0
    return f"0x{sign | exponent | quiet:0{width // 4}X}"


def largest(element: str) -> float | int:
    """The largest finite number of a type; integers are signed."""
    if element.startswith("i"):
        return (1 << (bits(element) - 1)) - 1
    if element == "f64":
        return struct.unpack("<d", bytes.fromhex("ffffffffffffef7f"))[0]
    if element == "f8E4M3FN":  # its largest exponent has numbers, too
        return 448.0
    stored = MANTISSA_BITS[element]
    emax = (1 << (bits(element) - 2 - stored)) - 1
    return (2 - 2.0**-stored) * 2.0**emax


class Arithmetic:
    """Writes elementwise ops; operands of an op have one type unless it says otherwise."""

    def __init__(self, builder: Builder):
        self._builder = builder

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        type: TensorType | None = None,
        attributes: dict[str, str | None] | None = None,
    ) -> Value:
        """An op of one result, of the first operand's type unless given."""
        return self._builder.op(name, operands, [type or operands[0].type], attributes)[0]

    def summed(
        self,
        name: str,
        operands: Sequence[Value],
        type: TensorType,
        attributes: dict[str, str | None],
    ) -> Value:
        """As `op`, of an op that adds or multiplies elements: those of 8 bits in f32."""
        if type.element not in FLOATS8:
            return self.op(name, operands, type, attributes)
        wide = [self.convert(x, "f32") if x.type.element in FLOATS8 else x for x in operands]
        return self.convert(
            self.op(name, wide, with_element(type, "f32"), attributes), type.element
        )

    # Constants

    def constant(self, type: TensorType, number: float | int | bool) -> Value:
        """The number, in every element."""
        return self.spelled_constant(type, literal(type.element, number))

    def spelled_constant(self, type: TensorType, text: str) -> Value:
        """As `constant`, of a number in MLIR's spelling."""
        value = text if isinstance(type, ScalarType) else f"dense<{text}>"
        return self._builder.op("arith.constant", [], [type], {"value": f"{value} : {type}"})[0]

    # Shapes

    def broadcast(self, value: Value, type: TensorType) -> Value:
        """A scalar spread to the shape of a type; other values as they are."""
        if isinstance(type, ScalarType) or value.type.shape == type.shape:
            return value
        spread = with_shape(value.type, type.shape)
        return self.op("shoal.broadcast_in_dim", [value], spread, {"dims": i64s([])})

    # Comparison and choice

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        """i1 by a predicate of arith: `slt`, `ult`, `olt`, `une`, ..."""
        name, attributes = comparison(predicate, is_float=is_float(left.type))
        return self.op(name, [left, right], with_element(left.type, "i1"), attributes)

    def compare_to(self, predicate: str, left: Value, number: float | int) -> Value:
        return self.compare(predicate, left, self.constant(left.type, number))

    def select(self, condition: Value, left: Value, right: Value) -> Value:
        """`left` where the condition, a scalar or of their shape, is true."""
        condition = self.broadcast(condition, left.type)
        return self.op("arith.select", [condition, left, right], left.type)

    def flip(self, condition: Value) -> Value:
        """All bits inverted; of an i1 its opposite."""
        return self.op("arith.xori", [condition, self.constant(condition.type, -1)])

    def isnan(self, value: Value) -> Value:
        return self.compare("uno", value, value)

    # Bits

    def flip_sign_bit(self, value: Value) -> Value:
        """Maps the order of unsigned integers to that of signed ones, and back."""
        number = -(1 << (bits(value.type.element) - 1))
        return self.op("arith.xori", [value, self.constant(value.type, number)])

    def as_bits(self, value: Value) -> Value:
        """The bits of floats as integers of their width."""
        return self.bitcast(value, f"i{bits(value.type.element)}")

    def bitcast(self, value: Value, element: str) -> Value:
        """The bits as another type of the same width."""
        if value.type.element == element:
            return value
        name = "arith.bitcast" if isinstance(value.type, ScalarType) else "shoal.bitcast_convert"
        return self.op(name, [value], with_element(value.type, element))

    def total_order(self, value: Value) -> Value:
        """Signed integers in the order of IEEE 754's totalOrder of these floats."""
        number = self.as_bits(value)
        width = bits(number.type.element)
        sign = self.op("arith.shrsi", [number, self.constant(number.type, width - 1)])
        mask = self.op("arith.andi", [sign, self.constant(number.type, largest(f"i{width}"))])
        return self.op("arith.xori", [number, mask])

    # Conversion

    def convert(self, value: Value, element: str, *, unsigned=False, to_unsigned=False) -> Value:
        """StableHLO convert; `unsigned` is the operand's type, `to_unsigned` the result's.

        Integers wrap. Floats to integers: towards zero, what lies outside gives
        the nearest integer and NaN 0, as XLA does on CPUs.
        """
        if value.type.element == element:
            return value
        type = with_element(value.type, element)
        if element == "i1":
            zero = self.constant(value.type, 0)
            return self.compare("une" if is_float(value.type) else "ne", value, zero)
        if is_float(value.type):
            return self._from_float(value, type, to_unsigned)
        if is_float(type):
            name = "arith.uitofp" if unsigned or is_bool(value.type) else "arith.sitofp"
            return self.op(name, [value], type)
        if bits(element) < bits(value.type.element):
            return self.op("arith.trunci", [value], type)
        name = "arith.extui" if unsigned or is_bool(value.type) else "arith.extsi"
        return self.op(name, [value], type)

    def _from_float(self, value: Value, type: TensorType, to_unsigned: bool) -> Value:
        if is_float(type):
            # f64 to f16 and back again have one rounding, between 16 bit types two.
            widths = bits(value.type.element), bits(type.element)
            if widths[0] == widths[1]:
                value = self.op("arith.extf", [value], with_element(value.type, "f32"))
                return self.op("arith.truncf", [value], type)
            name = "arith.extf" if widths[0] < widths[1] else "arith.truncf"
            return self.op(name, [value], type)
        if bits(value.type.element) < 32:
            value = self.op("arith.extf", [value], with_element(value.type, "f32"))
        return self._saturate(value, type, to_unsigned)

    def _saturate(self, value: Value, type: TensorType, to_unsigned: bool) -> Value:
        width = bits(type.element)
        low, high = (0, (1 << width) - 1) if to_unsigned else (-(1 << (width - 1)), 0)
        high = high or (1 << (width - 1)) - 1
        name = "arith.fptoui" if to_unsigned else "arith.fptosi"
        number = self.op(name, [value], type)
        above = self.compare_to("oge", value, float(high + 1))
        below = self.compare_to("ole", value, float(low))
        number = self.select(above, self.constant(type, high), number)
        number = self.select(below, self.constant(type, low), number)
        return self.select(self.isnan(value), self.constant(type, 0), number)

    def to_index(self, value: Value, unsigned: bool) -> Value:
        """An index as a signed integer: large unsigned ones stay large."""
        if not unsigned:
            return value
        width = bits(value.type.element)
        if width < 64:
            return self.op("arith.extui", [value], with_element(value.type, f"i{2 * width}"))
        most = self.constant(value.type, largest("i64"))
        return self.op("arith.minui", [value, most])

    def scalar(self, type: TensorType, number: float | int) -> Value:
        """A constant of rank 0 with the elements of a type."""
        return self.constant(scalar_of(type), number)
