# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants and iota."""

from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.attributes import integer
from shoal.jax.registry import imports
from shoal.jax.types import ScalarType


@imports("stablehlo.constant")
def constant(importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    # MLIR's own spelling, exact for every element type; the type's sign goes.
    value = _spelled(op.attributes["value"])
    if isinstance(type, ScalarType):
        value = value.removeprefix("dense<").removesuffix(">")
    return importer.arith.op("arith.constant", [], type, {"value": f"{value} : {type}"})


def _spelled(attribute: ir.Attribute) -> str:
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        array = np.ascontiguousarray(np.asarray(attribute))
        return f'dense<"0x{array.astype(array.dtype.newbyteorder("<")).tobytes().hex().upper()}">'
    return str(attribute).rsplit(" : ", 1)[0]


@imports("stablehlo.iota")
def iota(importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    dim = {"dim": f"{integer(op, 'iota_dimension')} : i64"}
    return importer.arith.op("shoal.iota", [], type, dim)
