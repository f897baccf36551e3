# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with the slopes that torch gives them where they have none: the frontend's own are JAX's there.

Each chooses by a comparison, which has no gradient. A NaN compares as nothing and is passed on.
"""

from __future__ import annotations

from typing import Any

from shoal.frontend import elementwise, reduction, structure
from shoal.frontend.elementwise import or_one
from shoal.frontend.reshape import expand_dims
from shoal.frontend.value import Value


def absolute(value: Value) -> Value:
    """The size without the sign, of slope 0 at 0, where JAX has 1."""
    return elementwise.abs(elementwise.where(elementwise.equal(value, 0), 0, value))


def at_least(value: Value, low: Any) -> Value:
    """Not less than a number, of slope 0 at it, where JAX has a half."""
    return elementwise.where(elementwise.less_equal(value, low), low, value)


def at_most(value: Value, high: Any) -> Value:
    """Not more than a number, of slope 0 at it."""
    return elementwise.where(elementwise.greater_equal(value, high), high, value)


def within(value: Value, low: Any, high: Any) -> Value:
    """Between two numbers, of slope 0 at both."""
    return at_most(at_least(value, low), high)


def power_of_size(size: Value, exponent: float) -> Value:
    """Of numbers that are not negative to a positive power, of slope 0 at 0 whatever the power: it is infinite below 1,
    and times the 0 of what it is of NaN."""
    return elementwise.where(elementwise.equal(size, 0), 0, elementwise.power(or_one(size), exponent))


def read_at(value: Value, dim: int, places: Value, *, keepdims: bool = False) -> Value:
    """The elements at these places of a dimension: of equal ones the gradient goes to that, where an extremum's is shared out."""
    axis = dim % value.ndim
    is_found = elementwise.equal(structure.iota(value.shape, axis, places.dtype), expand_dims(places, axis))
    return reduction.sum(elementwise.where(is_found, value, 0), axis, keepdims=keepdims)
