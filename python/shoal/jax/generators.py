# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based generators of random bits, written as arithmetic on i32 and i64.

Salmon et al., SC 2011, "Parallel random numbers: as easy as 1, 2, 3". Every
number is a function of the key and of its place, so that any sharding of the
result computes its own part.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.ir import TensorType, Value
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.types import with_element

_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = 0x1BD11BDA
_PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
_PHILOX_FACTORS = (0xD2511F53, 0xCD9E8D57)


class Words:
    """Arithmetic on words of 32 bits."""

    def __init__(self, arith: Arithmetic):
        self.arith = arith

    def add(self, left: Value, right: Value | int) -> Value:
        return self._binary("arith.addi", left, right)

    def xor(self, left: Value, right: Value | int) -> Value:
        return self._binary("arith.xori", left, right)

    def rotate(self, value: Value, distance: int) -> Value:
        high = self._binary("arith.shli", value, distance)
        low = self._binary("arith.shrui", value, 32 - distance)
        return self._binary("arith.ori", high, low)

    def split(self, value: Value) -> tuple[Value, Value]:
        """The low and the high word of an i64."""
        type = with_element(value.type, "i32")
        high = self._binary("arith.shrui", value, 32)
        return tuple(self.arith.op("arith.trunci", [part], type) for part in (value, high))

    def join(self, low: Value, high: Value) -> Value:
        """The i64 of two words."""
        type = with_element(low.type, "i64")
        low, high = (self.arith.op("arith.extui", [part], type) for part in (low, high))
        return self._binary("arith.ori", low, self._binary("arith.shli", high, 32))

    def product(self, value: Value, factor: int) -> tuple[Value, Value]:
        """The low and the high word of a product."""
        wide = self.arith.op("arith.extui", [value], with_element(value.type, "i64"))
        return self.split(self._binary("arith.muli", wide, factor))

    def _binary(self, name: str, left: Value, right: Value | int) -> Value:
        if isinstance(right, int):
            right = self.arith.constant(left.type, right)
        return self.arith.op(name, [left, self.arith.broadcast(right, left.type)])


def numbers(words: Words, first: Value, shape: tuple[int, ...]) -> Value:
    """The number of each element in row-major order, counted from the first one's, as i64."""
    arith, type = words.arith, TensorType(shape, "i64")
    number, stride = arith.broadcast(first, type), 1
    for dim in reversed(range(len(shape))):
        if shape[dim] > 1:
            place = arith.op("shoal.iota", [], type, {"dim": f"{dim} : i64"})
            step = arith.op("arith.muli", [place, arith.constant(type, stride)])
            number = words.add(number, step)
        stride *= shape[dim]
    return number


def threefry(words: Words, counter: Sequence[Value], key: Sequence[Value]) -> list[Value]:
    """threefry-2x32 with 20 rounds; counters of any shape, scalar keys."""
    parity = words.xor(words.xor(key[0], key[1]), _THREEFRY_PARITY)
    keys = [key[0], key[1], parity]
    a, b = words.add(counter[0], keys[0]), words.add(counter[1], keys[1])
    for group in range(5):
        for distance in _THREEFRY_ROTATIONS[group % 2]:
            a = words.add(a, b)
            b = words.xor(words.rotate(b, distance), a)
        a = words.add(a, keys[(group + 1) % 3])
        b = words.add(words.add(b, keys[(group + 2) % 3]), group + 1)
    return [a, b]


def philox(words: Words, counter: Sequence[Value], key: Sequence[Value]) -> list[Value]:
    """philox-4x32 with 10 rounds; counters of any shape, scalar keys."""
    a, b, c, d = counter
    keys = list(key)
    for _ in range(10):
        low, high = words.product(a, _PHILOX_FACTORS[0])
        low2, high2 = words.product(c, _PHILOX_FACTORS[1])
        a, b = words.xor(words.xor(high2, b), keys[0]), low2
        c, d = words.xor(words.xor(high, d), keys[1]), low
        keys = [words.add(word, weyl) for word, weyl in zip(keys, _PHILOX_WEYL)]
    return [a, b, c, d]
