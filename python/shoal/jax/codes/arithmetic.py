# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What codes mean, and which code a number has, as functions of JAX on arrays of bytes.

They are ml_dtypes' conversions: to the nearest, of two the even one; what is too large becomes
infinity, without one NaN, without either the largest number.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from shoal.jax.codes.formats import FloatFormat, Format, IntegerFormat

Array = jax.Array

_INFINITY, _NAN = 0x7F800000, 0x7FC00000


def decoded(codes: Array, format: Format) -> Array:
    """Numbers of the type `format.wide`."""
    if isinstance(format, FloatFormat):
        return _decoded_float(codes, format)
    if not format.is_signed:
        return codes & np.uint8(format.mask)
    unused = np.int8(8 - format.bits)
    numbers = lax.shift_left(lax.convert_element_type(codes, "int8"), unused)
    return lax.shift_right_arithmetic(numbers, unused)


def encoded(numbers: Array, format: Format) -> Array:
    """The codes of numbers of the type `format.wide`; of integers by their low bits."""
    if isinstance(format, FloatFormat):
        return _encoded_float(numbers, format)
    return lax.convert_element_type(numbers, "uint8") & np.uint8(format.mask)


def clamped(numbers: Array, format: IntegerFormat) -> Array:
    """Integers of 8 bits, those out of the format's range the nearest in it."""
    low, high = (np.asarray(bound, numbers.dtype) for bound in format.range)
    return lax.clamp(low, numbers, high)


def _decoded_float(codes: Array, format: FloatFormat) -> Array:
    bits = lax.convert_element_type(codes, "uint32") & np.uint32(format.mask)
    size = format.exponent + format.mantissa
    magnitude = bits & np.uint32((1 << size) - 1)
    sign = lax.shift_left(lax.shift_right_logical(bits, np.uint32(size)), np.uint32(31))
    dropped = np.uint32(23 - format.mantissa)
    normal = lax.shift_left(magnitude, dropped) + np.uint32((127 - format.bias) << 23)
    if format.is_scale:  # code 0 has no exponent left to it in f32
        number = _where(magnitude == 0, _bits_of(2.0**-127), normal)
    else:
        unit = np.float32(2.0 ** (1 - format.bias - format.mantissa))
        multiple = lax.convert_element_type(magnitude, "float32") * unit
        subnormal = lax.bitcast_convert_type(multiple, "uint32")
        is_subnormal = magnitude < np.uint32(1 << format.mantissa)
        number = _where(is_subnormal, subnormal, normal)
    if format.infinity is not None:
        number = _where(magnitude == np.uint32(format.infinity), _INFINITY, number)
        number = _where(magnitude > np.uint32(format.infinity), _NAN, number)
    number = number | sign
    if format.infinity is None and format.nan is not None:
        # The one NaN of those without a negative zero has its code, and keeps its sign.
        nan = _NAN if format.has_negative_zero else _NAN | 1 << 31
        number = _where(bits == np.uint32(format.nan), nan, number)
    return lax.bitcast_convert_type(number, "float32")


def _encoded_float(numbers: Array, format: FloatFormat) -> Array:
    bits = lax.bitcast_convert_type(numbers, "uint32")
    magnitude, sign = bits & np.uint32(0x7FFFFFFF), lax.shift_right_logical(bits, np.uint32(31))
    code = _scale_code(magnitude, sign) if format.is_scale else _rounded(magnitude, format)
    code = _where(code > np.uint32(format.largest), format.overflow, code)
    is_nan = magnitude > np.uint32(_INFINITY)
    if not format.is_scale:
        size = np.uint32(format.exponent + format.mantissa)
        if format.nan is None:  # zero, of the other sign
            code, sign = _where(is_nan, 0, code), _where(is_nan, sign ^ np.uint32(1), sign)
        elif format.has_negative_zero:
            code = _where(is_nan, format.nan, code)
        code = _signed(code, sign, size, format)
    if not format.has_negative_zero:
        code = _where(is_nan, format.nan, code)
    return lax.convert_element_type(code, "uint8")


def _signed(code: Array, sign: Array, size: np.uint32, format: FloatFormat) -> Array:
    """The code of a magnitude with its sign behind `size` bits; some zeros and NaNs have none."""
    signed = code | lax.shift_left(sign, size)
    if format.has_negative_zero:
        return signed
    return _where((code == 0) | (code == np.uint32(format.nan)), code, signed)


def _rounded(magnitude: Array, format: FloatFormat) -> Array:
    """The code of a magnitude, given by its bits, as if the format had more exponents."""
    dropped = 23 - format.mantissa
    rebiased = magnitude - np.uint32((127 - format.bias) << 23)
    is_odd = lax.shift_right_logical(rebiased, np.uint32(dropped)) & np.uint32(1)
    half = is_odd + np.uint32((1 << (dropped - 1)) - 1)
    normal = lax.shift_right_logical(rebiased + half, np.uint32(dropped))
    # A sum with this has the rounded multiple of the smallest number in its low bits.
    unit = np.float32(2.0 ** (1 - format.bias + dropped))
    total = lax.bitcast_convert_type(magnitude, "float32") + unit
    subnormal = lax.bitcast_convert_type(total, "uint32") - np.uint32(_bits_of(unit))
    return _where(magnitude < np.uint32((128 - format.bias) << 23), subnormal, normal)


def _scale_code(magnitude: Array, sign: Array) -> Array:
    """Of f8E8M0FNU: the nearest power of 2, of two the larger one; NaN where there is none."""
    half = np.uint32(1 << 22)
    code = lax.shift_right_logical(magnitude + half, np.uint32(23))
    # The smallest one is 2^-127, `half` as f32 below its exponents.
    code = _where(magnitude < np.uint32(3 << 21), 0, code)
    return _where((sign != 0) | (magnitude == 0), 0xFF, code)


def _where(condition: Array, number: Array | int, other: Array) -> Array:
    if isinstance(number, int):
        number = lax.full_like(other, number)
    return lax.select(condition, number, other)


def _bits_of(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def to_single(numbers: Array) -> Array:
    """f64 rounded to f32 so that one more rounding, to a format, gives what one alone would.

    An inexact number gets an odd last bit (Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums: proved algorithms using rounding to odd").
    """
    nearest = lax.convert_element_type(numbers, "float32")
    back = lax.convert_element_type(nearest, "float64")
    bits = lax.bitcast_convert_type(nearest, "uint32")
    is_above = lax.abs(back) > lax.abs(numbers)
    odd = lax.convert_element_type(is_above, "uint32")
    odd = (bits - odd) | np.uint32(1)
    is_exact = (back == numbers) | (numbers != numbers)
    return lax.bitcast_convert_type(lax.select(is_exact, bits, odd), "float32")


def unpacked(bytes: Array, format: Format) -> Array:
    """The codes in each byte, the low bits' first, along one more dimension."""
    count = 8 // format.bits
    places = lax.broadcasted_iota("uint8", (*bytes.shape, count), bytes.ndim)
    places = places * np.uint8(format.bits)
    spread = lax.broadcast_in_dim(bytes, places.shape, tuple(range(bytes.ndim)))
    return lax.shift_right_logical(spread, places) & np.uint8(format.mask)


def packed(codes: Array, format: Format) -> Array:
    """The bytes that the codes along the last dimension make, the first the low bits."""
    count = 8 // format.bits
    size = codes.shape[-1]
    codes = lax.reshape(codes, (*codes.shape[:-1], size // count, count)) & np.uint8(format.mask)
    places = lax.broadcasted_iota("uint8", codes.shape, codes.ndim - 1) * np.uint8(format.bits)
    return lax.reduce(lax.shift_left(codes, places), np.uint8(0), lax.bitwise_or, (codes.ndim - 1,))
