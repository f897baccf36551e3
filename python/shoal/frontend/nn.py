# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What neural networks are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.autodiff import stop_gradient
from shoal.frontend.broadcasting import as_operand
from shoal.frontend.checks import as_axis, as_int, as_shape, check
from shoal.frontend.constants import as_value
from shoal.frontend.conversion import as_float, convert
from shoal.frontend.core import ArrayLike, emit, emit_one
from shoal.frontend.elementwise import (
    add,
    divide,
    equal,
    exp,
    isfinite,
    less,
    log,
    log1p,
    maximum,
    negative,
    or_one,
    subtract,
    where,
)
from shoal.frontend.random import as_key
from shoal.frontend.reduction import max, sum
from shoal.frontend.reshape import squeeze
from shoal.frontend.value import Value

__all__ = [
    "gelu", "layer_norm", "log_softmax", "logsumexp", "one_hot", "relu", "rms_norm", "sigmoid",
    "silu", "softmax", "softplus", "top_k_gating",
]  # fmt: skip


def relu(x: ArrayLike) -> Value:
    """max(x, 0)."""
    value = as_value(x)
    if not dtypes.is_float(value.dtype):
        return maximum(value, 0)
    return emit_one("shoal.relu", [value], value.shape, value.dtype)


def gelu(x: ArrayLike, *, approximate: bool = False) -> Value:
    """x * Phi(x), by erf or, approximately, by tanh."""
    value = as_float(x)
    attributes = {"approximate": None} if approximate else None
    return emit_one("shoal.gelu", [value], value.shape, value.dtype, attributes)


def silu(x: ArrayLike) -> Value:
    """x / (1 + exp(-x)), without overflow."""
    value = as_float(x)
    return emit_one("shoal.silu", [value], value.shape, value.dtype)


def sigmoid(x: ArrayLike) -> Value:
    """1 / (1 + exp(-x)), without overflow."""
    value = as_float(x)
    is_negative, power = _power_below_one(value)
    return divide(where(is_negative, power, 1.0), add(1, power))


def softplus(x: ArrayLike) -> Value:
    """log(1 + exp(x)), without overflow."""
    value = as_float(x)
    is_negative, power = _power_below_one(value)
    return add(where(is_negative, 0.0, value), log1p(power))


def _power_below_one(value: Value) -> tuple[Value, Value]:
    """(x < 0, exp(-|x|)). By a choice: at 0 the gradients of all terms are then of one side, and their sum is right."""
    is_negative = less(value, 0)
    return is_negative, exp(where(is_negative, value, negative(value)))


def softmax(x: ArrayLike, axis: int = -1) -> Value:
    """exp(x - max) / sum along a dimension; bfloat16 and float16 are computed in float32."""
    value = as_float(x)
    dim = as_axis(axis, value.ndim, "softmax")
    attributes = {"axis": f"{dim} : i64"}
    return emit_one("shoal.softmax", [value], value.shape, value.dtype, attributes)


def logsumexp(x: ArrayLike, axis: int = -1, *, keepdims: bool = False) -> Value:
    """log(sum(exp(x))) along a dimension, without overflow; -inf, with a gradient of 0, of nothing but -inf."""
    value = as_float(x)
    # What is subtracted changes no result, so it has no gradient; an infinite one would make inf - inf.
    highest = stop_gradient(max(value, axis, keepdims=True))
    highest = where(isfinite(highest), highest, 0.0)
    total = sum(exp(subtract(value, highest)), axis, keepdims=True)
    result = where(equal(total, 0), float("-inf"), add(highest, log(or_one(total))))
    return result if keepdims else squeeze(result, axis)


def log_softmax(x: ArrayLike, axis: int = -1) -> Value:
    """log(softmax(x)), without overflow."""
    value = as_float(x)
    return subtract(value, logsumexp(value, axis, keepdims=True))


def layer_norm(
    x: ArrayLike,
    scale: ArrayLike = 1.0,
    bias: ArrayLike = 0.0,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias along a dimension.

    scale, bias: scalars, or vectors of the dimension's size.
    """
    return _norm("layer_norm", x, (scale, bias), axis, epsilon)


def rms_norm(
    x: ArrayLike, scale: ArrayLike = 1.0, *, axis: int = -1, epsilon: float = 1e-5
) -> Value:
    """x / sqrt(mean(x^2) + epsilon) * scale along a dimension.

    scale: a scalar, or a vector of the dimension's size.
    """
    return _norm("rms_norm", x, (scale,), axis, epsilon)


def _norm(
    name: str, x: ArrayLike, vectors: Iterable[ArrayLike], axis: int, epsilon: float
) -> Value:
    value = as_float(x)
    dim = as_axis(axis, value.ndim, name)
    size = value.shape[dim]
    operands = [as_operand(vector, (size,), value.dtype) for vector in vectors]
    attributes = {"axis": f"{dim} : i64", "epsilon": f"{float(epsilon):e} : f64"}
    return emit_one(f"shoal.{name}", [value, *operands], value.shape, value.dtype, attributes)


def one_hot(indices: ArrayLike, size: int, dtype: Any = dtypes.FLOAT32, axis: int = -1) -> Value:
    """A one at each index along a new dimension of the result; out of range: zeros."""
    value, kind = as_value(indices), dtypes.as_dtype(dtype)
    if dtypes.is_float(value.dtype):
        raise TraceTypeError(f"one_hot: expected indices of integers, got {value.dtype}")
    dim = as_axis(axis, value.ndim + 1, "one_hot")
    count = as_int(size, "one_hot: size")
    shape = as_shape([*value.shape[:dim], count, *value.shape[dim:]], "one_hot")
    if dtypes.is_unsigned(value.dtype):  # 200 of uint8 is not -56
        value = convert(value, dtypes.INT32 if value.dtype.itemsize < 4 else dtypes.INT64)
    result = emit_one(
        "shoal.one_hot",
        [value],
        shape,
        dtypes.FLOAT32 if dtypes.is_bool(kind) else kind,
        {"dim": f"{dim} : i64"},
    )
    return convert(result, kind)


def top_k_gating(
    gates: ArrayLike,
    k: int,
    *,
    capacity: int | None = None,
    capacity_factor: float | None = None,
    min_capacity: int = 4,
    key: ArrayLike | None = None,
) -> tuple[Value, Value, Value]:
    """GShard's Algorithm 1 for gates [G, S, E], a softmax over the E experts.

    Gives combine weights and a dispatch mask, both [G, S, E, C], and the
    auxiliary loss, a scalar; all of the gates' type. C is `capacity` or
    max(min_capacity, ceil(capacity_factor * k * S / E)). With a key (two
    integers, shoal.random.key) choices after the first are dropped at random.
    """
    value, choices = as_float(gates), as_int(k, "top_k_gating: k")
    check(value.ndim == 3, f"top_k_gating: expected gates [G, S, E], got {list(value.shape)}")
    groups, tokens, experts = value.shape
    check(1 <= choices <= experts, f"top_k_gating: k = {choices} of {experts} experts")
    room, attributes = _room(capacity, capacity_factor, min_capacity, (choices, tokens, experts))
    attributes["k"] = f"{choices} : i64"
    wide = ((groups, tokens, experts, room), value.dtype)
    types = [wide, wide, ((), value.dtype)]
    keys = [] if key is None else [as_key(key)]
    combine, dispatch, loss = emit("shoal.top_k_gating", [value, *keys], types, attributes)
    return combine, dispatch, loss


def _room(
    capacity: int | None, factor: float | None, least: int, sizes: tuple[int, int, int]
) -> tuple[int, dict[str, str]]:
    """The capacity of an expert's buffer, and the attributes that give it. sizes: k, S, E."""
    if capacity is not None and factor is None:
        room = as_int(capacity, "top_k_gating: capacity")
        attributes = {"capacity": f"{room} : i64"}
    elif factor is not None and capacity is None:
        k, tokens, experts = sizes
        # In the order in which the op computes it.
        room = math.ceil(float(factor) * k * tokens / experts)
        minimum = as_int(least, "top_k_gating: min_capacity")
        check(
            float(factor) > 0 and minimum > 0,
            f"top_k_gating: capacity_factor {factor} or min_capacity {minimum} is not positive",
        )
        room = minimum if room < minimum else room
        attributes = {
            "capacity_factor": f"{float(factor):.17e} : f64",
            "min_capacity": f"{minimum} : i64",
        }
    else:
        raise TraceError("top_k_gating: expected one of capacity and capacity_factor")
    check(room > 0, f"top_k_gating: capacity {room} is not positive")
    return room, attributes
