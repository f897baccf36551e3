# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch normalisation as one op, as frontends other than JAX write it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from shoal.executable.dtypes import dtype_of
from shoal.ir import Value
from shoal.jax import normalization
from shoal.jax.attributes import integer, required
from shoal.jax.importer import Importer
from shoal.jax.registry import imports
from shoal.jax.triangles import lowered


def _written(importer: Importer, op: ir.Operation, function: Callable[..., Any]) -> list[Value]:
    # As short as f32 is, which it comes from.
    epsilon = np.float32(required(op.attributes, "epsilon", ir.FloatAttr).value)
    function = partial(
        function, epsilon=float(epsilon), feature=integer(op, "feature_index")
    )
    types = [importer.type(operand) for operand in op.operands]
    shapes = [(type.shape, dtype_of(type.element, False)) for type in types]
    return importer.inline_module(op, lowered(function, op.context, *shapes))


@imports("stablehlo.batch_norm_inference")
def inference(importer: Importer, op: ir.Operation) -> list[Value]:
    return _written(importer, op, normalization.inference)


@imports("stablehlo.batch_norm_training")
def training(importer: Importer, op: ir.Operation) -> list[Value]:
    return _written(importer, op, normalization.training)


@imports("stablehlo.batch_norm_grad")
def gradient(importer: Importer, op: ir.Operation) -> list[Value]:
    return _written(importer, op, normalization.gradient)
