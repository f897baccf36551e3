# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rng, whose numbers StableHLO leaves open: threefry-2x32 of each element's number.

The key is the number of the draw in the program, and in loops the scalar integers that these
carry. So every draw and every trip has its own numbers, and a program has the same ones in each
run, and for every sharding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jaxlib.mlir import ir

from shoal.ir import TensorType, Value
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import case
from shoal.jax.generators import Words, numbers, threefry
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.types import (
    MANTISSA_BITS,
    bits,
    is_float,
    is_unsigned,
    with_element,
)

_KEY = 0x5EED
_I64 = TensorType((), "i64")


def rng(importer: Importer, op: ir.Operation) -> Value:
    """Uniform in [a, b), of integers, too, or normal with mean a and deviation b."""
    if importer.in_combiner:
        raise Unsupported("random numbers in a function that combines elements")
    arith, type = importer.arith, importer.type(op.results[0])
    a, b = (arith.broadcast(value, type) for value in importer.operands(op)[:2])
    draw = _Draw(arith, Words(arith), _key(importer, op), type)
    if case(op, "rng_distribution") == "NORMAL":
        if not is_float(type):
            raise Unsupported(f"normally distributed {type.element}")
        return draw.normal(a, b)
    if is_float(type):
        return draw.uniform(a, b)
    return draw.integers(a, b, unsigned=is_unsigned(op.results[0].type))


def _key(importer: Importer, op: ir.Operation) -> list[Value]:
    """Two words."""
    arith, words = importer.arith, Words(importer.arith)
    importer.draws += 1
    key = [arith.constant(TensorType((), "i32"), number) for number in (_KEY, importer.draws)]
    around = [value for inner in (*importer.callers, op) for value in _carried_numbers(inner)]
    for value in around:
        wide = arith.convert(importer.values[value], "i64", unsigned=is_unsigned(value.type))
        key = threefry(words, words.split(wide), key)
    return key


def _carried_numbers(op: ir.Operation) -> list[ir.Value]:
    """The scalar integers that the loops around an op carry."""
    found = []
    while op.name != "func.func":
        block, op = op.block, op.parent.operation
        if op.name == "stablehlo.while":
            found += [argument for argument in block.arguments if _is_number(argument.type)]
    return found


def _is_number(type: ir.Type) -> bool:
    is_scalar = isinstance(type, ir.RankedTensorType) and not type.shape
    return is_scalar and isinstance(type.element_type, ir.IntegerType)


@dataclass(frozen=True)
class _Draw:
    """Random numbers of a type, for a key."""

    arith: Arithmetic
    words: Words
    key: list[Value]
    type: TensorType

    def uniform(self, a: Value, b: Value) -> Value:
        """a + u (b - a), u with as many digits as the type has; what rounds to b is a."""
        arith = self.arith
        distance = arith.op("arith.subf", [b, a])
        found = arith.op("arith.mulf", [self._unit(0), distance])
        found = arith.op("arith.addf", [a, found])
        return arith.select(arith.compare("oge", found, b), a, found)

    def normal(self, mean: Value, deviation: Value) -> Value:
        """Box and Muller's: sqrt(-2 log(1 - u)) cos(2 pi v), in f32 or f64."""
        arith, element = self.arith, self.type.element
        wide = "f64" if element == "f64" else "f32"
        draw = _Draw(arith, self.words, self.key, with_element(self.type, wide))
        one = arith.constant(draw.type, 1)
        log = arith.op("math.log", [arith.op("arith.subf", [one, draw._unit(0)])])
        square = arith.op("arith.mulf", [arith.constant(draw.type, -2), log])
        angle = arith.constant(draw.type, 2 * math.pi)
        angle = arith.op("arith.mulf", [angle, draw._unit(1)])
        number = arith.op(
            "arith.mulf", [arith.op("math.sqrt", [square]), arith.op("math.cos", [angle])]
        )
        mean, deviation = (arith.convert(value, wide) for value in (mean, deviation))
        number = arith.op("arith.addf", [mean, arith.op("arith.mulf", [deviation, number])])
        return arith.convert(number, element)

    def integers(self, a: Value, b: Value, *, unsigned: bool) -> Value:
        """a plus 64 bits modulo b - a; a where there are none."""
        arith, element = self.arith, self.type.element
        low, high = (arith.convert(value, "i64", unsigned=unsigned) for value in (a, b))
        count = arith.op("arith.subi", [high, low])
        zero = arith.constant(count.type, 0)
        is_empty = arith.compare("ule" if unsigned else "sle", high, low)
        count = arith.select(is_empty, arith.constant(count.type, 1), count)
        number = arith.op("arith.remui", [self.words.join(*self._bits(0)), count])
        number = arith.select(is_empty, zero, number)
        number = arith.op("arith.addi", [low, number])
        if element == "i1":
            return arith.compare("ne", number, zero)
        return arith.convert(number, element)

    def _bits(self, part: int) -> list[Value]:
        """Two words for each element; those of another part are others."""
        key = [self.key[0], self.words.add(self.key[1], part << 16)]
        start = self.arith.constant(_I64, 0)
        counters = numbers(self.words, start, self.type.shape)
        return threefry(self.words, self.words.split(counters), key)

    def _unit(self, part: int) -> Value:
        """Uniform in [0, 1): multiples of half of the distance of numbers below 1."""
        arith, element = self.arith, self.type.element
        digits = MANTISSA_BITS[element] + 1
        low, high = self._bits(part)
        word = self.words.join(low, high) if element == "f64" else high
        unused = arith.constant(word.type, bits(word.type.element) - digits)
        number = arith.op("arith.shrui", [word, unused])
        number = arith.op("arith.uitofp", [number], self.type)
        return arith.op("arith.mulf", [number, arith.constant(self.type, 2.0**-digits)])
