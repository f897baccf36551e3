# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rng, and rng_bit_generator: the bits and the state that XLA computes.

JAX's `rbg` keys use it; its threefry keys are ordinary arithmetic.
"""

from __future__ import annotations

import math

from jaxlib.mlir import ir

from shoal.ir import TensorType, Value, i64s
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import case
from shoal.jax.draws import rng
from shoal.jax.generators import Words, numbers, philox, threefry
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import imports
from shoal.jax.types import bits

imports("stablehlo.rng")(rng)


@imports("stablehlo.rng_bit_generator")
def rng_bit_generator(importer: Importer, op: ir.Operation) -> list[Value]:
    """DEFAULT is Philox, as XLA has it on CPUs and GPUs."""
    (state,), type = importer.operands(op), importer.type(op.results[1])
    if state.type not in (TensorType((2,), "i64"), TensorType((3,), "i64")):
        raise Unsupported("its state is not of 2 or 3 words of 64 bits")
    if type.element.startswith(("f", "b")) or type.element == "i1":
        raise Unsupported(f"bits as {type.element}")
    generator = _Generator(importer.arith, state)
    if case(op, "rng_algorithm") == "THREE_FRY":
        number, used = generator.threefry_bits(type)
    else:
        number, used = generator.philox_bits(type)
    return [generator.advanced(used), importer.arith.convert(number, type.element)]


class _Generator:
    """Bits from a state: the key in its first word, the counter behind it."""

    def __init__(self, arith: Arithmetic, state: Value):
        self.arith, self.words, self.state = arith, Words(arith), state
        self.key = self._word(0)

    def advanced(self, used: int) -> Value:
        """The state behind `used` counters."""
        low = self.words.add(self._word(1), used)
        parts = [self.key, low]
        if self.state.type.shape[0] == 3:
            parts.append(self._carried(self._word(2), low, self._word(1)))
        rows = [self.arith.op("shoal.reshape", [part], TensorType((1,), "i64")) for part in parts]
        return self.arith.op("shoal.concatenate", rows, self.state.type, {"dim": "0 : i64"})

    def philox_bits(self, type: TensorType) -> tuple[Value, int]:
        """Four words a counter, in their order."""
        wide = bits(type.element) == 64
        count = math.prod(type.shape)
        used = -(-count * (2 if wide else 1) // 4)
        low = self._counters((used,))
        # With a state of two words XLA counts with the key above the counter.
        high = self._word(2) if self.state.type.shape[0] == 3 else self.key
        high = self._carried(self.arith.broadcast(high, low.type), low, self._word(1))
        counter = [*self.words.split(low), *self.words.split(high)]
        found = philox(self.words, counter, self.words.split(self.key))
        if wide:
            found = [self.words.join(*found[:2]), self.words.join(*found[2:])]
        return self._interleaved(found, type), used

    def threefry_bits(self, type: TensorType) -> tuple[Value, int]:
        """Two words a counter: halves of a dimension that alternate."""
        key = self.words.split(self.key)
        if bits(type.element) == 64:
            counters = self._counters(type.shape)
            found = threefry(self.words, self.words.split(counters), key)
            return self.words.join(*found), math.prod(type.shape)
        if not type.shape:
            counters = self._counters(())
            return threefry(self.words, self.words.split(counters), key)[0], 1
        dim = _halved_dim(type.shape)
        half = list(type.shape)
        half[dim] = -(-half[dim] // 2)
        half.insert(dim + 1, 1)
        found = threefry(self.words, self.words.split(self._counters(tuple(half))), key)
        return self._alternating(found, type, dim), math.prod(half)

    # Parts

    def _word(self, index: int) -> Value:
        bounds = {"starts": i64s([index]), "limits": i64s([index + 1]), "strides": i64s([1])}
        row = self.arith.op("shoal.slice", [self.state], TensorType((1,), "i64"), bounds)
        return self.arith.op("shoal.reshape", [row], TensorType((), "i64"))

    def _counters(self, shape: tuple[int, ...]) -> Value:
        """The counter plus each element's number in row-major order."""
        return numbers(self.words, self._word(1), shape)

    def _carried(self, high: Value, low: Value, before: Value) -> Value:
        """The high word, one more where the low one has wrapped."""
        wrapped = self.arith.compare("ult", low, self.arith.broadcast(before, low.type))
        return self.arith.select(wrapped, self.words.add(high, 1), high)

    def _interleaved(self, parts: list[Value], type: TensorType) -> Value:
        """parts[0][0], parts[1][0], ..., cut to the type's shape."""
        (rows,), element = parts[0].type.shape, parts[0].type.element
        columns = [
            self.arith.op("shoal.reshape", [part], TensorType((rows, 1), element)) for part in parts
        ]
        joined = TensorType((rows, len(parts)), element)
        table = self.arith.op("shoal.concatenate", columns, joined, {"dim": "1 : i64"})
        line = self.arith.op("shoal.reshape", [table], TensorType((rows * len(parts),), element))
        line = self._cut(line, (math.prod(type.shape),))
        return self.arith.op("shoal.reshape", [line], TensorType(type.shape, element))

    def _alternating(self, halves: list[Value], type: TensorType, dim: int) -> Value:
        """Halves of shape [..., n, 1, ...] as rows that alternate along `dim`."""
        shape = list(halves[0].type.shape)
        shape[dim + 1] = 2
        attributes = {"dim": f"{dim + 1} : i64"}
        pairs = self.arith.op(
            "shoal.concatenate", halves, TensorType(tuple(shape), "i32"), attributes
        )
        whole = [*type.shape]
        whole[dim] = 2 * shape[dim]
        merged = self.arith.op("shoal.reshape", [pairs], TensorType(tuple(whole), "i32"))
        return self._cut(merged, type.shape)

    def _cut(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.type.shape == shape:
            return value
        bounds = {
            "starts": i64s([0] * len(shape)),
            "limits": i64s(shape),
            "strides": i64s([1] * len(shape)),
        }
        return self.arith.op("shoal.slice", [value], TensorType(shape, value.type.element), bounds)


def _halved_dim(shape: tuple[int, ...]) -> int:
    """The first even dimension, else the first of the largest."""
    even = [dim for dim, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else shape.index(max(shape))
