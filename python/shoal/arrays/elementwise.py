# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of each element, each that of its first array's world."""

from __future__ import annotations

from typing import Any

from shoal.arrays.worlds import Array, ArrayLike, world_of


def abs(x: ArrayLike) -> Array:
    """The size without the sign."""
    return world_of(x).abs(x)


def exp(x: ArrayLike) -> Array:
    """e to the x."""
    return world_of(x).exp(x)


def log(x: ArrayLike) -> Array:
    """The natural logarithm."""
    return world_of(x).log(x)


def erf(x: ArrayLike) -> Array:
    """The error function."""
    return world_of(x).erf(x)


def rsqrt(x: ArrayLike) -> Array:
    """1 / sqrt(x)."""
    return world_of(x).rsqrt(x)


def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1."""
    return world_of(x).sign(x)


def square(x: ArrayLike) -> Array:
    """x times x."""
    return world_of(x).square(x)


def negative(x: ArrayLike) -> Array:
    """-x."""
    return world_of(x).negative(x)


def sqrt(x: ArrayLike) -> Array:
    """The square root."""
    return world_of(x).sqrt(x)


def cos(x: ArrayLike) -> Array:
    """The cosine of an angle."""
    return world_of(x).cos(x)


def sin(x: ArrayLike) -> Array:
    """The sine of an angle."""
    return world_of(x).sin(x)


def log1p(x: ArrayLike) -> Array:
    """log(1 + x)."""
    return world_of(x).log1p(x)


def power(a: ArrayLike, b: ArrayLike) -> Array:
    """a to the b."""
    return world_of(a, b).power(a, b)


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """a times b."""
    return world_of(a, b).multiply(a, b)


def isfinite(x: ArrayLike) -> Array:
    """Where it is neither infinite nor NaN."""
    return world_of(x).isfinite(x)


def maximum(a: ArrayLike, b: ArrayLike) -> Array:
    """The larger one of each two elements; shapes broadcast."""
    return world_of(a, b).maximum(a, b)


def minimum(a: ArrayLike, b: ArrayLike) -> Array:
    """The smaller one of each two elements; shapes broadcast."""
    return world_of(a, b).minimum(a, b)


def clip(x: ArrayLike, low: Any = None, high: Any = None) -> Array:
    """min(max(x, low), high); a bound of None is none."""
    return world_of(x).clip(x, low, high)


def logical_and(a: ArrayLike, b: ArrayLike) -> Array:
    """Where both hold."""
    return world_of(a, b).logical_and(a, b)


def logical_not(x: ArrayLike) -> Array:
    """Where it does not hold."""
    return world_of(x).logical_not(x)


def where(condition: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """a where the condition, bools, holds, else b; shapes broadcast. What is not chosen has a gradient of 0."""
    return world_of(condition, a, b).where(condition, a, b)


def or_one(x: ArrayLike) -> Array:
    """x, or 1 where it is 0: 0 divided by it, and the gradient of that, is then 0 and no NaN."""
    return world_of(x).or_one(x)


def root_of(x: ArrayLike) -> Array:
    """The square root, with a gradient of 0 at 0."""
    return world_of(x).root_of(x)
