# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of `shoal.arrays` for values that `shoal.frontend` traces: the frontend's own, or a line around one.

`like` and `mesh` are what the other world has to be told; here the trace around the call knows it.
"""

from __future__ import annotations

from typing import Any

from shoal.arrays.shoal_rows import add_rows, put_rows, take_rows
from shoal.frontend import annotations, constants, creation, manual as regions, metrics, random as draws, structure
from shoal.frontend.autodiff import stop_gradient, value_and_grad, vjp
from shoal.frontend.broadcasting import shape_of
from shoal.frontend.collectives import all_gather, axis_index, ragged_all_to_all, ring_shift
from shoal.frontend.contraction import einsum, matmul, ragged_einsum
from shoal.frontend.control_flow import fori_loop, scan, while_loop
from shoal.frontend.core import advise, current
from shoal.frontend.elementwise import (
    abs, clip, cos, erf, exp, isfinite, log, log1p, logical_and, logical_not, maximum, minimum, multiply, negative,
    or_one, power,
    rsqrt, sign, sin, sqrt, square, where,
)  # fmt: skip
from shoal.frontend.indexing import dynamic_slice, take, take_along_axis
from shoal.frontend.naming import named_scope
from shoal.frontend.nn import gelu, log_softmax, logsumexp, one_hot, relu, rms_norm, sigmoid, silu, softmax, softplus
from shoal.frontend.ordering import argmax, argsort, top_k
from shoal.frontend.random import fold_in
from shoal.frontend.reduction import any, cummax, cumsum, max, mean, root_of, sum
from shoal.frontend.reshape import reshape
from shoal.frontend.structure import broadcast_to, concatenate, moveaxis, pad, repeat, stack
from shoal.frontend.value import Value

__all__ = [
    "abs", "add_rows", "advise", "all_gather", "any", "argmax", "argsort", "as_value", "axis_index", "broadcast_to",
    "clip", "concatenate", "constrain", "cos", "cummax", "cumsum", "dynamic_slice", "einsum", "erf", "exp",
    "fold_in", "fori_loop", "full", "gelu", "halves", "iota", "isfinite", "largest", "log", "log1p", "log_softmax", "logical_and",
    "logical_not", "logsumexp", "manual", "matmul", "max", "maximum", "mean", "mesh_around", "minimum", "moveaxis", "multiply",
    "named_scope", "negative", "normal", "noting_kinds", "one_hot", "ones", "or_one", "pad", "power", "put_rows",
    "ragged_all_to_all", "ragged_einsum", "relu", "repeat", "reshape", "ring_shift", "rms_norm", "root_of", "rsqrt", "scan",
    "shape_of", "sigmoid", "sign", "silu", "sin", "softmax", "softplus", "sqrt", "square", "stack", "stop_gradient",
    "sum", "summed", "take", "take_along_axis", "take_rows", "top_k", "uniform", "value_and_grad", "vjp", "where",
    "while_loop", "zeros",
]  # fmt: skip

largest, noting_kinds, summed = metrics.largest, metrics.noting_kinds, metrics.summed


def as_value(x: Any, what: str) -> Value:
    return constants.as_value(x, what=what)


def full(shape: Any, value: Any, dtype: Any, like: Any) -> Value:
    return creation.full(shape, value, dtype)


def ones(shape: Any, dtype: Any, like: Any) -> Value:
    return creation.ones(shape, dtype)


def zeros(shape: Any, dtype: Any, like: Any) -> Value:
    return creation.zeros(shape, dtype)


def iota(shape: Any, axis: int, like: Any) -> Value:
    return structure.iota(shape, axis)


def halves(x: Value, axis: int) -> tuple[Value, Value]:
    dim = axis % x.ndim
    before, half = [slice(None)] * dim, x.shape[dim] // 2
    return x[(*before, slice(None, half))], x[(*before, slice(half, None))]


def uniform(key: Any, shape: Any, dtype: Any, like: Any) -> Value:
    return draws.uniform(key, shape, dtype)


def normal(key: Any, shape: Any, dtype: Any, like: Any) -> Value:
    return draws.normal(key, shape, dtype)


def constrain(x: Any, spec: Any, mesh: Any, hint: bool) -> Value:
    return annotations.constrain(x, spec, hint=hint)


def mesh_around() -> Any:
    return current("mesh_around").mesh


def manual(function: Any, in_shardings: Any, out_shardings: Any, axes: Any, mesh: Any) -> Any:
    return regions.manual(function, in_shardings, out_shardings, axes)
