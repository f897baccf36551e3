# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants and iota."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxlib.mlir import ir

from shoal.ir import Value
from shoal.jax.attributes import integer
from shoal.jax.registry import imports
from shoal.jax.types import ScalarType

if TYPE_CHECKING:
    from shoal.jax.importer import Importer


@imports("stablehlo.constant")
def constant(importer: Importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    # MLIR's own spelling, exact for every element type; the type's sign goes.
    value = _spelled(op.attributes["value"])
    if isinstance(type, ScalarType):
        value = value.removeprefix("dense<").removesuffix(">")
    return importer.arith.op("arith.constant", [], type, {"value": f"{value} : {type}"})


def _spelled(attribute: ir.Attribute) -> str:
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        return _as_bytes(np.asarray(attribute))
    text = str(attribute).rsplit(" : ", 1)[0]
    if attribute.type.element_type == ir.IntegerType.get_signless(1) and text.startswith('dense<"'):
        return _as_bytes(np.asarray(attribute))
    return text


def _as_bytes(array: np.ndarray) -> str:
    """Elements in row-major order, low bytes first; eight booleans a byte.

    jaxlib's MLIR has a byte for each boolean.
    """
    array = np.ascontiguousarray(array)
    if array.dtype == bool:
        data = np.packbits(array, bitorder="little").tobytes()
    else:
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return f'dense<"0x{data.hex().upper()}">'


@imports("stablehlo.iota")
def iota(importer: Importer, op: ir.Operation) -> Value:
    type = importer.type(op.results[0])
    dim = {"dim": f"{integer(op, 'iota_dimension')} : i64"}
    return importer.arith.op("shoal.iota", [], type, dim)
