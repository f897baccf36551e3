# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalisation as one op, written out: sums over all dimensions but the features'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax
from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax import triangles
from shoal.jax.attributes import integer, required
from shoal.jax.importer import Importer
from shoal.jax.refusals import Unsupported
from shoal.jax.registry import imports

Array = jax.Array
_DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}


@imports("stablehlo.batch_norm_training")
def training(importer: Importer, op: ir.Operation) -> list[Value]:
    def function(x: Array, scale: Array, offset: Array) -> tuple[Array, Array, Array]:
        mean = _mean(x, dim)
        variance = _mean(lax.square(x - _spread(mean, x, dim)), dim)
        return _normal(x, scale, offset, mean, variance, dim, epsilon), mean, variance

    dim, epsilon = _options(op)
    return _written(importer, op, function)


@imports("stablehlo.batch_norm_inference")
def inference(importer: Importer, op: ir.Operation) -> list[Value]:
    def function(*operands: Array) -> Array:
        return _normal(*operands, dim, epsilon)

    dim, epsilon = _options(op)
    return _written(importer, op, function)


@imports("stablehlo.batch_norm_grad")
def grad(importer: Importer, op: ir.Operation) -> list[Value]:
    def function(x: Array, scale: Array, mean: Array, variance: Array, g: Array) -> Any:
        inverse = lax.rsqrt(variance + epsilon)
        normal = (x - _spread(mean, x, dim)) * _spread(inverse, x, dim)
        of_scale = _mean(g * normal, dim)
        of_offset = _mean(g, dim)
        rest = g - _spread(of_offset, x, dim) - normal * _spread(of_scale, x, dim)
        count = x.size // x.shape[dim]
        return _spread(scale * inverse, x, dim) * rest, of_scale * count, of_offset * count

    dim, epsilon = _options(op)
    return _written(importer, op, function)


def _options(op: ir.Operation) -> tuple[int, float]:
    epsilon = required(op.attributes, "epsilon", ir.FloatAttr).value
    return integer(op, "feature_index"), epsilon


def _mean(x: Array, dim: int) -> Array:
    """Over all dimensions but this."""
    others = [i for i in range(x.ndim) if i != dim]
    return x.sum(others) / (x.size // x.shape[dim])


def _spread(value: Array, x: Array, dim: int) -> Array:
    return lax.broadcast_in_dim(value, x.shape, (dim,))


def _normal(x, scale, offset, mean, variance, dim: int, epsilon: float) -> Array:
    factor = scale * lax.rsqrt(variance + epsilon)
    return (x - _spread(mean, x, dim)) * _spread(factor, x, dim) + _spread(offset, x, dim)


def _written(importer: Importer, op: ir.Operation, function: Callable[..., Any]) -> list[Value]:
    types = [importer.type(operand) for operand in op.operands]
    if any(type.element not in _DTYPES for type in types):
        raise Unsupported(f"of elements of {types[0].element}")
    shapes = [(type.shape, _DTYPES[type.element]) for type in types]
    return importer.inline_module(op, triangles.lowered(function, op.context, *shapes))
