# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats rounded to fewer bits: reduce_precision, as arithmetic on bits."""

from __future__ import annotations

from shoal.ir import Value
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.types import EXPONENT_BITS, MANTISSA_BITS


def reduced(arith: Arithmetic, value: Value, exponent: int, mantissa: int) -> Value:
    """Rounds the significand to even, then the exponent: beyond it infinity or zero."""
    element = value.type.element
    mantissa = min(mantissa, MANTISSA_BITS[element])
    exponent = min(exponent, EXPONENT_BITS[element])
    if (exponent, mantissa) == (EXPONENT_BITS[element], MANTISSA_BITS[element]):
        return value
    rounded = _round_significand(arith, value, MANTISSA_BITS[element] - mantissa)
    if exponent < EXPONENT_BITS[element]:
        rounded = _limit_exponent(arith, rounded, exponent, mantissa)
    return arith.select(arith.isnan(value), value, rounded)


def _round_significand(arith: Arithmetic, value: Value, lost: int) -> Value:
    """Clears the last `lost` bits, rounding to the nearest, half to even."""
    if lost == 0:
        return value
    number = arith.as_bits(value)

    def constant(n: int) -> Value:
        return arith.constant(number.type, n)

    last = arith.op("arith.andi", [arith.op("arith.shrui", [number, constant(lost)]), constant(1)])
    bias = arith.op("arith.addi", [last, constant((1 << (lost - 1)) - 1)])
    moved = arith.op("arith.addi", [number, bias])
    kept = arith.op("arith.andi", [moved, constant(-(1 << lost))])
    return arith.bitcast(kept, value.type.element)


def _limit_exponent(arith: Arithmetic, value: Value, exponent: int, mantissa: int) -> Value:
    """Infinity above the largest number of that format, zero below its smallest normal one."""
    emax = (1 << (exponent - 1)) - 1
    high = (2 - 2.0**-mantissa) * 2.0**emax
    low = 2.0 ** (1 - emax)
    size = arith.op("math.absf", [value])

    def signed(number: float) -> Value:
        return arith.op("math.copysign", [arith.constant(value.type, number), value])

    is_above = arith.compare_to("ogt", size, high)
    is_below = arith.compare_to("olt", size, low)
    limited = arith.select(is_above, signed(float("inf")), value)
    return arith.select(is_below, signed(0.0), limited)
