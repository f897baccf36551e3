# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counter-based random numbers; `shoal.random` says of them what users need to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.checks import as_int, as_shape, check
from shoal.frontend.constants import as_value, constant
from shoal.frontend.conversion import convert
from shoal.frontend.core import ArrayLike, emit_one
from shoal.frontend.elementwise import add, bitwise_xor, floor, less, minimum, multiply, subtract
from shoal.frontend.structure import concatenate, take_slices
from shoal.frontend.value import Value

__all__ = ["bernoulli", "fold_in", "key", "normal", "randint", "split", "uniform"]

Shape = int | Sequence[int]
_FOLDED = 0x5BD1E995
_DISTRIBUTIONS = {"uniform": 0, "normal": 1}


def key(seed: int) -> Value:
    """The key of a seed from 0 to 2^64 - 1, int32[2]: its high and its low word.

    The same two numbers may be given to a program as an argument.
    """
    return constant(words_of(seed))


def words_of(seed: int) -> np.ndarray:
    """The two numbers of a seed's key."""
    number = as_int(seed, "random.key: seed")
    check(0 <= number < 2**64, f"random.key: seed {number} is not in 0 ... 2^64 - 1")
    return np.array([number >> 32, number & 0xFFFFFFFF], np.uint32).view(np.int32)


def uniform(
    key: ArrayLike,
    shape: Shape,
    dtype: Any = dtypes.FLOAT32,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
) -> Value:
    """Uniform in [low, high)."""
    drawn = _draw("uniform", key, shape, dtype)
    if (low, high) == (0.0, 1.0):
        return drawn
    return add(low, multiply(drawn, subtract(high, low)))


def normal(key: ArrayLike, shape: Shape, dtype: Any = dtypes.FLOAT32) -> Value:
    """Of mean 0 and variance 1."""
    return _draw("normal", key, shape, dtype)


def bernoulli(key: ArrayLike, p: ArrayLike, shape: Shape) -> Value:
    """True with probability p, which broadcasts to the shape."""
    return less(uniform(key, shape), p)


def randint(
    key: ArrayLike, shape: Shape, low: ArrayLike, high: ArrayLike, dtype: Any = dtypes.INT32
) -> Value:
    """Integers in low ... high - 1, of ranges up to 2^53."""
    kind = dtypes.as_dtype(dtype)
    if not dtypes.is_integer(kind):
        raise TraceTypeError(f"random.randint: integers of type {kind}")
    first, end = (convert(as_value(bound), dtypes.FLOAT64) for bound in (low, high))
    drawn = floor(add(first, multiply(uniform(key, shape, dtypes.FLOAT64), subtract(end, first))))
    return convert(minimum(drawn, subtract(end, 1)), kind)


def split(key: ArrayLike, count: int = 2) -> Value:
    """New keys [count, 2], independent of each other and of what others draw."""
    number = as_int(count, "random.split: count")
    return _words(key, (number, 2))


def fold_in(key: ArrayLike, number: ArrayLike) -> Value:
    """A new key of a key and an integer, such as a step or a layer."""
    words = as_key(key)
    added = convert(as_value(number), words.dtype)
    check(added.ndim == 0, f"random.fold_in: expected a scalar, got {added!r}")
    high, low = _parts(words)
    # Other keys than those that `split` and draws of this key hash; hashed before the number is added,
    # as keys of neighbouring seeds with neighbouring numbers would be one otherwise.
    high, low = _parts(_words(concatenate([bitwise_xor(high, _FOLDED), low]), (2,)))
    return _words(concatenate([high, add(low, added)]), (2,))


def _parts(words: Value) -> tuple[Value, Value]:
    return take_slices(words, [slice(1)]), take_slices(words, [slice(1, 2)])


def _words(key: ArrayLike, shape: Shape) -> Value:
    """32 random bits each, as int32: the high ones of a float64 in [0, 1)."""
    drawn = multiply(_draw("uniform", key, shape, dtypes.FLOAT64), 2.0**32)
    return convert(convert(floor(drawn), dtypes.INT64), dtypes.INT32)


def _draw(distribution: str, key: ArrayLike, shape: Shape, dtype: Any) -> Value:
    kind, sizes = dtypes.as_dtype(dtype), as_shape(shape, f"random.{distribution}")
    if not dtypes.is_float(kind):
        raise TraceTypeError(f"random.{distribution}: elements of {kind}; expected floats")
    attributes = {"distribution": f"{_DISTRIBUTIONS[distribution]} : i32"}
    return emit_one("shoal.random", [as_key(key)], sizes, kind, attributes)


def as_key(key: ArrayLike) -> Value:
    """Two integers; TraceTypeError for anything else."""
    value = as_value(key)
    if value.shape != (2,) or not dtypes.is_integer(value.dtype) or value.dtype.itemsize < 4:
        raise TraceTypeError(f"expected a key, two int32 or int64, got {value!r}")
    return value
