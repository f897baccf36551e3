# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalisation as StableHLO defines it, and its gradient.

Written with jax.lax and lowered to StableHLO, which is imported like what a program holds. Types of
16 bits are computed in f32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import numpy as np
from jax import lax

Array = jax.Array


def _in_f32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, on f32 where the arrays are smaller."""

    @wraps(function)
    def widened(x: Array, *rest: Array, **attributes: Any) -> Any:
        own = x.dtype
        wide = own if own in ("float32", "float64") else "float32"
        arrays = (lax.convert_element_type(array, wide) for array in (x, *rest))
        made = function(*arrays, **attributes)
        return tuple(lax.convert_element_type(array, own) for array in made)

    return widened


def _along(vector: Array, x: Array, feature: int) -> Array:
    return lax.broadcast_in_dim(vector, x.shape, (feature,))


def _sum(x: Array, feature: int) -> Array:
    dims = tuple(dim for dim in range(x.ndim) if dim != feature)
    return lax.reduce(x, np.asarray(0, x.dtype), lax.add, dims)


def _count(x: Array, feature: int) -> float:
    return float(math.prod(x.shape) // max(1, x.shape[feature]))


def _centred(x: Array, mean: Array, variance: Array, epsilon: float, feature: int) -> Any:
    """The numbers less their mean, and the variance with epsilon."""
    return x - _along(mean, x, feature), _along(variance + epsilon, x, feature)


@_in_f32
def inference(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    feature: int,
) -> tuple[Array]:
    centred, spread = _centred(x, mean, variance, epsilon, feature)
    normal = centred / lax.sqrt(spread)
    return (_along(scale, x, feature) * normal + _along(offset, x, feature),)


@_in_f32
def training(
    x: Array, scale: Array, offset: Array, *, epsilon: float, feature: int
) -> tuple[Array, Array, Array]:
    """The result, the mean and the variance of each feature."""
    count = _count(x, feature)
    mean = _sum(x, feature) / count
    centred = x - _along(mean, x, feature)
    variance = _sum(centred * centred, feature) / count
    made = inference(x, scale, offset, mean, variance, epsilon=epsilon, feature=feature)
    return *made, mean, variance


@_in_f32
def gradient(
    x: Array,
    scale: Array,
    mean: Array,
    variance: Array,
    slope: Array,
    *,
    epsilon: float,
    feature: int,
) -> tuple[Array, Array, Array]:
    """Of the operand, the scale and the offset, where the result has this slope."""
    count = _count(x, feature)
    centred, spread = _centred(x, mean, variance, epsilon, feature)
    total = _sum(slope, feature)
    moment = _sum(slope * centred, feature)
    rest = slope * count - _along(total, x, feature) - _along(moment, x, feature) * centred / spread
    factor = _along(scale, x, feature) / lax.sqrt(spread) / count
    return factor * rest, moment / lax.sqrt(variance + epsilon), total
